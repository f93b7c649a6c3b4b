#include "core/report/summary.h"

#include <string.h>

#include "core/decide.h"
#include "core/model/reason.h"
#include "test/support/schedule_support.h"
#include "test/support/support.h"

/* A cluster of two groups: gpu-group (2 GPUs, 1 to 4 replicas, 3 asked for) and cpu-group without a
 * maximum; filled in by each test. */
struct scene {
	struct arena arena;
	struct snapshot snapshot;
	struct worker_group groups[2];
	struct container gpu_container, cpu_container;
	struct ray_state state;
	struct ray_node nodes[6];
	struct ray_request_count requests[4];
	struct pod pods[6];
	const struct pod *pod_list[6];
	struct label pod_labels[6][3];
	struct autoscaler_object object;
};

static const struct quantity gpu_limits[] = { { "cpu", "4", true, UNITS(4) },
					      { "nvidia.com/gpu", "2", true, UNITS(2) } };
static const struct quantity cpu_limits[] = { { "cpu", "4", true, UNITS(4) } };

static struct worker_group group_of(const char *name, const struct container *container)
{
	return (struct worker_group){
		.name = name,
		.has_replicas = true,
		.max_replicas = INT32_MAX,
		.num_of_hosts = 1,
		.template = { .spec = { .containers = container, .container_count = 1 } },
		.scale_gate = "",
	};
}

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .arena = ARENA_INIT };
	s->gpu_container =
		(struct container){ .name = "ray", .image = "", .limits = { gpu_limits, 2 } };
	s->cpu_container =
		(struct container){ .name = "ray", .image = "", .limits = { cpu_limits, 1 } };
	s->groups[0] = group_of("gpu-group", &s->gpu_container);
	s->groups[0].replicas = 3;
	s->groups[0].min_replicas = 1;
	s->groups[0].max_replicas = 4;
	s->groups[1] = group_of("cpu-group", &s->cpu_container);
	s->state = (struct ray_state){ .nodes = s->nodes,
				       .requests = s->requests,
				       .session_name = "" };
	s->snapshot.now = s->snapshot.ray_state_time = 1000000;
	s->snapshot.device_table = device_table_builtin();
	s->snapshot.cluster = (struct ray_cluster){
		.namespace_ = "default",
		.name = "demo",
		.enable_in_tree_autoscaling = true,
		.managed_by = "",
		.upscaling_mode = "",
		.groups = s->groups,
		.group_count = 2,
	};
	s->snapshot.ray_state = &s->state;
	s->snapshot.ray_problem = "";
	for (size_t i = 0; i < 6; i++)
		s->pod_list[i] = &s->pods[i];
	s->snapshot.pods = s->pod_list;
	settings_init(&s->snapshot.settings);
}

static struct ray_node *add_node(struct scene *s, const char *name, enum ray_node_status status,
				 struct resources total, struct resources available)
{
	struct ray_node *node = &s->nodes[s->state.node_count++];

	*node = (struct ray_node){ .id = name,
				   .instance_id = name,
				   .type_name = "",
				   .ip_address = "",
				   .status = status,
				   .total = total,
				   .available = available };
	return node;
}

static void add_head(struct scene *s, int64_t gpus)
{
	struct resources total =
		resources_of(&s->arena, "GPU", gpus, RAY_HEAD_RESOURCE, UNITS(1), NULL);

	add_node(s, "demo-head", RAY_NODE_RUNNING, total, total);
}

static struct pod *add_pod(struct scene *s, const char *name, const char *group, const char *phase)
{
	size_t i = s->snapshot.pod_count++;

	s->pod_labels[i][0] = (struct label){ LABEL_CLUSTER, "demo" };
	s->pod_labels[i][1] = (struct label){ LABEL_GROUP, group };
	s->pod_labels[i][2] = (struct label){ LABEL_NODE_TYPE, "worker" };
	s->pods[i] = (struct pod){
		.namespace_ = "default",
		.name = name,
		.phase = phase,
		.pod_ip = "",
		.reason = "",
		.message = "",
		.labels = { s->pod_labels[i], 3 },
		.created = 900000,
		.spec = { .containers = &s->gpu_container, .container_count = 1, .node_name = "" },
	};
	return &s->pods[i];
}

