/* GPUPools in the simulation: laws, the policies, the figures of queues. */
#include "feature/pools/core/gpu_pool.h"
#include "sim/simulate.h"

#include "test/support/support.h"

#include "test/support/sim_case.h"

#define GPU RESOURCE_UNIT
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define CASES 20

static const char *const team_names[] = { "one", "two", "three", "four", "five" };

/* A pool with a queue for each of the teams, whose namespaces have the label team. */
struct sharing_case {
	struct sim_case sim;
	struct gpu_pool pool;
	struct gpu_pool_queue queues[5];
	const struct gpu_pool *pools[1];
};

static void init_pool(struct sharing_case *c, int64_t gpus)
{
	sim_case_init(&c->sim);
	c->pool = (struct gpu_pool){
		.name = "all",
		.uid = "",
		.resource_version = "",
		.groups = { .accelerator_type = "", .resource_name = "" },
		.has_gpus = true,
		.gpus = gpus * GPU,
		.queues = c->queues,
		.idle_after_seconds = GPU_POOL_IDLE_AFTER_SECONDS_DEFAULT,
		.busy_after_seconds = GPU_POOL_NEVER,
		.reserve_after_seconds = GPU_POOL_RESERVE_AFTER_SECONDS_DEFAULT,
		.reserve_at_most_seconds = GPU_POOL_RESERVE_AT_MOST_SECONDS_DEFAULT,
	};
	c->pools[0] = &c->pool;
	c->sim.input.gpu_pools = c->pools;
	c->sim.input.gpu_pool_count = 1;
}

static struct labels team_labels(struct arena *arena, const char *team)
{
	struct label *label = ARENA_NEW(arena, struct label);

	*label = (struct label){ "team", team };
	return (struct labels){ label, 1 };
}

/* A RayCluster of its own queue and namespace. */
static struct ray_cluster *add_team(struct sharing_case *c, int64_t guaranteed, int64_t worker_gpus)
{
	size_t team = c->pool.queue_count++;
	struct worker_group group =
		sim_case_group(&c->sim, "gpu", 16 * worker_gpus, worker_gpus, 100);
	struct ray_cluster *cluster = sim_case_cluster(&c->sim, team_names[team], &group, 1);
	struct labels labels = team_labels(&c->sim.arena, team_names[team]);

	cluster->namespace_ = team_names[team];
	c->sim.clusters[team].namespace_labels = labels;
	c->queues[team] = (struct gpu_pool_queue){ .name = team_names[team],
						   .namespaces = { .match_labels = labels },
						   .guaranteed = guaranteed * GPU,
						   .weight = 1 };
	return cluster;
}

static struct work_item *add_work(struct sharing_case *c, size_t team, int64_t submit_ms,
				  int64_t duration_ms, int64_t count, size_t bundles)
{
	struct work_item *item = sim_case_add(&c->sim, submit_ms, duration_ms, count,
					      sim_case_bundles(&c->sim, GPU, GPU, bundles),
					      bundles);

	item->cluster = team_names[team];
	return item;
}

static struct sim_result *run(struct sharing_case *c)
{
	struct sim_result *result = sim_case_run(&c->sim);

	if (!result)
		fail_msg("%s", c->sim.err.text);
	return result;
}

static int64_t longest_wait(const struct sim_result *result, const char *cluster)
{
	int64_t longest = 0;

	for (size_t i = 0; i < result->wait_count; i++)
		if (strcmp(result->waits[i].item->cluster, cluster) == 0 &&
		    result->waits[i].wait_ms > longest)
			longest = result->waits[i].wait_ms;
	return longest;
}

/* The first team fills the pool with short tasks; the second one has a guarantee. */
static struct sim_result *run_guarantee(struct sharing_case *c, enum sim_policy policy)
{
	init_pool(c, 8);
	add_team(c, 0, 1);
	add_team(c, 4, 1);
	add_work(c, 0, 0, 60 * SECOND, 200, 1);
	add_work(c, 1, 10 * MINUTE, 60 * SECOND, 8, 1);
	c->sim.input.policy = policy;
	return run(c);
}

