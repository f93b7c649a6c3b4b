/* The snapshot that a pass decides on: answers of drains, requests of autoscaler v1, memory. */
#include <string.h>

#include "base/memory.h"
#include "ctl/pass/act.h"
#include "ctl/pass/observe.h"
#include "test/support/support.h"

static const struct resource one_gpu[] = { { "CPU", RESOURCE_UNIT }, { "GPU", RESOURCE_UNIT } };
static const struct resource used_gpu[] = { { "CPU", RESOURCE_UNIT }, { "GPU", 0 } };

struct fixture {
	struct arena arena;
	struct ray_cluster cluster;
	struct pod pod;
	const struct pod *pods[1];
	struct ray_node nodes[2];
	struct ray_state state;
	struct observation observation;
	struct snapshot snapshot;
};

static struct ray_node idle_node(const char *id)
{
	return (struct ray_node){ .id = id,
				  .instance_id = "worker",
				  .type_name = "gpu",
				  .total = { one_gpu, 2 },
				  .available = { used_gpu, 2 },
				  .status = RAY_NODE_IDLE,
				  .idle_duration_ms = 61000,
				  .ip_address = "" };
}

static int setup(void **state)
{
	struct fixture *fixture = memory_alloc(sizeof(*fixture));

	fixture->cluster = (struct ray_cluster){ .namespace_ = "ray", .name = "demo" };
	fixture->pod = (struct pod){ .name = "worker" };
	fixture->pods[0] = &fixture->pod;
	fixture->nodes[0] = idle_node("aa");
	fixture->nodes[1] = idle_node("bb");
	fixture->state = (struct ray_state){ .nodes = fixture->nodes, .node_count = 2 };
	fixture->observation = (struct observation){
		.cluster = &fixture->cluster,
		.snapshot = { .now = 1000,
			      .pods = fixture->pods,
			      .pod_count = 1,
			      .ray_state = &fixture->state,
			      .ray_state_time = 900 },
	};
	settings_init(&fixture->observation.snapshot.settings);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	arena_done(&fixture->arena);
	memory_free(fixture);
	return 0;
}

static void run(struct fixture *fixture)
{
	observe(&fixture->observation, &fixture->arena, &fixture->snapshot);
}

static void test_plain(void **state)
{
	struct fixture *fixture = *state;

	run(fixture);
	assert_int_equal(fixture->snapshot.now, 1000);
	assert_int_equal(fixture->snapshot.pod_count, 1);
	assert_string_equal(fixture->snapshot.pods[0]->name, "worker");
	assert_int_equal(fixture->snapshot.ray_state->node_count, 2);
	assert_int_equal(fixture->snapshot.ray_state_time, 900);
	assert_null(fixture->snapshot.memory);
}

static void test_unreachable(void **state)
{
	struct fixture *fixture = *state;

	fixture->observation.snapshot.ray_state = NULL;
	fixture->observation.snapshot.ray_problem = "connection refused";
	run(fixture);
	assert_null(fixture->snapshot.ray_state);
	assert_string_equal(fixture->snapshot.ray_problem, "connection refused");
}

static void test_accepted_drain_shows_as_draining_and_unused(void **state)
{
	static const struct drain_answer answers[] = { { "bb", true, false } };
	struct fixture *fixture = *state;
	const struct ray_node *nodes;

	fixture->observation.drains = answers;
	fixture->observation.drain_count = 1;
	run(fixture);
	nodes = fixture->snapshot.ray_state->nodes;
	assert_int_equal(nodes[0].status, RAY_NODE_IDLE);
	assert_int_equal(nodes[1].status, RAY_NODE_DRAINING);
	assert_true(ray_node_is_unused(&nodes[1]));
	/* The reply itself is untouched. */
	assert_int_equal(fixture->nodes[1].status, RAY_NODE_IDLE);
}

/* Ray accepts it whatever runs: the worker may be in use since the reply. */
static void test_accepted_drain_with_a_deadline_shows_as_in_use(void **state)
{
	static const struct drain_answer answers[] = { { "bb", true, true } };
	struct fixture *fixture = *state;
	const struct ray_node *nodes;

	fixture->observation.drains = answers;
	fixture->observation.drain_count = 1;
	run(fixture);
	nodes = fixture->snapshot.ray_state->nodes;
	assert_int_equal(nodes[1].status, RAY_NODE_DRAINING);
	assert_false(ray_node_is_unused(&nodes[1]));
}