static struct resources gpu_worker(struct scene *s, double free)
{
	return resources_of(&s->arena, "CPU", UNITS(4), "GPU", UNITS(free), NULL);
}

static void add_request(struct scene *s, struct resources bundle, int64_t count)
{
	s->requests[s->state.request_count++] =
		(struct ray_request_count){ *request_of(&s->arena, bundle), count };
}

static const struct summary *summarise(struct scene *s)
{
	return summary_of(&s->snapshot, decide(&s->snapshot, &s->arena), &s->arena);
}

static void test_workers_and_gpus_by_group(void **state)
{
	struct scene s;
	const struct summary *summary;
	const struct summary_group *group;
	struct resources cpu;

	(void)state;
	scene_init(&s);
	add_head(&s, UNITS(1));
	add_pod(&s, "w-busy", "gpu-group", "Running");
	add_pod(&s, "w-idle", "gpu-group", "Running");
	add_pod(&s, "w-idle-short", "cpu-group", "Running");
	add_pod(&s, "w-idle-long", "cpu-group", "Running");
	add_pod(&s, "w-removed", "old-group", "Running");
	/* A used-up resource has no key. */
	add_node(&s, "w-busy", RAY_NODE_RUNNING, gpu_worker(&s, 2),
		 resources_of(&s.arena, "CPU", UNITS(3), NULL));
	add_node(&s, "w-idle", RAY_NODE_IDLE, gpu_worker(&s, 2), gpu_worker(&s, 2))
		->idle_duration_ms = 20000;
	cpu = resources_of(&s.arena, "CPU", UNITS(4), NULL);
	add_node(&s, "w-idle-short", RAY_NODE_IDLE, cpu, cpu)->idle_duration_ms = 10000;
	add_node(&s, "w-idle-long", RAY_NODE_IDLE, cpu, cpu)->idle_duration_ms = 30000;
	add_node(&s, "w-removed", RAY_NODE_RUNNING, gpu_worker(&s, 4), gpu_worker(&s, 3.5));
	summary = summarise(&s);
	assert_true(summary->ray_reachable);
	assert_int_equal(summary->group_count, 2);
	group = &summary->groups[0];
	assert_string_equal(group->name, "gpu-group");
	assert_int_equal(group->replicas, 3);
	assert_int_equal(group->target_replicas, 3);
	assert_int_equal(group->min_replicas, 1);
	assert_int_equal(group->max_replicas, 4);
	assert_int_equal(group->hosts, 1);
	assert_int_equal(group->pods[WORKER_RUNNING], 1);
	assert_int_equal(group->pods[WORKER_IDLE], 1);
	assert_int_equal(group->pod_count, 2);
	assert_int_equal(group->missing, 1);
	assert_int_equal(group->registered, 2);
	assert_int_equal(group->worker_gpus, UNITS(2));
	assert_int_equal(group->gpus.running, UNITS(4));
	assert_int_equal(group->gpus.in_use, UNITS(2));
	assert_int_equal(group->gpus.idle, UNITS(2));
	assert_int_equal(group->gpus.starting, UNITS(2));
	assert_int_equal(group->gpus.wanted, UNITS(6));
	assert_int_equal(group->gpus.maximum, UNITS(8));
	assert_int_equal(group->idle_since, 980000);
	assert_null(group->backoff);
	assert_int_equal(summary->groups[1].pod_count, 2);
	assert_int_equal(summary->groups[1].gpus.maximum, 0);
	assert_int_equal(summary->groups[1].idle_since, 970000);
	/* The sums have the removed group and the head too. */
	assert_int_equal(summary->pods[WORKER_RUNNING], 2);
	assert_int_equal(summary->registered, 5);
	assert_int_equal(summary->head_gpus.running, UNITS(1));
	assert_int_equal(summary->gpus.running, UNITS(9));
	assert_int_equal(summary->gpus.in_use, UNITS(2.5));
	assert_int_equal(summary->gpus.wanted, UNITS(7));
	assert_int_equal(summary->gpus.maximum, UNITS(9));
	arena_done(&s.arena);
}