static void a_guarantee_is_met(void **state)
{
	struct sharing_case c;
	struct sim_result *result;

	(void)state;
	result = run_guarantee(&c, SIM_POLICY_FIRST_COME);
	assert_int_equal(result->finished, 208);
	int64_t wait_ms = longest_wait(result, "two"),
		below_ms = result->queues[1].below_guarantee_ms;
	assert_true(wait_ms > 10 * MINUTE);
	assert_true(below_ms > 10 * MINUTE);
	assert_int_equal(result->queues[0].below_guarantee_ms, 0);
	sim_case_done(&c.sim);

	result = run_guarantee(&c, SIM_POLICY_STATIC);
	assert_int_equal(result->finished, 208);
	assert_true(result->groups[0].peak_workers == 2); /* half of the 4 beside the guarantee */
	assert_int_equal(result->queues[1].below_guarantee_ms, 0);
	sim_case_done(&c.sim);
}

/* Busy workers of the first team are drained with a deadline: tasks of 60 s that end before it end
 * normally, and the others begin again elsewhere. */
static void busy_workers_are_drained(void **state)
{
	static const int64_t seconds[] = { 90, 20 };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(seconds); i++) {
		struct sharing_case c;
		struct sim_result *result;

		init_pool(&c, 8);
		add_team(&c, 0, 1);
		add_team(&c, 4, 1);
		c.pool.busy_after_seconds = seconds[i];
		add_work(&c, 0, 0, 60 * SECOND, 200, 1);
		add_work(&c, 1, 10 * MINUTE, 60 * SECOND, 8, 1);
		result = run(&c);
		assert_int_equal(result->finished, 208);
		assert_in_range(longest_wait(result, "two"), 25 * SECOND, 5 * MINUTE);
		assert_in_range(result->queues[1].below_guarantee_ms, SECOND,
				(seconds[i] + 5) * SECOND);
		assert_true((result->restarted > 0) == (seconds[i] < 60));
		assert_true((result->queues[0].lost > 0) == (seconds[i] < 60));
		assert_true(result->queues[1].lost == 0);
		sim_case_done(&c.sim);
	}
}

/* A task of 40 min is drained after 10 min, with a deadline of a minute, and begins again elsewhere. */
static struct sim_result *run_interrupted(struct sharing_case *c, int64_t checkpoint_ms)
{
	struct work_item *item;

	init_pool(c, 2);
	add_team(c, 0, 1);
	add_team(c, 1, 1);
	c->pool.busy_after_seconds = 60;
	item = add_work(c, 0, 0, 40 * MINUTE, 2, 1);
	item->checkpoints = checkpoint_ms >= 0;
	item->checkpoint_ms = checkpoint_ms;
	add_work(c, 1, 10 * MINUTE, MINUTE, 1, 1);
	return run(c);
}

static void interrupted_work_resumes_from_its_checkpoint(void **state)
{
	struct sharing_case c;
	struct sim_result *result = run_interrupted(&c, -1);
	int64_t whole_ms = result->makespan_ms, lost_ms;

	(void)state;
	assert_int_equal(result->restarted, 1);
	assert_in_range(result->queues[0].lost / GPU, 10 * MINUTE, 12 * MINUTE);
	sim_case_done(&c.sim);

	/* It keeps the time up to the drain, and loses that up to the deadline and the start. */
	for (int64_t cost_ms = 0; cost_ms <= 2 * MINUTE; cost_ms += MINUTE) {
		result = run_interrupted(&c, cost_ms);
		lost_ms = (int64_t)(result->queues[0].lost / GPU);
		assert_int_equal(result->restarted, 1);
		assert_int_equal(result->finished, 3);
		assert_in_range(lost_ms, MINUTE + cost_ms, MINUTE + cost_ms + 5 * SECOND);
		assert_in_range(whole_ms - result->makespan_ms, 9 * MINUTE - cost_ms,
				11 * MINUTE - cost_ms);
		sim_case_done(&c.sim);
	}
}

