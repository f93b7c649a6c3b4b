/* Pools over RayClusters: holdings and asks of objects, places on Nodes, terms, drains and figures. */
#include "feature/pools/core/pool_allocation.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/model/reason.h"
#include "test/support/support.h"

#define UNITS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define CLUSTERS_MAX 4
#define PODS_MAX 32
#define NODES_MAX 4
#define NOW INT64_C(1800000000000)
#define IDLE_MS INT64_C(60000)

static const struct quantity one_gpu[] = { { "nvidia.com/gpu", "1", true, UNITS(1) } };
static const struct quantity eight_gpus[] = { { "nvidia.com/gpu", "8", true, UNITS(8) } };
static const struct pod_owner owner = { "ray.io/v1", "RayCluster", "demo", "" };

/* Clusters with a group `one` of 1 GPU and a group `eight` of 8 GPUs, in namespaces a, b, c, d; team
 * a has a guarantee. */
static struct scene {
	struct arena arena;
	struct container head, one, eight;
	struct worker_group groups[CLUSTERS_MAX][2];
	struct ray_cluster clusters[CLUSTERS_MAX];
	struct pod pods[CLUSTERS_MAX][PODS_MAX];
	struct label labels[CLUSTERS_MAX][PODS_MAX][3];
	const struct pod *lists[CLUSTERS_MAX][PODS_MAX];
	size_t pod_counts[CLUSTERS_MAX];
	bool in_kueue[CLUSTERS_MAX];
	VEC(struct pool_report_worker) reports[CLUSTERS_MAX];
	VEC(struct pool_ask) asks[CLUSTERS_MAX];
	const struct pool_asks *old[CLUSTERS_MAX];
	const struct pool_drains *drains[CLUSTERS_MAX];
	struct node nodes[NODES_MAX];
	size_t node_count;
	const struct device_table *devices;
	struct settings settings;
	struct pod outside; /* name NULL: none */
	struct pool_room free;
	struct gpu_pool_queue queues[2];
	struct gpu_pool pool;
	struct label team[2];
	const struct pool_member *members[CLUSTERS_MAX];
	time_ms now;
} scene;

static const char *const namespaces[CLUSTERS_MAX] = { "a", "b", "c", "d" };

static struct worker_group make_group(const char *name, const struct container *container)
{
	return (struct worker_group){
		.name = name,
		.has_replicas = true,
		.max_replicas = 100,
		.num_of_hosts = 1,
		.template = { .spec = { .containers = container,
					.container_count = 1,
					.node_name = "" } },
		.scale_gate = "",
	};
}

static int setup(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	settings_init(&scene.settings);
	scene.devices = device_table_builtin();
	scene.now = NOW;
	scene.head = (struct container){ .name = "head", .image = "" };
	scene.one = (struct container){ .name = "ray", .image = "", .limits = { one_gpu, 1 } };
	scene.eight = (struct container){ .name = "ray", .image = "", .limits = { eight_gpus, 1 } };
	for (size_t i = 0; i < CLUSTERS_MAX; i++) {
		scene.groups[i][0] = make_group("one", &scene.one);
		scene.groups[i][1] = make_group("eight", &scene.eight);
		scene.clusters[i] = (struct ray_cluster){
			.namespace_ = namespaces[i],
			.name = "demo",
			.uid = "",
			.ray_version = "",
			.head_template = { .spec = { .containers = &scene.head,
						     .container_count = 1,
						     .node_name = "" } },
			.groups = scene.groups[i],
			.group_count = 2,
		};
	}
	scene.team[0] = (struct label){ "team", "a" };
	scene.team[1] = (struct label){ "team", "b" };
	scene.queues[0] = (struct gpu_pool_queue){
		.name = "a",
		.namespaces = { .match_labels = { &scene.team[0], 1 } },
		.guaranteed = UNITS(8),
		.weight = 1,
	};
	scene.queues[1] = (struct gpu_pool_queue){
		.name = "b", .namespaces = { .match_labels = { &scene.team[1], 1 } }, .weight = 1
	};
	scene.pool = (struct gpu_pool){
		.name = "pool",
		.uid = "",
		.resource_version = "",
		.groups = { .accelerator_type = "", .resource_name = "" },
		.has_gpus = true,
		.gpus = UNITS(16),
		.queues = scene.queues,
		.queue_count = 2,
		.idle_after_seconds = 5,
		.busy_after_seconds = GPU_POOL_NEVER,
		.reserve_after_seconds = 120,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&scene.arena);
	pool_room_done(&scene.free);
	return 0;
}

/* A worker of the cluster; Ray reports it in this state for IDLE_MS. */
static const char *add_worker(size_t cluster, size_t group, const char *node,
			      enum share_state reported)
{
	size_t i = scene.pod_counts[cluster]++;
	struct pod *pod = &scene.pods[cluster][i];
	const char *name = arena_printf(&scene.arena, "w%02zu", i);

	scene.labels[cluster][i][0] = (struct label){ LABEL_CLUSTER, "demo" };
	scene.labels[cluster][i][1] =
		(struct label){ LABEL_GROUP, scene.groups[cluster][group].name };
	scene.labels[cluster][i][2] = (struct label){ LABEL_NODE_TYPE, "worker" };
	*pod = (struct pod){ .namespace_ = namespaces[cluster],
			     .name = name,
			     .labels = { scene.labels[cluster][i], 3 },
			     .phase = "Running",
			     .owner = &owner,
			     .spec = scene.groups[cluster][group].template.spec };
	pod->spec.node_name = node;
	scene.lists[cluster][i] = pod;
	scene.groups[cluster][group].replicas++;
	VEC_PUSH(&scene.arena, &scene.reports[cluster],
		 ((struct pool_report_worker){ .pod = hash_text(name),
					       .state = reported,
					       .since = scene.now - IDLE_MS }));
	return name;
}

