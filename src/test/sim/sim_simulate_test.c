#include "sim/simulate.h"

#include "core/model/cpu_budget.h"
#include "feature/idle_termination/model/idle_termination.h"

#include "test/support/support.h"

#include "test/support/sim_case.h"

#define GPU RESOURCE_UNIT
#define SECOND INT64_C(1000)
#define LOAD_GANGS 400
#define UNITS 200 /* of work between two questions */

static struct cpu_budget sim_budget;

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
	/* 0.5 s until the report, up to 1 s until the pass, operator 0.2 s, start 20 s,
	 * registration 5 s. */
	assert_in_range(result->waits[0].wait_ms, 25700, 26700);
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

/* The head and a worker of minReplicas end when nothing used the cluster for the time; the next
 * submission resumes it, and the worker waits for the head. */
static void idle_cluster_is_suspended(void **state)
{
	static const struct idle_termination idle = { .after_seconds = 600, .action = "Suspend" };
	static const struct autoscaler_object autoscaler = { .upscaling_mode = "",
							     .idle_termination = &idle };
	struct sim_case c;
	struct worker_group group;
	struct sim_result *result;

	(void)state;
	sim_case_init(&c);
	group = sim_case_group(&c, "gpu", 16, 8, 4);
	group.min_replicas = group.replicas = 1;
	sim_case_cluster(&c, "demo", &group, 1);
	sim_case_add(&c, 10 * SECOND, 90 * SECOND, 1, sim_case_bundles(&c, GPU, GPU, 1), 1);
	sim_case_add(&c, 7000 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, GPU, GPU, 1), 1);
	c.input.end_ms = 10000 * SECOND;
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_true(result->groups[0].provisioned == (__int128)8 * GPU * 10000 * SECOND);
	assert_int_equal(result->head_ms, 10000 * SECOND);
	assert_int_equal(result->suspensions, 0);

	c.clusters[0].autoscaler = &autoscaler;
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_int_equal(result->suspensions, 2);
	assert_int_equal(result->finished, 2);
	assert_int_equal(result->waits[0].wait_ms, 0);
	/* The head's 25 s, then the worker's raylet: its Pod waited for the head. */
	assert_in_range(result->waits[1].wait_ms, 30 * SECOND, 31 * SECOND);
	/* From 0 to 700 s, from 7,000 s to the task's end and 600 s more; each ends in 2 s. */
	assert_in_range(result->head_ms, 1430 * SECOND, 1445 * SECOND);
	assert_in_range((int64_t)(result->groups[0].provisioned / (8 * GPU)), 1430 * SECOND,
			1445 * SECOND);

	/* Ray's autoscaler has no such object, and a user's suspension is left alone. */
	c.input.policy = SIM_POLICY_RAY_AUTOSCALER;
	assert_int_equal(sim_case_run(&c)->suspensions, 0);
	sim_case_done(&c);
}

/* A head with GPUs counts as a group of its own while it has a Node, as in the metering. */
static void head_with_gpus_counts(void **state)
{
	static const struct idle_termination idle = { .after_seconds = 600, .action = "Suspend" };
	static const struct autoscaler_object autoscaler = { .upscaling_mode = "",
							     .idle_termination = &idle };
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_one_group(&c, 8, 4);
	((struct ray_cluster *)c.clusters[0].cluster)->head_template =
		sim_case_template(&c.arena, 2, 2);
	sim_case_add(&c, 10 * SECOND, 90 * SECOND, 1, sim_case_bundles(&c, 0, 2 * GPU, 1), 1);
	c.input.end_ms = 10000 * SECOND;
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_int_equal(result->group_count, 2);
	assert_string_equal(result->groups[1].name, "headgroup");
	assert_true(result->groups[1].provisioned == (__int128)2 * GPU * 10000 * SECOND);
	assert_true(result->groups[1].used == (__int128)2 * GPU * 90 * SECOND);
	assert_true(result->groups[0].provisioned == 0);
	assert_int_equal(result->peak_gpus, 2 * GPU);

	c.clusters[0].autoscaler = &autoscaler;
	result = sim_case_run(&c);
	assert_non_null(result);
	assert_int_equal(result->suspensions, 1);
	assert_in_range((int64_t)(result->groups[1].provisioned / (2 * GPU)), 700 * SECOND,
			705 * SECOND);
	assert_true(result->groups[1].worker_ms == result->head_ms);
	sim_case_done(&c);
}