/* ---- laws ---- */

static uint64_t seed_of(size_t number)
{
	return UINT64_C(88172645463325252) + number * UINT64_C(0x9e3779b97f4a7c15);
}

/* Gangs share no worker: those that do are one unit, which may exceed the pool. */
static void init_random(struct sharing_case *c, size_t number, size_t teams)
{
	uint64_t random = seed_of(number);
	int64_t gpus = 8 + (int64_t)support_random_below(&random, 16), at_ms = 0;

	init_pool(c, gpus);
	for (size_t t = 0; t < teams; t++) {
		int64_t worker_gpus = 1 + (int64_t)support_random_below(&random, 2);

		add_team(c, (int64_t)support_random_below(&random, 4), worker_gpus);
	}
	for (size_t i = 0; i < 40; i++) {
		size_t bundles = support_random_below(&random, 3) > 0 ?
					 1 :
					 2 + 2 * support_random_below(&random, 4);
		int64_t count = 1 + (int64_t)support_random_below(&random, 4);
		int64_t duration_ms = 1 + (int64_t)support_random_below(&random, 200) * SECOND;

		add_work(c, support_random_below(&random, teams), at_ms, duration_ms, count,
			 bundles);
		at_ms += (int64_t)support_random_below(&random, 30) * SECOND;
	}
	c->sim.input.seed = number;
}

/* Also the largest gangs, which fit the pool. */
static void expect_all_ran(const struct sim_result *result, size_t number)
{
	if (result->unstarted_count > 0)
		fail_msg("case %zu: %lld of cluster %s never ran: %s", number,
			 (long long)result->unstarted[0].count, result->unstarted[0].item->cluster,
			 result->unstarted[0].message);
	assert_int_equal(result->started, result->finished);
}

/* Provisioned GPUs, counted at each event by another module, never exceed it. */
static void pools_are_never_exceeded_and_all_work_runs(void **state)
{
	static const enum sim_policy policies[] = { SIM_POLICY_RAYSCALER, SIM_POLICY_FIRST_COME };

	(void)state;
	for (size_t number = 0; number < CASES; number++)
		for (size_t p = 0; p < SUPPORT_COUNT(policies); p++) {
			struct sharing_case c;
			struct sim_result *result;

			init_random(&c, number, 2 + number % 3);
			c.sim.input.policy = policies[p];
			result = run(&c);
			if (result->peak_gpus > c.pool.gpus || result->pools[0].peak > c.pool.gpus)
				fail_msg("case %zu: %lld of %lld held", number,
					 (long long)result->peak_gpus, (long long)c.pool.gpus);
			if (policies[p] == SIM_POLICY_RAYSCALER)
				expect_all_ran(result, number);
			sim_case_done(&c.sim);
		}
}

/* GPUs of all work, times ms. */
static __int128 gpu_ms_of_work(const struct sharing_case *c)
{
	__int128 sum = 0;

	for (size_t i = 0; i < c->sim.items.count; i++) {
		const struct work_item *item = &c->sim.items.at[i];

		sum += (__int128)item->duration_ms * item->count * (int64_t)item->bundle_count *
		       GPU;
	}
	return sum;
}

/* The GPU time that queues used is that of the work and that of lost work, with and without checkpoints. */
static void no_work_is_lost_or_done_twice_without_a_count(void **state)
{
	int64_t restarted = 0;

	(void)state;
	for (size_t number = 0; number < CASES; number++) {
		struct sharing_case c;
		struct sim_result *result;
		__int128 rest = 0;

		init_random(&c, number, 2 + number % 3);
		c.pool.busy_after_seconds = (int64_t)number % 4 * 10;
		for (size_t i = 0; i < c.sim.items.count; i++) {
			c.sim.items.at[i].checkpoints = i % 3 > 0;
			c.sim.items.at[i].checkpoint_ms = (int64_t)(i % 3 - 1) * 7 * SECOND;
		}
		result = run(&c);
		expect_all_ran(result, number);
		for (size_t q = 0; q < result->queue_count; q++)
			rest += result->queues[q].used - result->queues[q].lost;
		if (rest != gpu_ms_of_work(&c))
			fail_msg("case %zu: %lld GPU-ms are missing", number,
				 (long long)((gpu_ms_of_work(&c) - rest) / GPU));
		restarted += result->restarted;
		sim_case_done(&c.sim);
	}
	assert_true(restarted > CASES / 2);
}