static void add_node(const char *name)
{
	static const struct condition ready = { .type = "Ready", .status = "True" };

	scene.nodes[scene.node_count++] = (struct node){ .name = name,
							 .resource_version = "",
							 .capacity = { eight_gpus, 1 },
							 .allocatable = { eight_gpus, 1 },
							 .conditions = &ready,
							 .condition_count = 1 };
}

static void ask(size_t cluster, size_t group, int64_t replicas, int64_t count)
{
	struct pool_ask *added = VEC_ADD(&scene.arena, &scene.asks[cluster]);

	*added = (struct pool_ask){ .count = count, .gang = replicas > 1 };
	VEC_PUSH(&scene.arena, &added->parts, ((struct pool_ask_part){ group, replicas }));
}

static int by_pod(const void *left, const void *right)
{
	const struct pool_report_worker *a = left, *b = right;

	return (a->pod > b->pod) - (a->pod < b->pod);
}

static const struct pool_allocation *allocate(void)
{
	static const struct pool_member *members[CLUSTERS_MAX];
	static const struct pool_asks *asks[CLUSTERS_MAX];
	static struct labels labels[CLUSTERS_MAX];
	static const struct gpu_pool *pools[1];
	static int64_t capacity;
	static const char *held[1];

	pools[0] = &scene.pool;
	capacity = scene.pool.gpus;
	held[0] = scene.pool.problems.count > 0 ? scene.pool.problems.at[0] : NULL;
	pool_room_make(&scene.free, &(struct pool_room_input){ .pools = pools,
							       .pool_count = 1,
							       .nodes = scene.nodes,
							       .node_count = scene.node_count,
							       .settings = &scene.settings,
							       .devices = scene.devices });
	if (scene.outside.name)
		pool_room_count(&scene.free, &scene.outside, 1);
	for (size_t i = 0; i < CLUSTERS_MAX; i++) {
		struct pool_report *report = ARENA_NEW(&scene.arena, struct pool_report);

		if (scene.reports[i].count > 0)
			qsort(scene.reports[i].at, scene.reports[i].count,
			      sizeof(*scene.reports[i].at), by_pod);
		report->workers = scene.reports[i].at;
		report->worker_count = scene.reports[i].count;
		report->group_count = 2;
		report->min_replicas = arena_array(&scene.arena, 2, sizeof(int64_t));
		struct pool_member_input input = {
			.namespace_ = namespaces[i],
			.key = arena_printf(&scene.arena, "%s/demo", namespaces[i]),
			.cluster = &scene.clusters[i],
			.pods = scene.lists[i],
			.pod_count = scene.pod_counts[i],
			.in_kueue = scene.in_kueue[i],
			.report = report,
			.drains = scene.drains[i],
			.pools = pools,
			.pool_count = 1,
			.settings = &scene.settings,
			.devices = scene.devices,
			.free = &scene.free,
		};

		input.groups = pool_groups_make(&input, &scene.arena);
		members[i] = pool_member_make(&input, &scene.arena);
		asks[i] = pool_asks_update(scene.old[i], scene.asks[i].at, scene.asks[i].count,
					   &scene.clusters[i], scene.now, &scene.arena);
		scene.old[i] = asks[i];
		scene.members[i] = members[i];
		labels[i] = (struct labels){ i < 2 ? &scene.team[i] : NULL, i < 2 };
		for (size_t p = 0; p < scene.pod_counts[i]; p++)
			pool_room_count(&scene.free, scene.lists[i][p], 1);
		pool_member_locate((struct pool_member *)members[i], &scene.free);
	}
	return pool_allocate(&(struct pool_input){ .pools = pools,
						   .capacities = &capacity,
						   .stopped = held,
						   .pool_count = 1,
						   .per_namespace = RESOURCE_AMOUNT_MAX,
						   .members = members,
						   .asks = asks,
						   .member_count = CLUSTERS_MAX,
						   .namespace_labels = labels,
						   .free = scene.node_count > 0 ? &scene.free :
										  NULL,
						   .devices = scene.devices,
						   .now = scene.now },
			     &scene.arena);
}

static const struct pool_terms *terms(const struct pool_allocation *allocation, size_t cluster)
{
	const struct pool_terms *found = pool_terms_make(allocation, cluster, false, &scene.arena);

	assert_non_null(found);
	assert_int_equal(found->grant_count, 2);
	return found;
}

static void expect(const struct pool_allocation *allocation, size_t cluster, int64_t one,
		   int64_t eight)
{
	assert_int_equal(terms(allocation, cluster)->grants[0].replicas, one);
	assert_int_equal(terms(allocation, cluster)->grants[1].replicas, eight);
}

static void expect_text(const struct pool_allocation *allocation, size_t cluster, size_t group,
			enum reason reason, const char *text)
{
	const struct pool_grant *grant = &terms(allocation, cluster)->grants[group];

	assert_int_equal(grant->reason, reason);
	if (!strstr(grant->message, text))
		fail_msg("no \"%s\" in \"%s\"", text, grant->message);
}

static void test_what_is_free_is_granted(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		add_worker(1, 0, "", SHARE_BUSY);
	ask(2, 0, 1, 100);
	expect(allocate(), 2, 6, 0);
	expect_text(allocate(), 2, 0, REASON_WAITS_FOR_POOL,
		    "waits for pool pool, namespaces without a queue: place 1 of 94");
}