/* Waiting workers are listed; terminated ones do not count as starting. */
static void test_starting_workers(void **state)
{
	static const char *const disrupted[] = { "w-leaving" };
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.groups[0].replicas = 1;
	s.groups[0].has_scale_strategy = s.groups[0].has_workers_to_delete = true;
	s.groups[0].workers_to_delete = (struct strings){ disrupted, 1 };
	add_pod(&s, "w-leaving", "gpu-group", "Pending");
	add_pod(&s, "w-new", "gpu-group", "Pending");
	summary = summarise(&s);
	assert_int_equal(summary->groups[0].pods[WORKER_PENDING], 2);
	assert_int_equal(summary->groups[0].registered, 0);
	assert_int_equal(summary->groups[0].missing, 0);
	assert_int_equal(summary->groups[0].gpus.starting, UNITS(2));
	assert_string_equal(summary->groups[0].waiting_reason, reason_word(REASON_SCHEDULING));
	arena_done(&s.arena);
}

static void test_several_hosts(void **state)
{
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.groups[0].num_of_hosts = 4;
	summary = summarise(&s);
	assert_int_equal(summary->groups[0].hosts, 4);
	assert_true(summary->groups[0].idle_since == TIME_NONE);
	assert_int_equal(summary->groups[0].missing, 12);
	assert_int_equal(summary->groups[0].gpus.wanted, UNITS(24));
	assert_int_equal(summary->groups[0].gpus.maximum, UNITS(32));
	arena_done(&s.arena);
}

static void test_pending_demand_is_summed_accelerators_first(void **state)
{
	static const char *const more[] = { "my-npu" };
	struct scene s;
	const struct summary *summary;
	const struct ray_request *bundle;
	struct ray_gang gang;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.snapshot.settings.accelerators = (struct strings){ more, 1 };
	add_request(&s, resources_of(&s.arena, "CPU", UNITS(1), "GPU", UNITS(0.5), NULL), 3);
	add_request(&s, resources_of(&s.arena, "A", UNITS(1), "TPU", UNITS(4), NULL), 1);
	add_request(&s, resources_of(&s.arena, "my-npu", UNITS(1), "zero", 0, NULL), 2);
	bundle = request_of(&s.arena, resources_of(&s.arena, "GPU", UNITS(1), NULL));
	gang = gang_of(&s.arena, bundle, 2, 'S', "pg");
	s.state.gangs = &gang;
	s.state.gang_count = 1;
	summary = summarise(&s);
	assert_int_equal(summary->pending_bundles, 8);
	assert_int_equal(summary->pending_gpus, UNITS(3.5));
	assert_int_equal(summary->pending_count, 5);
	assert_string_equal(summary->pending[0].name, "GPU");
	assert_int_equal(summary->pending[0].amount, UNITS(3.5));
	assert_string_equal(summary->pending[1].name, "TPU");
	assert_string_equal(summary->pending[2].name, "my-npu");
	assert_int_equal(summary->pending[2].amount, UNITS(2));
	assert_string_equal(summary->pending[3].name, "A");
	assert_string_equal(summary->pending[4].name, "CPU");
	arena_done(&s.arena);
}