static uint64_t course(size_t number, bool pooled, int64_t *ret_decisions)
{
	struct sharing_case c;
	struct sim_result *result;
	uint64_t ret;

	init_random(&c, number, 1 + number % 2);
	c.pool.gpus = 1000 * GPU;
	c.pool.queue_count = 0; /* one queue, that of all other namespaces */
	if (!pooled)
		c.sim.input.gpu_pool_count = 0;
	result = run(&c);
	ret = result->course;
	*ret_decisions = result->decisions;
	sim_case_done(&c.sim);
	return ret;
}

static void without_contention_nothing_changes(void **state)
{
	int64_t with = 0, without = 0;

	(void)state;
	for (size_t number = 0; number < CASES; number++) {
		int64_t decisions;

		if (course(number, true, &decisions) != course(number, false, &without))
			fail_msg("case %zu: a pool with room for all changed the course", number);
		with += decisions;
	}
	print_message("%lld decisions with pools\n", (long long)with);
}

/* Two teams that always ask for more: after the start nothing is launched and released in turn. */
static void constant_asks_converge(void **state)
{
	struct sharing_case c;
	struct sim_result *result;

	(void)state;
	init_pool(&c, 8);
	add_team(&c, 2, 1);
	add_team(&c, 2, 1);
	for (size_t team = 0; team < 2; team++)
		add_work(&c, team, 0, 100 * MINUTE, 16, 1);
	c.sim.input.end_ms = 90 * MINUTE;
	result = run(&c);
	assert_int_equal(result->peak_gpus, 8 * GPU);
	assert_int_equal(result->started, 8);
	assert_int_equal(result->groups[0].workers_added + result->groups[1].workers_added, 8);
	assert_int_equal(result->groups[0].workers_removed + result->groups[1].workers_removed, 0);
	sim_case_done(&c.sim);
}

static void add_task(struct sharing_case *c, size_t team, int64_t submit_ms, int64_t duration_ms,
		     int64_t count, int64_t gpus)
{
	sim_case_add(&c->sim, submit_ms, duration_ms, count,
		     sim_case_bundles(&c->sim, GPU, gpus * GPU, 1), 1)
		->cluster = team_names[team];
}

/* Two Nodes with one free GPU each have no room for a worker of two, which then keeps them from nothing. */
static void a_unit_without_a_node_holds_nothing(void **state)
{
	struct node_pool pool = { .node = { .name = "gpu" }, .min_nodes = 2, .max_nodes = 2 };
	struct sharing_case c;

	(void)state;
	init_pool(&c, 8);
	pool.node.allocatable = sim_case_limits(&c.sim.arena, 200, 4);
	c.sim.input.models.pools = (struct node_pools){ &pool, 1 };
	add_team(&c, 0, 3);
	add_team(&c, 0, 2);
	add_team(&c, 0, 1);
	add_task(&c, 0, 0, HOUR, 2, 3);
	add_task(&c, 1, 5 * MINUTE, MINUTE, 1, 2);
	add_task(&c, 2, 6 * MINUTE, MINUTE, 2, 1);
	assert_in_range(longest_wait(run(&c), "three"), 0, 5 * MINUTE);
	sim_case_done(&c.sim);
}

#define FORGERS 4

/* Clusters that ask for gangs of the whole pool all the time. */
enum forgery {
	NO_FORGERS = 0,
	SHORT_GANGS, /* each runs for a second */
	STUCK_PODS,  /* their Pods never become ready */
};