static void test_a_gang_is_granted_whole_or_not_at_all(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		add_worker(1, 0, "", SHARE_BUSY);
	ask(2, 0, 7, 1);
	expect(allocate(), 2, 0, 0);
	scene.pod_counts[1]--;
	scene.groups[1][0].replicas--;
	expect(allocate(), 2, 7, 0);
}

/* 8 of 16 GPUs are free, four on each Node: a worker of 8 needs a whole one. */
static void test_an_amount_is_not_a_place(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		add_worker(1, 0, i % 2 ? "n1" : "n2", SHARE_BUSY);
	ask(2, 1, 1, 1);
	expect(allocate(), 2, 0, 1);
	add_node("n1");
	add_node("n2");
	expect(allocate(), 2, 0, 0);
	add_node("n3");
	expect(allocate(), 2, 0, 1);
	scene.node_count--;
	expect(allocate(), 2, 0, 0);
	/* One more Node than the two: the pool says that it will have it. */
	scene.pool.gpus = UNITS(24);
	expect(allocate(), 2, 0, 1);
}

/* Groups with equal requests and other selectors or tolerations have places of their own. */
static void test_places_are_those_of_the_template(void **state)
{
	static const struct taint taint = { "team", "x", "NoSchedule", TIME_NONE };
	static const struct toleration tolerates = { "team", "Exists", "", "" };
	static const struct label here = { "zone", "a" }, there = { "zone", "b" };
	static const struct labels labels = { &here, 1 }, others = { &there, 1 };

	(void)state;
	scene.pool.gpus = UNITS(8);
	add_node("n1");
	scene.nodes[0].labels = labels;
	scene.nodes[0].taints = &taint;
	scene.nodes[0].taint_count = 1;
	for (size_t i = 1; i < CLUSTERS_MAX; i++) {
		scene.groups[i][0].template.spec.tolerations = i > 1 ? &tolerates : NULL;
		scene.groups[i][0].template.spec.toleration_count = i > 1;
		scene.groups[i][0].template.spec.node_selector = i == 2 ? others : labels;
		ask(i, 0, 1, 2);
	}
	expect(allocate(), 1, 0, 0);
	expect(allocate(), 2, 0, 0);
	expect(allocate(), 3, 2, 0);
}

/* A resource that only qualifies a device needs no place on Nodes that do not name it, and one where they do. */
static void test_a_qualifier_keeps_no_unit_from_its_place(void **state)
{
	static const struct quantity half[] = {
		{ "nvidia.com/gpu", "1", true, UNITS(1) },
		{ "nvidia.com/gpucores", "50", true, UNITS(50) },
	};
	static const struct quantity cores[] = {
		{ "nvidia.com/gpu", "8", true, UNITS(8) },
		{ "nvidia.com/gpucores", "100", true, UNITS(100) },
	};

	(void)state;
	scene.pool.gpus = UNITS(8);
	add_node("n1");
	scene.one.limits = (struct quantities){ half, 2 };
	ask(2, 0, 1, 3);
	expect(allocate(), 2, 3, 0);
	scene.nodes[0].allocatable = scene.nodes[0].capacity = (struct quantities){ cores, 2 };
	expect(allocate(), 2, 2, 0);
}

/* A part of a GPU is of one Node, and none is left of one that is used whole. */
static void test_parts_of_gpus_have_places(void **state)
{
	static const struct container whole = { .name = "ray",
						.image = "",
						.limits = { one_gpu, 1 } };
	static const struct quantity parts[] = { { "gpu-fraction", "0.6", true, UNITS(6) / 10 } };

	(void)state;
	scene.pool.gpus = UNITS(3);
	add_node("n1");
	add_node("n2");
	add_node("n3");
	for (size_t i = 0; i < 3; i++)
		scene.nodes[i].allocatable = scene.nodes[i].capacity =
			(struct quantities){ one_gpu, 1 };
	scene.one.limits = (struct quantities){ NULL, 0 };
	scene.groups[2][0].template.spec.gpu_shares = (struct quantities){ parts, 1 };
	ask(2, 0, 1, 4);
	expect(allocate(), 2, 3, 0);
	ask(0, 0, 1, 1);
	scene.groups[0][0].template.spec.containers = &whole;
	expect(allocate(), 0, 1, 0);
	expect(allocate(), 2, 2, 0);
}

/* Idle workers of the borrower: those of one Node make the unit fit, and no others end. */
static void test_whole_nodes_are_released_first(void **state)
{
	const struct pool_allocation *allocation;
	const struct pool_terms *found;

	(void)state;
	add_node("n1");
	add_node("n2");
	add_worker(1, 0, "n1", SHARE_BUSY);
	for (int i = 0; i < 4; i++)
		add_worker(1, 0, "n1", SHARE_IDLE);
	for (int i = 0; i < 8; i++)
		add_worker(1, 0, "n2", SHARE_IDLE);
	ask(0, 1, 1, 1);
	allocation = allocate();
	expect(allocation, 0, 0, 0);
	expect_text(allocation, 0, 1, REASON_WAITS_FOR_POOL, "8 GPUs become free for it");
	found = terms(allocation, 1);
	assert_int_equal(found->release_count, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_true(strcmp(found->releases[i].pod, "w05") >= 0);
		assert_true(found->releases[i].deadline == TIME_NONE);
		assert_string_equal(found->releases[i].message,
				    "for a/demo, which waits for 8 GPUs of pool pool, queue a");
	}
}

/* Two RayClusters of one queue: the work of one has the workers that a request of the other keeps, and a request
 * comes after it. */