/* A schedule keeps the cluster within its window, and resumes it when the next one begins. */
static void schedule_resumes(void **state)
{
	static const struct idle_termination idle = { .after_seconds = 600, .action = "Suspend" };
	struct sim_case c;
	struct worker_group group;
	struct sim_result *result;
	struct autoscaler_schedule_group minimum = { .name = "gpu", .min_replicas = 2 };
	struct autoscaler_schedule schedule = { .name = "two",
						.time_zone = "",
						.start = "0 2 * * *",
						.duration = "1h",
						.cron = { .minutes = 1,
							  .hours = 1 << 2,
							  .days = UINT32_MAX - 1,
							  .months = 0x1ffe,
							  .weekdays = 0x7f },
						.duration_ms = 3600 * SECOND,
						.groups = &minimum,
						.group_count = 1 };
	struct autoscaler_object autoscaler = { .upscaling_mode = "",
						.idle_termination = &idle,
						.schedules = &schedule,
						.schedule_count = 1 };

	(void)state;
	sim_case_init(&c);
	group = sim_case_group(&c, "gpu", 16, 8, 4);
	sim_case_cluster(&c, "demo", &group, 1);
	c.clusters[0].autoscaler = &autoscaler;
	c.input.end_ms = 6 * 3600 * SECOND;
	result = sim_case_run(&c);
	assert_non_null(result);
	/* At 0:10 and at 3:10 + the idle timeout of the workers. */
	assert_int_equal(result->suspensions, 2);
	assert_int_equal(result->peak_gpus, 16 * GPU);
	assert_in_range(result->head_ms, (600 + 4200) * SECOND, (600 + 4400) * SECOND);
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

/* Of one group: from the creation of the Pod to the registered raylet, instead of both defaults. The
 * Pods take them in their order. */
static void recorded_starts_of_a_group(void **state)
{
	static const int64_t ms[] = { 3 * SECOND, 9 * SECOND }, slow[] = { 40 * SECOND };
	const struct pod_starts starts[] = { { "other", "gpu", slow, 1 },
					     { "demo", "gpu", ms, 2 } };
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_one_group(&c, 1, 200);
	c.input.models.group_starts = (struct pod_starts_list){ starts, 2 };
	for (size_t i = 0; i < 6; i++)
		sim_case_add(&c, (int64_t)i * 20 * SECOND, 1000 * SECOND, 1,
			     sim_case_bundles(&c, GPU, GPU, 1), 1);
	result = sim_case_run(&c);
	assert_int_equal(result->wait_count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_in_range(result->waits[i].wait_ms, (3 + 6 * (i % 2)) * SECOND,
				(5 + 6 * (i % 2)) * SECOND);
	c.input.models.group_starts.count = 1;
	result = sim_case_run(&c);
	assert_in_range(result->waits[0].wait_ms, 25 * SECOND, 30 * SECOND);
	sim_case_done(&c);
}

/* The GCS asks for pending tasks at half seconds, and knows placement groups by itself. The passes are
 * at 1 s, 2 s and so on, and a worker is ready 25.2 s after its pass. */
static void tasks_are_seen_when_the_gcs_asks(void **state)
{
	static const struct {
		int64_t submit_ms, pass_ms;
		size_t bundles;
	} cases[] = { { 0, 1000, 1 },   { 500, 1000, 1 },  { 501, 2000, 1 },
		      { 501, 1000, 2 }, { 1400, 2000, 1 }, { 1600, 3000, 1 } };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct sim_case c;
		struct sim_result *result;

		init_one_group(&c, 8, 4);
		sim_case_add(&c, cases[i].submit_ms, 100 * SECOND, 1,
			     sim_case_bundles(&c, 0, GPU, cases[i].bundles), cases[i].bundles);
		result = sim_case_run(&c);
		assert_non_null(result);
		assert_int_equal(result->wait_count, 1);
		assert_int_equal(result->waits[0].wait_ms,
				 cases[i].pass_ms - cases[i].submit_ms + 25200);
		sim_case_done(&c);
	}
}

/* A placement group waits for four of six workers while two of them are idle: the wait does not depend
 * on the idle timeout, because the two stay for it. */
static void gang_keeps_idle_workers(void **state)
{
	int64_t waits[2], scale_downs[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sim_case c;
		struct sim_result *result;

		init_one_group(&c, 1, 6);
		c.settings.idle_timeout_seconds = i == 0 ? 10 : 60;
		sim_case_add(&c, 0, 60 * SECOND, 4, sim_case_bundles(&c, 0, GPU, 1), 1);
		sim_case_add(&c, 0, 10 * SECOND, 2, sim_case_bundles(&c, 0, GPU, 1), 1);
		sim_case_add(&c, 30 * SECOND, 10 * SECOND, 1, sim_case_bundles(&c, 0, GPU, 6), 6);
		result = sim_case_run(&c);
		assert_non_null(result);
		assert_int_equal(result->finished, 7);
		waits[i] = result->waits[result->wait_count - 1].wait_ms;
		scale_downs[i] = result->groups[0].scale_downs;
		sim_case_done(&c);
	}
	assert_int_equal(waits[0], waits[1]);
	assert_int_equal(scale_downs[0], 1);
	assert_int_equal(scale_downs[1], 1);
}

struct watch {
	int64_t asked, allowed, most;
};

static enum cpu_spent spent(void *context)
{
	struct watch *watch = context;
	bool placing = sim_budget.placing;

	watch->asked = placing ? watch->asked + 1 : 0;
	watch->most = watch->asked > watch->most ? watch->asked : watch->most;
	return watch->asked > watch->allowed ? CPU_CUT : CPU_LEFT;
}

/* As ctl/pass does: an end in any case, and all in proportion to the factor. */
static enum cpu_spent spent_and_stop(void *context)
{
	struct watch *watch = context;

	if (spent(context) == CPU_LEFT || watch->asked <= watch->allowed * sim_budget.factor)
		return CPU_LEFT;
	return watch->asked > 3 * watch->allowed * sim_budget.factor ? CPU_STOP : CPU_CUT;
}

/* Placement groups of 4 nodes each, which need 100 times as much as a decision may use: the cluster grows
 * to the same size in more decisions, and shrinks afterwards. */
static void load_above_the_budget(void **state)
{
	struct watch watch = { .allowed = INT64_MAX };
	struct sim_case c;
	struct sim_result *whole, *part;
	int64_t peak, decisions;

	(void)state;
	init_one_group(&c, 8, 4 * LOAD_GANGS);
	for (int64_t i = 0; i < LOAD_GANGS; i++)
		sim_case_add(&c, 10 * SECOND, 20000 * SECOND, 1,
			     sim_case_bundles(&c, (1 + i % 16) * GPU, 8 * GPU, 4), 4);
	sim_budget = (struct cpu_budget){ .spent = spent, .context = &watch, .units = UNITS };
	c.input.cpu_budget = &sim_budget;
	c.input.models.scan_interval_ms = 30 * SECOND;
	whole = sim_case_run(&c);
	assert_non_null(whole);
	assert_int_equal(whole->finished, LOAD_GANGS);
	peak = whole->peak_gpus;
	decisions = whole->decisions;
	watch.allowed = watch.most / 100;
	assert_true(watch.allowed > 0);
	part = sim_case_run(&c);
	assert_non_null(part);
	assert_int_equal(part->finished, LOAD_GANGS);
	assert_int_equal(part->peak_gpus, peak);
	assert_true(part->decisions > decisions);
	assert_int_equal(part->groups[0].workers_removed, part->groups[0].workers_added);
	sim_case_done(&c);
}

/* One placement group needs four times what a decision may use: it is placed nevertheless, and what waits
 * behind it. */
static void group_above_the_budget(void **state)
{
	struct watch watch = { .allowed = INT64_MAX };
	struct sim_case c;
	struct sim_result *whole, *part;

	(void)state;
	init_one_group(&c, 8, LOAD_GANGS + 1);
	sim_case_add(&c, 10 * SECOND, 20000 * SECOND, 1,
		     sim_case_bundles(&c, GPU, 8 * GPU, LOAD_GANGS), LOAD_GANGS);
	sim_case_add(&c, 10 * SECOND, 20000 * SECOND, 1, sim_case_bundles(&c, GPU, GPU, 1), 1);
	sim_budget = (struct cpu_budget){ .spent = spent, .context = &watch, .units = UNITS };
	c.input.cpu_budget = &sim_budget;
	c.input.models.scan_interval_ms = 30 * SECOND;
	whole = sim_case_run(&c);
	assert_non_null(whole);
	assert_int_equal(whole->finished, 2);
	watch.allowed = watch.most / 4;
	assert_true(watch.allowed > 0);
	part = sim_case_run(&c);
	assert_non_null(part);
	assert_int_equal(part->finished, 2);
	assert_int_equal(part->peak_gpus, whole->peak_gpus);
	sim_case_done(&c);
}

/* Two placement groups, each of which needs ten times what a decision may use, on their own or under a
 * search for what is cheapest: the budget grows until the first is placed, and then the second. */
static void expect_growth(enum settings_packing packing)
{
	struct watch watch = { .allowed = INT64_MAX };
	struct sim_case c;
	struct sim_result *whole, *part;
	int64_t decisions;

	init_one_group(&c, 8, 2 * LOAD_GANGS);
	c.settings.packing = packing;
	for (int64_t i = 1; i <= 2; i++)
		sim_case_add(&c, 10 * SECOND, 20000 * SECOND, 1,
			     sim_case_bundles(&c, i * GPU, 8 * GPU, LOAD_GANGS), LOAD_GANGS);
	sim_budget =
		(struct cpu_budget){ .spent = spent_and_stop, .context = &watch, .units = UNITS };
	c.input.cpu_budget = &sim_budget;
	c.input.models.scan_interval_ms = 30 * SECOND;
	whole = sim_case_run(&c);
	assert_non_null(whole);
	assert_int_equal(whole->finished, 2);
	decisions = whole->decisions;
	watch.allowed = watch.most / 20;
	assert_true(watch.allowed > 0);
	part = sim_case_run(&c);
	assert_non_null(part);
	assert_int_equal(part->finished, 2);
	assert_int_equal(part->peak_gpus, whole->peak_gpus);
	assert_in_range(part->decisions, decisions + 2, decisions + 20);
	sim_case_done(&c);
}

static void groups_far_above_the_budget(void **state)
{
	(void)state;
	expect_growth(PACKING_RAY);
}

static void groups_far_above_the_budget_of_a_search(void **state)
{
	(void)state;
	expect_growth(PACKING_CHEAPEST);
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
		cmocka_unit_test(idle_cluster_is_suspended),
		cmocka_unit_test(head_with_gpus_counts),
		cmocka_unit_test(schedule_resumes),
		cmocka_unit_test(task_that_fits_nowhere),
		cmocka_unit_test(recorded_starts_of_a_group),
		cmocka_unit_test(tasks_are_seen_when_the_gcs_asks),
		cmocka_unit_test(gang_keeps_idle_workers),
		cmocka_unit_test(load_above_the_budget),
		cmocka_unit_test(group_above_the_budget),
		cmocka_unit_test(groups_far_above_the_budget),
		cmocka_unit_test(groups_far_above_the_budget_of_a_search),
		cmocka_unit_test(names_of_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