/* A peer's numbers must not wrap around. */
static void test_sums_saturate(void **state)
{
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.groups[0].max_replicas = INT32_MAX;
	add_request(&s, resources_of(&s.arena, "memory", RESOURCE_AMOUNT_MAX, NULL), INT64_MAX);
	add_request(&s, resources_of(&s.arena, "memory", UNITS(1), NULL), INT64_MAX);
	summary = summarise(&s);
	assert_int_equal(summary->pending_bundles, INT64_MAX);
	assert_int_equal(summary->pending[0].amount, INT64_MAX);
	assert_int_equal(summary->pending_gpus, 0);
	assert_int_equal(summary->groups[0].gpus.maximum, SUMMARY_UNLIMITED);
	assert_int_equal(summary->gpus.maximum, SUMMARY_UNLIMITED);
	arena_done(&s.arena);
}

static void test_ceilings_lower_the_maximum(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.snapshot.settings.max_gpus_per_cluster = 6;
	assert_int_equal(summarise(&s)->gpus.maximum, UNITS(6));
	s.object = (struct autoscaler_object){ .upscaling_mode = "",
					       .has_max_gpus = true,
					       .max_gpus = UNITS(5) };
	s.snapshot.autoscaler = &s.object;
	assert_int_equal(summarise(&s)->gpus.maximum, UNITS(5));
	s.object.max_gpus = UNITS(50);
	s.snapshot.settings.max_gpus_per_cluster = 40;
	assert_int_equal(summarise(&s)->gpus.maximum, UNITS(8));
	arena_done(&s.arena);
}

static void test_unserved_by_reason(void **state)
{
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	add_request(&s, resources_of(&s.arena, "GPU", UNITS(2), NULL), 7);
	add_request(&s, resources_of(&s.arena, "TPU", UNITS(4), NULL), 2);
	add_request(&s, resources_of(&s.arena, "GPU", UNITS(16), NULL), 1);
	summary = summarise(&s);
	assert_int_equal(summary->infeasible_total, 3);
	assert_int_equal(summary->unserved_total, 3);
	assert_int_equal(summary->unserved_count, 2);
	assert_true(summary->unserved[0].infeasible);
	assert_string_equal(summary->unserved[0].reason, reason_word(REASON_NO_GROUP_FITS));
	assert_int_equal(summary->unserved[0].count, 3);
	assert_int_equal(summary->unserved[0].gpus, UNITS(16));
	assert_false(summary->unserved[1].infeasible);
	assert_string_equal(summary->unserved[1].reason, reason_word(REASON_MAX_REPLICAS));
	assert_int_equal(summary->unserved[1].gpus, UNITS(6));
	assert_int_equal(summary->groups[0].waiting, 3);
	assert_string_equal(summary->groups[0].unserved_reason, reason_word(REASON_MAX_REPLICAS));
	assert_string_equal(summary->reason, reason_word(REASON_NO_GROUP_FITS));
	assert_string_equal(summary->message, summary->unserved[0].message);
	arena_done(&s.arena);
}

static void test_requested_bundles_have_their_source(void **state)
{
	struct ray_request_count items[2];
	struct ray_constraint by_ray, by_annotation;
	struct annotation_request request = { .problem = NULL };
	struct scene s;
	const struct summary *summary;
	struct resources gpu;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	gpu = resources_of(&s.arena, "GPU", UNITS(1), NULL);
	items[0] = (struct ray_request_count){ *request_of(&s.arena, gpu), 2 };
	items[1] = (struct ray_request_count){ *request_of(&s.arena, gpu), 3 };
	by_ray = (struct ray_constraint){ &items[0], 1 };
	by_annotation = (struct ray_constraint){ &items[1], 1 };
	s.state.constraints = &by_ray;
	s.state.constraint_count = 1;
	request.bundles = &by_annotation;
	s.snapshot.cluster.request = &request;
	summary = summarise(&s);
	assert_int_equal(summary->requested_count, 2);
	assert_int_equal(summary->requested[0].source, SOURCE_RAY);
	assert_int_equal(summary->requested[0].count, 2);
	assert_int_equal(summary->requested[1].source, SOURCE_ANNOTATION);
	assert_int_equal(summary->requested[1].count, 3);
	assert_int_equal(summary->pending_bundles, 0);
	arena_done(&s.arena);
}