static void test_work_comes_before_requests(void **state)
{
	const struct pool_allocation *allocation;

	(void)state;
	for (int i = 0; i < 16; i++)
		add_worker(2, 0, "", SHARE_IDLE);
	ask(3, 0, 8, 1);
	for (int requested = 0; requested < 2; requested++) {
		VEC_EACH(struct pool_report_worker, worker, &scene.reports[2]) {
			worker->needed = true;
			worker->requested = requested;
		}
		allocation = allocate();
		assert_int_equal(terms(allocation, 2)->release_count, requested ? 8 : 0);
	}
	expect_text(allocation, 3, 0, REASON_WAITS_FOR_POOL, "8 GPUs become free for it");
	scene.asks[3].at[0].gang = false;
	scene.asks[3].at[0].requested = true;
	assert_int_equal(terms(allocate(), 2)->release_count, 0);
}

static void test_a_request_waits_behind_work(void **state)
{
	(void)state;
	scene.pool.gpus = UNITS(2);
	ask(2, 0, 1, 2);
	scene.asks[2].at[0].requested = true;
	allocate();
	scene.now += 1000;
	ask(3, 0, 1, 1);
	expect(allocate(), 3, 1, 0);
	expect(allocate(), 2, 1, 0);
	expect_text(allocate(), 2, 0, REASON_WAITS_FOR_POOL, "place 1 of 1");
	ask(3, 0, 1, 2);
	expect(allocate(), 3, 2, 0);
	expect_text(allocate(), 2, 0, REASON_WAITS_FOR_POOL, "place 2 of 3");
}

static void test_workers_that_may_not_end(void **state)
{
	static const struct label keep = { ANNOTATION_DO_NOT_DISRUPT, "true" };

	(void)state;
	for (int i = 0; i < 16; i++)
		add_worker(1, 0, "", SHARE_IDLE);
	scene.groups[1][0].min_replicas = 10;
	ask(0, 0, 1, 8);
	assert_int_equal(terms(allocate(), 1)->release_count, 6);
	for (int i = 0; i < 16; i++)
		scene.pods[1][i].annotations = (struct labels){ &keep, 1 };
	assert_int_equal(terms(allocate(), 1)->release_count, 0);
}

static const struct pod *find_pod(const char *name)
{
	for (size_t i = 0; i < scene.pod_counts[1]; i++)
		if (strcmp(scene.pods[1][i].name, name) == 0)
			return &scene.pods[1][i];
	return NULL;
}

/* do-not-disrupt holds within the guarantee: beyond it such workers end as busy ones, with notice, and last. */
static void test_protected_workers_end_for_a_guarantee(void **state)
{
	static const struct label keep = { ANNOTATION_DO_NOT_DISRUPT, "true" };
	static const struct label not = { ANNOTATION_DO_NOT_DISRUPT, "false" };
	const struct pool_terms *found;

	(void)state;
	scene.pool.busy_after_seconds = 600;
	for (int i = 0; i < 16; i++) {
		const char *name = add_worker(1, 0, "", i < 8 ? SHARE_IDLE : SHARE_BUSY);

		assert_string_equal(name, scene.pods[1][i].name);
		scene.pods[1][i].annotations = (struct labels){ i % 2 ? &keep : &not, 1 };
	}
	ask(0, 0, 1, 8);
	found = terms(allocate(), 1);
	assert_int_equal(found->release_count, 8);
	for (size_t i = 0; i < 8; i++)
		assert_false(pod_is_protected(find_pod(found->releases[i].pod)));
	ask(0, 0, 1, 8);
	scene.queues[0].guaranteed = UNITS(12);
	assert_int_equal(terms(allocate(), 1)->release_count, 12);
	scene.pool.keeps_protected = true;
	assert_int_equal(terms(allocate(), 1)->release_count, 8);
}

static void test_terms_have_the_limit_of_nodes_under_repair(void **state)
{
	uint64_t before;

	(void)state;
	add_worker(1, 0, "n1", SHARE_BUSY);
	assert_string_equal(terms(allocate(), 1)->grants[0].repair_pool, "");
	before = allocate()->shares[1].digest;
	scene.pool.has_repair_nodes = true;
	assert_true(allocate()->shares[1].digest != before); /* it decides again */
	scene.pool.repair_nodes = 3;
	assert_string_equal(terms(allocate(), 1)->grants[0].repair_pool, scene.pool.name);
	assert_int_equal(terms(allocate(), 1)->grants[0].repair_nodes, 3);
	/* Of the Nodes that workers use; the larger counts. */
	add_worker(1, 0, "n2", SHARE_BUSY);
	add_worker(0, 0, "n2", SHARE_BUSY);
	scene.pool.has_repair_percent = true;
	scene.pool.repair_percent = 50;
	assert_int_equal(terms(allocate(), 1)->grants[0].repair_nodes, 3);
	scene.pool.has_repair_nodes = false;
	assert_int_equal(terms(allocate(), 1)->grants[0].repair_nodes, 1);
}

/* A template without the pool's nodeSelector: its Pods are on the pool's Nodes, so the group draws from it. */
static void test_a_group_draws_from_the_pool_of_its_nodes(void **state)
{
	static const struct label of_pool = { "pool", "x" };
	const struct pool_allocation *allocation;
	struct gpu_pool_status status;

	(void)state;
	scene.pool.groups.node_selector = (struct labels){ &of_pool, 1 };
	add_node("n1");
	add_node("n2");
	scene.nodes[0].labels = (struct labels){ &of_pool, 1 };
	add_worker(1, 0, "n2", SHARE_BUSY);
	ask(1, 0, 1, 16);
	assert_null(pool_terms_make(allocate(), 1, false, &scene.arena));
	assert_true(scene.members[1]->strays);
	add_worker(1, 0, "n1", SHARE_BUSY);
	scene.pool.gpus = UNITS(4);
	allocation = allocate();
	pool_status_make(allocation, 0, NULL, &scene.arena, &status);
	assert_int_equal(status.held, UNITS(1));
	assert_int_equal(pool_terms_make(allocation, 1, false, &scene.arena)->grants[0].replicas,
			 3);
}