static void never_start(struct sharing_case *c)
{
	static const int64_t never[] = { 24 * HOUR };
	struct pod_starts *starts = arena_array(&c->sim.arena, FORGERS, sizeof(*starts));

	for (size_t t = 0; t < FORGERS; t++)
		starts[t] = (struct pod_starts){ team_names[t + 1], "gpu", never, 1 };
	c->sim.input.models.group_starts = (struct pod_starts_list){ starts, FORGERS };
}

/* GPU-hours, times 10, of the work in 4 hours of a team without a guarantee, whose tasks of 4 minutes would use 5.7 of
 * 8 GPUs: 8 at once, or one after the other at random times. */
static int64_t honest_work(enum forgery forgery, bool at_once)
{
	uint64_t random = seed_of(at_once);
	struct sharing_case c;
	struct sim_result *result;
	int64_t ret;

	init_pool(&c, 8);
	for (size_t t = 0; t <= FORGERS; t++)
		add_team(&c, 0, 1);
	for (int64_t at_ms = 0; at_ms < 4 * HOUR; at_ms += SECOND) {
		if (at_once ? at_ms % (336 * SECOND) == 0 : support_random_below(&random, 42) == 0)
			add_work(&c, 0, at_ms, 4 * MINUTE, at_once ? 8 : 1, 1);
		for (size_t t = 1; t <= FORGERS && forgery != NO_FORGERS; t++)
			if (at_ms % (5 * MINUTE) == 0)
				add_work(&c, t, at_ms, SECOND, 1, 8);
	}
	if (forgery == STUCK_PODS)
		never_start(&c);
	c.sim.input.end_ms = 4 * HOUR;
	result = run(&c);
	ret = (int64_t)((result->queues[0].used - result->queues[0].lost) / GPU * 10 / HOUR);
	sim_case_done(&c.sim);
	return ret;
}

/* It loses at most a tenth. */
static void forged_gangs_cost_an_honest_team_little(void **state)
{
	(void)state;
	for (int at_once = 0; at_once < 2; at_once++) {
		int64_t alone = honest_work(NO_FORGERS, at_once);

		for (int forgery = SHORT_GANGS; forgery <= STUCK_PODS; forgery++) {
			int64_t beside = honest_work((enum forgery)forgery, at_once);

			print_message("%lld of %lld GPU-hours / 10\n", (long long)beside,
				      (long long)alone);
			assert_true(beside * 10 >= alone * 9);
		}
	}
}

/* A tenant may set the label; only a Workload of Kueue makes a RayCluster one of Kueue's, and a simulation has none. */
static void the_label_of_kueue_is_no_way_out(void **state)
{
	static const struct label label = { KUEUE_LABEL_QUEUE, "any" };
	struct sharing_case c;
	const struct sim_result *result;

	(void)state;
	init_pool(&c, 8);
	c.pool.kueue_outside = true;
	add_team(&c, 0, 1)->labels = (struct labels){ &label, 1 };
	c.queues[0].has_maximum = true;
	c.queues[0].maximum = 2 * GPU;
	add_work(&c, 0, 0, 60 * SECOND, 40, 1);
	result = run(&c);
	assert_true(longest_wait(result, "one") > 15 * MINUTE);
	sim_case_done(&c.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guarantee_is_met),
		cmocka_unit_test(busy_workers_are_drained),
		cmocka_unit_test(interrupted_work_resumes_from_its_checkpoint),
		cmocka_unit_test(no_work_is_lost_or_done_twice_without_a_count),
		cmocka_unit_test(constant_asks_converge),
		cmocka_unit_test(a_unit_without_a_node_holds_nothing),
		cmocka_unit_test(forged_gangs_cost_an_honest_team_little),
		cmocka_unit_test(the_label_of_kueue_is_no_way_out),
		cmocka_unit_test(without_contention_nothing_changes),
		cmocka_unit_test(pools_are_never_exceeded_and_all_work_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