/* Without Ray nothing of its demand is known; Pods still are. */
static void test_unreachable_ray(void **state)
{
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, UNITS(1));
	add_request(&s, resources_of(&s.arena, "GPU", UNITS(1), NULL), 1);
	s.snapshot.ray_state_time = 0;
	add_pod(&s, "w-1", "gpu-group", "Pending");
	summary = summarise(&s);
	assert_false(summary->ray_reachable);
	assert_int_equal(summary->pending_count, 0);
	assert_int_equal(summary->gpus.running, 0);
	assert_int_equal(summary->groups[0].pods[WORKER_PENDING], 1);
	assert_string_equal(summary->reason, reason_word(REASON_DEMAND_UNAVAILABLE));
	arena_done(&s.arena);
}

/* The most important reason is the first. */
static void test_reason_is_the_most_important_one(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.groups[0].replicas = s.groups[0].min_replicas = 0;
	assert_string_equal(summarise(&s)->reason, reason_word(REASON_READY_FOR_NEW_SCALE));
	add_request(&s, resources_of(&s.arena, "GPU", UNITS(1), NULL), 1);
	assert_string_equal(summarise(&s)->reason, reason_word(REASON_SCALE_UP_DEMAND));
	s.groups[0].replicas = 1;
	add_pod(&s, "w-1", "gpu-group", "Pending");
	assert_string_equal(summarise(&s)->reason, reason_word(REASON_SCHEDULING));
	s.groups[1].min_replicas = 2;
	s.groups[1].max_replicas = 1;
	assert_string_equal(summarise(&s)->reason, reason_word(REASON_INVALID_REQUEST));
	s.object = (struct autoscaler_object){ .upscaling_mode = "", .paused = true };
	s.snapshot.autoscaler = &s.object;
	assert_string_equal(summarise(&s)->reason, reason_word(REASON_PAUSED));
	assert_int_equal(summarise(&s)->groups[0].pods[WORKER_PENDING], 1);
	assert_int_equal(summarise(&s)->pending_gpus, UNITS(1));
	arena_done(&s.arena);
}

static void test_backoff_is_declared(void **state)
{
	struct memory_state memory = { 0 };
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	s.groups[0].min_replicas = s.groups[0].replicas = 0;
	VEC_PUSH(&s.arena, &memory.backoffs,
		 ((struct memory_backoff){ "gpu-group", 1020000, 20, REASON_NO_NODE, "no node" }));
	s.snapshot.memory = &memory;
	summary = summarise(&s);
	assert_non_null(summary->groups[0].backoff);
	assert_int_equal(summary->groups[0].backoff->until, 1020000);
	assert_string_equal(summary->reason, reason_word(REASON_NO_NODE));
	assert_string_equal(summary->message, "no node");
	arena_done(&s.arena);
}

static void test_condition_is_found(void **state)
{
	struct scene s;
	const struct summary *summary;

	(void)state;
	scene_init(&s);
	add_head(&s, 0);
	summary = summary_of(&s.snapshot, decide(&s.snapshot, &s.arena), &s.arena);
	assert_string_equal(summary_condition(summary, "ScalingActive")->status, "True");
	assert_null(summary_condition(summary, "InvalidRequest"));
	arena_done(&s.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers_and_gpus_by_group),
		cmocka_unit_test(test_starting_workers),
		cmocka_unit_test(test_several_hosts),
		cmocka_unit_test(test_pending_demand_is_summed_accelerators_first),
		cmocka_unit_test(test_sums_saturate),
		cmocka_unit_test(test_ceilings_lower_the_maximum),
		cmocka_unit_test(test_unserved_by_reason),
		cmocka_unit_test(test_requested_bundles_have_their_source),
		cmocka_unit_test(test_unreachable_ray),
		cmocka_unit_test(test_reason_is_the_most_important_one),
		cmocka_unit_test(test_backoff_is_declared),
		cmocka_unit_test(test_condition_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