static void test_a_drain_keeps_its_deadline(void **state)
{
	const struct pool_allocation *allocation;
	const struct pool_terms *found;

	(void)state;
	scene.pool.busy_after_seconds = 600;
	for (int i = 0; i < 16; i++)
		add_worker(1, 0, "", SHARE_BUSY);
	ask(0, 0, 1, 3);
	allocation = allocate();
	assert_int_equal(terms(allocation, 1)->release_count, 3);
	assert_true(allocation->shares[1].drains);
	scene.drains[1] = pool_drains_make(allocation, 1, &scene.arena);
	scene.now += 60000;
	allocation = allocate();
	found = terms(allocation, 1);
	assert_int_equal(found->release_count, 3);
	assert_false(allocation->shares[1].drains);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(found->releases[i].deadline, NOW + 600000);
	/* The Pods have ended. */
	scene.pod_counts[1] -= 3;
	scene.groups[1][0].replicas -= 3;
	memmove(scene.lists[1], scene.lists[1] + 3, 13 * sizeof(scene.lists[1][0]));
	allocation = allocate();
	assert_int_equal(terms(allocation, 1)->release_count, 0);
	expect(allocation, 0, 3, 0);
}

/* After a start, of a worker that Ray drains until then. */
static const struct pool_terms *terms_after_start(time_ms ends)
{
	const struct ray_node node = { .id = "n", .drain_deadline_ms = ends };
	struct plan_worker worker = { .pod = add_worker(1, 0, "", SHARE_LEAVING),
				      .state = WORKER_DRAINING,
				      .reason = REASON_DRAINING,
				      .node = &node };
	const struct plan plan = { .workers = { .at = &worker, .count = 1 } };

	scene.reports[1].at[scene.reports[1].count - 1] =
		pool_report_make(&plan, NULL, scene.now, &scene.arena)->workers[0];
	return terms(allocate(), 1);
}

static void test_a_drain_keeps_its_deadline_after_a_start(void **state)
{
	const struct pool_terms *found;

	(void)state;
	assert_int_equal(terms_after_start(NOW + 300000)->release_count, 0);
	scene.pool.busy_after_seconds = 600;
	assert_int_equal(terms_after_start(NOW + 700000)->release_count, 1); /* a drain of others */
	assert_int_equal(terms_after_start(0)->release_count, 1);
	found = terms(allocate(), 1);
	assert_int_equal(found->releases[0].deadline, NOW + 300000);
	assert_string_equal(found->releases[0].message, "for others of pool pool");
	/* The reports of later decisions do not have it. */
	scene.drains[1] = pool_drains_make(allocate(), 1, &scene.arena);
	scene.reports[1].at[0].ends = 0;
	assert_int_equal(terms(allocate(), 1)->releases[0].deadline, NOW + 300000);
}

static void test_places_in_the_order_are_kept(void **state)
{
	static const int64_t launched[] = { 2, 0 };
	const struct pool_asks *asks;

	(void)state;
	ask(2, 0, 1, 3);
	(void)allocate();
	scene.now += 1000;
	scene.asks[2].count = 0;
	ask(2, 0, 1, 5);
	(void)allocate();
	asks = scene.old[2];
	assert_int_equal(asks->list.count, 2);
	assert_int_equal(asks->list.at[0].count, 3);
	assert_int_equal(asks->list.at[0].since, NOW);
	assert_int_equal(asks->list.at[1].count, 2);
	assert_int_equal(asks->list.at[1].since, NOW + 1000);
	/* The oldest are launched, the youngest cancelled. */
	asks = pool_asks_launched(asks, launched, 2, &scene.arena);
	assert_int_equal(asks->list.at[0].count, 1);
	assert_int_equal(asks->list.at[0].since, NOW);
	scene.old[2] = asks;
	scene.asks[2].count = 0;
	ask(2, 0, 1, 1);
	(void)allocate();
	assert_int_equal(scene.old[2]->list.count, 1);
	assert_int_equal(scene.old[2]->list.at[0].since, NOW);
}

/* A new process has the times of the status. */
static void test_places_after_a_restart(void **state)
{
	struct pool_waiting waiting = {
		.groups = "one*1", .count = 2, .since = NOW - 5000, .granted_since = TIME_NONE
	};
	const struct pool_asks stored = { .list = { &waiting, 1, 1 } };
	const struct pool_asks *asks;

	(void)state;
	ask(2, 0, 1, 3);
	asks = pool_asks_update(&stored, scene.asks[2].at, 1, &scene.clusters[2], NOW,
				&scene.arena);
	assert_int_equal(asks->list.count, 2);
	assert_int_equal(asks->list.at[0].since, NOW - 5000);
	assert_int_equal(asks->list.at[0].count, 2);
	assert_int_equal(asks->list.at[1].since, NOW);
}

/* Workers that it had have ended: it asks for more, and is as large as before. */
static void test_a_gang_keeps_its_place_without_its_parts(void **state)
{
	(void)state;
	ask(2, 0, 1, 1);
	scene.asks[2].at[0].gang = true;
	scene.asks[2].at[0].parts.at[0] = (struct pool_ask_part){ 0, 6, 2 };
	(void)allocate();
	scene.now += 5000;
	scene.asks[2].at[0].parts.at[0] = (struct pool_ask_part){ 0, 8, 0 };
	(void)allocate();
	assert_int_equal(scene.old[2]->list.at[0].since, NOW);
	scene.asks[2].at[0].parts.at[0] = (struct pool_ask_part){ 0, 8, 1 };
	(void)allocate();
	assert_int_equal(scene.old[2]->list.at[0].since, scene.now);
}