static void test_rejected_drain_shows_as_busy(void **state)
{
	static const struct drain_answer answers[] = { { "aa", false, false } };
	struct fixture *fixture = *state;
	const struct ray_node *nodes;

	fixture->observation.drains = answers;
	fixture->observation.drain_count = 1;
	run(fixture);
	nodes = fixture->snapshot.ray_state->nodes;
	assert_int_equal(nodes[0].status, RAY_NODE_RUNNING);
	assert_int_equal(nodes[0].idle_duration_ms, 0);
	assert_false(ray_node_is_unused(&nodes[0]));
}

static void test_kv_requests_stand_in_for_a_constraint(void **state)
{
	static const struct bundle_entry bundle[] = { { "GPU", 1.0, RESOURCE_UNIT } };
	static const struct ray_request_count requests[] = {
		{ { .bundle = bundle, .bundle_count = 1 }, 2 }
	};
	static const struct ray_constraint kv = { requests, 1 }, own = { NULL, 0 };
	struct fixture *fixture = *state;

	fixture->observation.kv_requests = &kv;
	run(fixture);
	assert_int_equal(fixture->snapshot.ray_state->constraint_count, 1);
	assert_int_equal(fixture->snapshot.ray_state->constraints[0].requests[0].count, 2);
	/* The constraint of the GCS is used: it is the newer mechanism. */
	fixture->state.constraints = &own;
	fixture->state.constraint_count = 1;
	run(fixture);
	assert_int_equal(fixture->snapshot.ray_state->constraints[0].count, 0);
}

/* The memory of a plan is in the next snapshot. */
static void test_memory_of_a_plan_is_in_the_next_snapshot(void **state)
{
	struct fixture *fixture = *state;
	struct plan plan = { 0 };

	VEC_PUSH(&fixture->arena, &plan.memory.backoffs,
		 ((struct memory_backoff){ .group = "gpu",
					   .until = 2000,
					   .seconds = 10,
					   .cause = REASON_NO_NODE,
					   .message = "fits nowhere" }));
	fixture->observation.snapshot.memory = memory_state_copy(&plan.memory, &fixture->arena);
	run(fixture);
	assert_non_null(fixture->snapshot.memory);
	assert_int_equal(fixture->snapshot.memory->backoffs.count, 1);
	assert_string_equal(fixture->snapshot.memory->backoffs.at[0].group, "gpu");
	assert_int_equal(fixture->snapshot.memory->backoffs.at[0].until, 2000);
}

static void test_device_table(void **state)
{
	static const struct device_table other = { .count = 0 };
	struct fixture *fixture = *state;

	observe(&fixture->observation, &fixture->arena, &fixture->snapshot);
	assert_ptr_equal(fixture->snapshot.device_table, device_table_builtin());
	fixture->observation.snapshot.device_table = &other;
	observe(&fixture->observation, &fixture->arena, &fixture->snapshot);
	assert_ptr_equal(fixture->snapshot.device_table, &other);
}

/* Live objects have uids: without any owner reference at all a Pod is foreign. */
static void test_pods_without_an_owner_are_foreign(void **state)
{
	static const struct label labels[] = { { LABEL_CLUSTER, "demo" },
					       { LABEL_NODE_TYPE, "worker" } };
	static const struct pod_owner owner = { "ray.io/v1", "RayCluster", "demo", "u-1" };
	struct fixture *fixture = *state;

	fixture->cluster.uid = "u-1";
	fixture->pod.labels = (struct labels){ labels, 2 };
	observe(&fixture->observation, &fixture->arena, &fixture->snapshot);
	assert_int_equal(fixture->snapshot.pod_count, 0);
	assert_int_equal(fixture->snapshot.foreign_pod_count, 1);
	assert_string_equal(fixture->snapshot.foreign_pods[0]->name, "worker");
	fixture->pod.owner = &owner;
	observe(&fixture->observation, &fixture->arena, &fixture->snapshot);
	assert_int_equal(fixture->snapshot.pod_count, 1);
	assert_int_equal(fixture->snapshot.foreign_pod_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_accepted_drain_shows_as_draining_and_unused,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_accepted_drain_with_a_deadline_shows_as_in_use,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_rejected_drain_shows_as_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kv_requests_stand_in_for_a_constraint, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_memory_of_a_plan_is_in_the_next_snapshot,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pods_without_an_owner_are_foreign, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
