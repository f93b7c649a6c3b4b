#include "sim/simulate.h"

#include "test/support/support.h"

#include "test/support/sim_case.h"

#define GPU RESOURCE_UNIT
#define SECOND INT64_C(1000)

static void init_one_group(struct sim_case *c, int64_t gpus, int64_t max)
{
	struct worker_group group;

	sim_case_init(c);
	group = sim_case_group(c, "gpu", 16, gpus, max);
	sim_case_cluster(c, "demo", &group, 1);
}

/* One task on an empty cluster: a worker starts for it, and is terminated after the idle timeout. */
static void one_task(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_one_group(&c, 8, 4);
	sim_case_add(&c, 10 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, GPU, GPU, 1), 1);
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_int_equal(result->started, 1);
	assert_int_equal(result->finished, 1);
	assert_int_equal(result->unstarted_count, 0);
	assert_int_equal(result->wait_count, 1);
	/* 0 to 1 s until the pass, operator 0.2 s, start 20 s, registration 5 s. */
	assert_in_range(result->waits[0].wait_ms, 25200, 26200);
	assert_int_equal(result->makespan_ms, 10000 + result->waits[0].wait_ms + 100000);
	assert_int_equal(result->peak_gpus, 8 * GPU);
	const struct sim_group *group = &result->groups[0];

	assert_true(group->used == (__int128)GPU * 100000);
	assert_true(group->starting == (__int128)8 * GPU * 25000);
	assert_true(group->terminating == (__int128)8 * GPU * 2000);
	/* While it works, 7 of its GPUs are idle; then all, for 60 s and up to a pass more. */
	assert_true(group->idle >= (__int128)GPU * (7 * 100000 + 8 * 60000));
	assert_true(group->idle <= (__int128)GPU * (7 * 100000 + 8 * 62500));
	assert_int_equal(group->scale_ups, 1);
	assert_int_equal(group->scale_downs, 1);
	sim_case_done(&c);
}

/* A warm worker is there when the task arrives, and another one takes its place although no demand
 * is ever pending. */
static void warm_worker_is_replaced(void **state)
{
	static const struct autoscaler_warm warm = { .group = "gpu", .count = 1 };
	static const struct autoscaler_object autoscaler = { .upscaling_mode = "",
							     .warm_workers = &warm,
							     .warm_count = 1 };
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_one_group(&c, 8, 4);
	c.clusters[0].autoscaler = &autoscaler;
	sim_case_add(&c, 300 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, GPU, 8 * GPU, 1), 1);
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_int_equal(result->waits[0].wait_ms, 0);
	assert_int_equal(result->peak_gpus, 16 * GPU);
	assert_int_equal(result->groups[0].scale_ups, 2);
	sim_case_done(&c);
}

/* A task that needs more than any worker never runs, and the last plan says why. */
static void task_that_fits_nowhere(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_one_group(&c, 8, 4);
	sim_case_add(&c, 0, SECOND, 2, sim_case_bundles(&c, GPU, 16 * GPU, 1), 1);
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_int_equal(result->started, 0);
	assert_int_equal(result->unstarted_count, 1);
	assert_int_equal(result->unstarted[0].count, 2);
	assert_string_equal(result->unstarted[0].reason, "NoGroupFits");
	assert_true(result->groups[0].provisioned == 0);
	sim_case_done(&c);
}

/* Of one group: from the creation of the Pod to the registered raylet, instead of both defaults. */
static void recorded_starts_of_a_group(void **state)
{
	static const int64_t ms[] = { 3 * SECOND }, slow[] = { 40 * SECOND };
	const struct pod_starts starts[] = { { "other", "gpu", slow, 1 },
					     { "demo", "gpu", ms, 1 } };
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_one_group(&c, 1, 200);
	c.input.models.group_starts = (struct pod_starts_list){ starts, 2 };
	sim_case_add(&c, 0, 1000 * SECOND, 1, sim_case_bundles(&c, GPU, GPU, 1), 1);
	result = sim_case_run(&c);
	assert_in_range(result->waits[0].wait_ms, 3 * SECOND, 6 * SECOND);
	c.input.models.group_starts.count = 1;
	result = sim_case_run(&c);
	assert_in_range(result->waits[0].wait_ms, 25 * SECOND, 30 * SECOND);
	sim_case_done(&c);
}

static void names_of_policies(void **state)
{
	(void)state;
	assert_string_equal(sim_policy_name(SIM_POLICY_RAYSCALER), "rayscaler");
	assert_string_equal(sim_policy_name(SIM_POLICY_ALWAYS_ON), "always-on");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_task),
		cmocka_unit_test(warm_worker_is_replaced),
		cmocka_unit_test(task_that_fits_nowhere),
		cmocka_unit_test(recorded_starts_of_a_group),
		cmocka_unit_test(names_of_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