static void test_an_unused_grant_costs_the_place(void **state)
{
	const struct pool_allocation *allocation;

	(void)state;
	ask(2, 0, 1, 1);
	allocation = allocate();
	scene.old[2] = pool_asks_granted(allocation, 2, &scene.arena);
	assert_ptr_not_equal(scene.old[2], allocation->input->asks[2]);
	scene.now += POOL_ASK_UNUSED_MS - 1;
	allocation = allocate();
	assert_ptr_equal(pool_asks_granted(allocation, 2, &scene.arena), scene.old[2]);
	scene.now += 1;
	allocation = allocate();
	scene.old[2] = pool_asks_granted(allocation, 2, &scene.arena);
	assert_ptr_not_equal(scene.old[2], allocation->input->asks[2]);
	assert_int_equal(scene.old[2]->list.at[0].since, scene.now);
}

/* Kueue's label takes no RayCluster out of a pool. With kueueOutside and a Workload its GPUs are in no queue, and
 * others have what is left. */
static void test_a_cluster_of_kueue(void **state)
{
	static const struct label of_kueue = { "kueue.x-k8s.io/queue-name", "q" };
	const struct pool_allocation *allocation;
	struct gpu_pool_status status;

	(void)state;
	for (int i = 0; i < 10; i++)
		add_worker(3, 0, "", SHARE_IDLE);
	scene.clusters[3].labels = (struct labels){ &of_kueue, 1 };
	ask(3, 0, 1, 6);
	ask(2, 0, 1, 16);
	allocation = allocate();
	assert_int_equal(terms(allocation, 2)->grants[0].replicas +
				 terms(allocation, 3)->grants[0].replicas,
			 6);
	pool_status_make(allocation, 0, NULL, &scene.arena, &status);
	assert_int_equal(status.queues[2].held, UNITS(10));
	scene.pool.kueue_outside = true;
	allocation = allocate();
	pool_status_make(allocation, 0, NULL, &scene.arena, &status);
	assert_int_equal(status.queues[2].held, UNITS(10));
	scene.in_kueue[3] = true;
	allocation = allocate();
	assert_null(pool_terms_make(allocation, 3, false, &scene.arena));
	expect(allocation, 2, 6, 0);
	pool_status_make(allocation, 0, NULL, &scene.arena, &status);
	assert_int_equal(status.queues[2].held, 0);
	assert_true(status.held == UNITS(10));
	expect_text(allocation, 2, 0, REASON_WAITS_FOR_POOL, "16 of 16 GPUs are held");
}

static void test_a_pool_with_problems_changes_nothing(void **state)
{
	static const char *const problem = "spec.queues[0].weight: must be 1 or more, got 0";
	const struct pool_allocation *allocation;
	struct gpu_pool_status status;

	(void)state;
	for (int i = 0; i < 16; i++)
		add_worker(1, 0, "", SHARE_IDLE);
	ask(0, 0, 1, 8);
	scene.pool.problems = (struct strings){ &problem, 1 };
	allocation = allocate();
	expect(allocation, 0, 0, 0);
	expect_text(allocation, 0, 0, REASON_WAITS_FOR_POOL, problem);
	assert_int_equal(terms(allocation, 1)->release_count, 0);
	pool_status_make(allocation, 0, NULL, &scene.arena, &status);
	assert_string_equal(status.conditions.at[0].status, "False");
	assert_string_equal(status.conditions.at[0].message, problem);
}

/* Workers without a limit of GPUs: by their claims they hold those of a pool for a resource, or for the
 * product of the devices. */
static void test_claimed_devices_are_of_a_pool(void **state)
{
	static const struct claimed_request request = {
		.namespace_ = "a",
		.claim = "one",
		.is_template = true,
		.request = "gpu",
		.promise = { "nvidia.com/gpu", UNITS(1) },
		.charge = { "nvidia.com/gpu", UNITS(1) },
		.product = "NVIDIA A100-SXM4-80GB",
	};
	static const struct claimed_index index = { .at = &request,
						    .count = 1,
						    .templates_known = true };
	static const struct pod_claim claim = { .name = "g", .claim = "", .template_ = "one" };
	static const struct container_claim use = { .name = "g", .request = "" };
	struct device_table devices = *device_table_builtin();
	const struct {
		const char *type, *resource;
		int64_t held;
	} table[] = {
		{ "", "", UNITS(2) },     { "", "nvidia.com/gpu", UNITS(2) },
		{ "A100", "", UNITS(2) }, { "A100", "nvidia.com/gpu", UNITS(2) },
		{ "H100", "", 0 },        { "", "amd.com/gpu", 0 },
	};

	(void)state;
	devices.claims = &index;
	scene.one =
		(struct container){ .name = "ray", .image = "", .claims = &use, .claim_count = 1 };
	scene.groups[0][0].template.spec.claims = &claim;
	scene.groups[0][0].template.spec.claim_count = 1;
	/* One has a Pod, the other one is requested. */
	add_worker(0, 0, "n", SHARE_BUSY);
	scene.groups[0][0].replicas++;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		const struct gpu_pool *const pools[] = { &scene.pool };
		struct pool_member_input input = {
			.namespace_ = "a",
			.key = "a/demo",
			.cluster = &scene.clusters[0],
			.pods = scene.lists[0],
			.pod_count = 1,
			.pools = pools,
			.pool_count = 1,
			.settings = &scene.settings,
			.devices = &devices,
		};
		const struct pool_member *member;
		int64_t held = 0;

		scene.pool.groups.accelerator_type = table[i].type;
		scene.pool.groups.resource_name = table[i].resource;
		input.groups = pool_groups_make(&input, &scene.arena);
		member = pool_member_make(&input, &scene.arena);
		VEC_EACH(const struct pool_worker, worker, &member->workers)
			held += worker->gpus;
		if (held != table[i].held)
			fail_msg("%s %s: %lld", table[i].type, table[i].resource, (long long)held);
	}
}

static void test_figures_of_queues(void **state)
{
	struct gpu_pool_status status, later;
	const struct pool_allocation *allocation;

	(void)state;
	scene.queues[0].guaranteed = UNITS(10);
	for (int i = 0; i < 8; i++)
		add_worker(1, 0, "", SHARE_BUSY);
	for (int i = 0; i < 4; i++)
		add_worker(1, 0, "", SHARE_IDLE);
	for (int i = 0; i < 2; i++)
		add_worker(0, 0, "", SHARE_BUSY);
	ask(0, 1, 1, 1);
	allocation = allocate();
	pool_status_make(allocation, 0, NULL, &scene.arena, &status);
	assert_int_equal(status.queue_count, 3);
	assert_int_equal(status.held, UNITS(14));
	assert_int_equal(status.queues[1].held, UNITS(12));
	assert_int_equal(status.queues[1].busy, UNITS(8));
	assert_int_equal(status.queues[1].idle, UNITS(4));
	assert_int_equal(status.queues[1].borrowed, UNITS(12));
	assert_int_equal(status.queues[1].share, RESOURCE_UNIT * 12 / 16);
	assert_int_equal(status.queues[0].waiting, UNITS(8));
	assert_int_equal(status.queues[0].below_guarantee_since, NOW);
	assert_int_equal(status.waiting_unit_count, 1);
	assert_string_equal(status.waiting_units[0].cluster, "a/demo");
	assert_string_equal(status.waiting_units[0].groups, "eight*1");
	scene.now += 5000;
	pool_status_make(allocate(), 0, &status, &scene.arena, &later);
	assert_int_equal(later.queues[0].below_guarantee_since, NOW);
}

/* The oldest large unit has GPUs saved; the texts of others name it. */
static void test_saved_for_a_gang(void **state)
{
	const struct pool_allocation *allocation;

	(void)state;
	for (int i = 0; i < 14; i++)
		add_worker(1, 0, "", SHARE_BUSY);
	ask(2, 0, 8, 1);
	(void)allocate();
	scene.now += 121000;
	ask(3, 0, 1, 4);
	allocation = allocate();
	expect(allocation, 2, 0, 0);
	expect(allocation, 3, 0, 0);
	expect_text(allocation, 2, 0, REASON_WAITS_FOR_POOL,
		    "GPUs that become free are saved for it");
	expect_text(allocation, 3, 0, REASON_RESERVED_FOR_GANG, "are saved for c/demo");
}

static void test_why_a_unit_waits(void **state)
{
	const struct pool_allocation *allocation;

	(void)state;
	for (int i = 0; i < 12; i++)
		add_worker(1, 0, "", SHARE_BUSY);
	ask(0, 1, 1, 1);
	scene.asks[0].at[0].gang = true; /* of one replica */
	allocation = allocate();
	expect_text(
		allocation, 0, 1, REASON_WAITS_FOR_POOL,
		"waits for pool pool, queue a: place 1 of 1, 12 of 16 GPUs are held; queue b "
		"holds 12 GPUs beyond its guarantee; from 2027-01-15T08:02:00Z on they are saved "
		"for it");
	/* Of the other group nothing waits. */
	expect_text(allocation, 0, 0, REASON_WAITS_FOR_POOL, "queue a: it is not allocated yet");
}

/* Free by number, on no Node: the text names the Node, its obstacle, and the use by Pods outside of RayClusters. */
static void test_why_there_is_no_room(void **state)
{
	static const struct taint taint = { "team", "x", "NoSchedule", TIME_NONE };
	static const struct pod notebook = {
		.namespace_ = "x", .name = "notebook", .phase = "Running", .labels = { 0 }
	};
	const struct pool_allocation *allocation;

	(void)state;
	scene.pool.gpus = UNITS(8);
	add_node("n1");
	scene.outside = notebook;
	scene.outside.spec = scene.groups[0][1].template.spec;
	scene.outside.spec.node_name = "n1";
	ask(2, 0, 1, 1);
	expect_text(allocate(), 2, 0, REASON_WAITS_FOR_POOL,
		    "place 1 of 1, 0 of 8 GPUs are held; waits for free capacity or for a new Node "
		    "(node autoscaler), the closest is Node n1: 0 of 8 nvidia.com/gpu are free, 1 "
		    "are needed; Pods outside of RayClusters use 8 nvidia.com/gpu there");
	scene.outside.name = NULL;
	expect(allocate(), 2, 1, 0);
	scene.nodes[0].taints = &taint;
	scene.nodes[0].taint_count = 1;
	allocation = allocate();
	expect_text(allocation, 2, 0, REASON_WAITS_FOR_POOL,
		    "0 of 8 GPUs are held; no Node of the cluster could ever hold it (a node "
		    "autoscaler would have to add one), the closest is Node n1: taint "
		    "team=x:NoSchedule is not tolerated");
	/* GPUs that are kept for others are there. */
	scene.nodes[0].taint_count = 0;
	ask(0, 1, 1, 1);
	expect_text(allocate(), 2, 0, REASON_WAITS_FOR_POOL, "place 1 of 1, 8 of 8 GPUs are held");
}

/* A Node has room for one Pod of the gang, and no two have. */
static void test_why_there_is_no_room_for_a_gang(void **state)
{
	(void)state;
	add_node("n1");
	add_node("n2");
	add_worker(1, 0, "n1", SHARE_BUSY);
	ask(2, 1, 1, 1);
	expect(allocate(), 2, 0, 1);
	scene.asks[2].count = 0;
	ask(2, 1, 2, 1);
	scene.pool.gpus = UNITS(17);
	expect_text(allocate(), 2, 1, REASON_WAITS_FOR_POOL,
		    "; the Nodes have room for 1 of its Pods at once");
}

static void test_why_a_unit_may_not_be_granted(void **state)
{
	const struct pool_allocation *allocation;

	(void)state;
	scene.queues[0].has_maximum = true;
	scene.queues[0].maximum = UNITS(8);
	add_worker(0, 1, "", SHARE_BUSY);
	ask(0, 0, 1, 1);
	ask(0, 1, 2, 1);
	ask(1, 1, 3, 1);
	allocation = allocate();
	expect_text(allocation, 0, 0, REASON_WAITS_FOR_POOL,
		    "waits for pool pool, queue a: at its maximum 8");
	expect_text(
		allocation, 0, 1, REASON_WAITS_FOR_POOL,
		"pool pool, queue a never holds 16 GPUs: the pool has 16, and the queue at most 8");
	expect_text(allocation, 1, 1, REASON_WAITS_FOR_POOL,
		    "pool pool, queue b never holds 24 GPUs: the pool has 16");
	assert_null(strstr(terms(allocation, 1)->grants[1].message, "at most"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Two GPUs by a claim, on Nodes whose GPUs are those of ResourceSlices. */
static void test_claims_use_up_the_devices_of_nodes(void **state)
{
	static const struct claimed_request request = {
		.namespace_ = "a",
		.claim = "two",
		.is_template = true,
		.request = "gpu",
		.promise = { "nvidia.com/gpu", UNITS(2) },
		.charge = { "nvidia.com/gpu", UNITS(2) },
		.product = "",
	};
	static const struct claimed_index index = { .at = &request, .count = 1 };
	static const struct pod_claim claim = { .name = "g", .claim = "", .template_ = "two" };
	static const struct container_claim use = { .name = "g", .request = "" };
	static struct container ray = {
		.name = "ray", .image = "", .claims = &use, .claim_count = 1
	};
	struct device_table devices = *device_table_builtin();
	struct pod_spec *spec = &scene.groups[0][0].template.spec;

	(void)state;
	devices.claims = &index;
	scene.devices = &devices;
	spec->containers = &ray;
	spec->claims = &claim;
	spec->claim_count = 1;
	add_node("n1");
	add_node("n2");
	/* Four GPUs are free on each, and none is whole. */
	for (int i = 0; i < 4; i++)
		add_worker(0, 0, i % 2 ? "n1" : "n2", SHARE_BUSY);
	ask(2, 1, 1, 1);
	expect(allocate(), 2, 0, 0);
	/* One GPU is free on each: a claim of two fits nowhere. */
	for (int i = 0; i < 6; i++)
		add_worker(1, 0, i % 2 ? "n1" : "n2", SHARE_BUSY);
	ask(0, 0, 1, 1);
	expect(allocate(), 0, 0, 0);
	add_node("n3");
	add_node("n4");
	scene.pool.gpus = UNITS(32);
	expect(allocate(), 0, 1, 0);
	expect(allocate(), 2, 0, 1);
}

/* By its queue, or the pool. */
static void test_the_most_that_a_ray_cluster_may_get(void **state)
{
	(void)state;
	scene.queues[1].has_maximum = true;
	scene.queues[1].maximum = UNITS(4);
	assert_int_equal(terms(allocate(), 0)->most, UNITS(16));
	assert_int_equal(terms(allocate(), 1)->most, UNITS(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_free_is_granted),
		TEST(test_a_gang_is_granted_whole_or_not_at_all),
		TEST(test_an_amount_is_not_a_place),
		TEST(test_places_are_those_of_the_template),
		TEST(test_a_qualifier_keeps_no_unit_from_its_place),
		TEST(test_parts_of_gpus_have_places),
		TEST(test_whole_nodes_are_released_first),
		TEST(test_work_comes_before_requests),
		TEST(test_a_request_waits_behind_work),
		TEST(test_workers_that_may_not_end),
		TEST(test_a_drain_keeps_its_deadline),
		TEST(test_a_drain_keeps_its_deadline_after_a_start),
		TEST(test_places_in_the_order_are_kept),
		TEST(test_places_after_a_restart),
		TEST(test_a_gang_keeps_its_place_without_its_parts),
		TEST(test_an_unused_grant_costs_the_place),
		TEST(test_a_cluster_of_kueue),
		TEST(test_protected_workers_end_for_a_guarantee),
		TEST(test_terms_have_the_limit_of_nodes_under_repair),
		TEST(test_a_group_draws_from_the_pool_of_its_nodes),
		TEST(test_a_pool_with_problems_changes_nothing),
		TEST(test_claimed_devices_are_of_a_pool),
		TEST(test_claims_use_up_the_devices_of_nodes),
		TEST(test_figures_of_queues),
		TEST(test_saved_for_a_gang),
		TEST(test_why_a_unit_waits),
		TEST(test_why_there_is_no_room),
		TEST(test_why_there_is_no_room_for_a_gang),
		TEST(test_why_a_unit_may_not_be_granted),
		TEST(test_the_most_that_a_ray_cluster_may_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
