/* The models one by one: placement, Pod start, stock of Nodes, spot, requests, baselines. */
#include "sim/simulate.h"

#include "test/support/support.h"

#include "test/support/sim_case.h"

#define GPU RESOURCE_UNIT
#define SECOND INT64_C(1000)

/* One group of GPU workers, of which `replicas` exist. */
static void init_group(struct sim_case *c, int64_t gpus, int64_t replicas, int64_t max)
{
	struct worker_group group;

	sim_case_init(c);
	group = sim_case_group(c, "gpu", 16, gpus, max);
	group.replicas = replicas;
	sim_case_cluster(c, "demo", &group, 1);
}

static struct sim_result *run(struct sim_case *c)
{
	struct sim_result *result = sim_case_run(c);

	if (!result)
		fail_msg("%s", c->err.text);
	return result;
}

static void add_gang(struct sim_case *c, enum placement_strategy strategy, int64_t gpus,
		     size_t bundles)
{
	sim_case_add(c, 0, 100 * SECOND, 1, sim_case_bundles(c, GPU, gpus, bundles), bundles)
		->strategy = strategy;
}

/* ---- placement ---- */

/* 3 x 0.6 are less than 2 GPUs, but each GPU has room for one of them. */
static void fractions_share_single_devices(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 2, 1, 1);
	sim_case_add(&c, 0, 100 * SECOND, 3, sim_case_bundles(&c, GPU, 6000, 1), 1);
	result = run(&c);
	assert_int_equal(result->wait_count, 2);
	assert_int_equal(result->waits[0].count, 2);
	assert_int_equal(result->waits[0].wait_ms, 0);
	assert_int_equal(result->waits[1].wait_ms, 100 * SECOND);
	sim_case_done(&c);
}

static void strict_spread_needs_a_worker_each(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 8, 0, 3);
	add_gang(&c, PLACEMENT_STRICT_SPREAD, GPU, 3);
	result = run(&c);
	assert_int_equal(result->finished, 1);
	assert_int_equal(result->groups[0].peak_workers, 3);
	sim_case_done(&c);

	init_group(&c, 8, 2, 2);
	add_gang(&c, PLACEMENT_STRICT_SPREAD, GPU, 3);
	result = run(&c);
	assert_int_equal(result->unstarted_count, 1);
	assert_string_not_equal(result->unstarted[0].message, "");
	sim_case_done(&c);
}

static void strict_pack_needs_one_worker(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 8, 0, 3);
	add_gang(&c, PLACEMENT_STRICT_PACK, 4 * GPU, 2);
	result = run(&c);
	assert_int_equal(result->finished, 1);
	assert_int_equal(result->groups[0].peak_workers, 1);
	sim_case_done(&c);

	init_group(&c, 4, 0, 3);
	add_gang(&c, PLACEMENT_STRICT_PACK, 4 * GPU, 2);
	assert_int_equal(run(&c)->started, 0);
	sim_case_done(&c);
}

/* On two empty workers PACK uses one and SPREAD both: the other one is terminated for idleness while
 * the group runs. */
static void pack_and_spread(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	for (int spread = 0; spread < 2; spread++) {
		init_group(&c, 8, 2, 2);
		add_gang(&c, spread ? PLACEMENT_SPREAD : PLACEMENT_PACK, GPU, 2);
		result = run(&c);
		assert_int_equal(result->waits[0].wait_ms, 0);
		assert_int_equal(result->groups[0].scale_downs, spread ? 1 : 2);
		sim_case_done(&c);
	}
}

/* The GPU worker stays idle, and is terminated, while tasks without GPUs run on the other one. */
static void work_without_gpus_avoids_gpu_workers(void **state)
{
	struct sim_case c;
	struct worker_group groups[2];
	struct sim_result *result;

	(void)state;
	sim_case_init(&c);
	groups[0] = sim_case_group(&c, "gpu", 16, 8, 1);
	groups[1] = sim_case_group(&c, "cpu", 16, 0, 1);
	groups[0].replicas = groups[1].replicas = 1;
	sim_case_cluster(&c, "demo", groups, 2);
	sim_case_add(&c, 0, 1000 * SECOND, 16, sim_case_bundles(&c, GPU, 0, 1), 1);
	result = run(&c);
	assert_int_equal(result->waits[0].wait_ms, 0);
	assert_in_range(result->groups[0].worker_ms, 60 * SECOND, 70 * SECOND);
	assert_in_range(result->groups[1].worker_ms, 1060 * SECOND, 1070 * SECOND);
	sim_case_done(&c);
}

/* ---- start, stock, spot ---- */

static void recorded_start_times(void **state)
{
	static const int64_t recorded[] = { 1 * SECOND, 100 * SECOND };
	struct sim_case c;
	struct sim_result *result;
	int64_t slow = 0;

	(void)state;
	init_group(&c, 1, 0, 200);
	c.input.models.recorded_start_ms = recorded;
	c.input.models.recorded_start_count = 2;
	sim_case_add(&c, 0, 1000 * SECOND, 100, sim_case_bundles(&c, GPU, GPU, 1), 1);
	result = run(&c);
	for (size_t i = 0; i < result->wait_count; i++) {
		bool is_slow = result->waits[i].wait_ms > 100 * SECOND;

		assert_true(is_slow || result->waits[i].wait_ms < 10 * SECOND);
		slow += is_slow ? result->waits[i].count : 0;
	}
	assert_in_range(slow, 30, 70);
	sim_case_done(&c);
}

/* Nodes of 8 GPUs. */
static struct node_pool gpu_pool(struct sim_case *c, int64_t max)
{
	return (struct node_pool){ .node = { .name = "a100",
					     .allocatable = sim_case_limits(&c->arena, 64, 8) },
				   .max_nodes = max };
}

static void set_pool(struct sim_case *c, const struct node_pool *pool)
{
	c->input.models.pools = (struct node_pools){ pool, 1 };
}

/* The workers of this group that get a Node of the pool. */
static int64_t workers_on(const struct node *node, const struct quantities *shares)
{
	const struct node_pool pool = { .node = *node, .min_nodes = 1, .max_nodes = 1 };
	struct sim_case c;
	struct worker_group group;
	int64_t count;

	sim_case_init(&c);
	group = sim_case_group(&c, "gpu", 1, 0, 4);
	group.replicas = group.min_replicas = 4;
	group.template.spec.gpu_shares = *shares;
	sim_case_cluster(&c, "one", &group, 1);
	set_pool(&c, &pool);
	sim_case_add(&c, 0, SECOND, 1, sim_case_bundles(&c, 0, RESOURCE_UNIT, 1), 1);
	c.input.end_ms = 1000 * SECOND;
	count = run(&c)->groups[0].peak_workers;
	sim_case_done(&c);
	return count;
}

/* Parts of GPUs by annotation use up those of the Node; a Node that is cordoned or not Ready has no Pod. */
static void nodes_of_a_pool_are_judged_as_others(void **state)
{
	static const struct quantity half = { "gpu-fraction", "0.5", true, RESOURCE_UNIT / 2 };
	static const struct quantity amounts[] = {
		{ "cpu", "64", true, 64 * RESOURCE_UNIT },
		{ "nvidia.com/gpu", "1", true, GPU },
	};
	static const struct condition not_ready = { .type = "Ready", .status = "False" };
	struct node node = { .name = "a100", .allocatable = { amounts, 2 } };
	const struct quantities none = { 0 }, shares = { &half, 1 };

	(void)state;
	assert_int_equal(workers_on(&node, &none), 4);
	assert_int_equal(workers_on(&node, &shares), 2);
	node.unschedulable = true;
	assert_int_equal(workers_on(&node, &none), 0);
	node.unschedulable = false;
	node.conditions = &not_ready;
	node.condition_count = 1;
	assert_int_equal(workers_on(&node, &none), 0);
}

/* A task starts a process, the next one takes it, an actor beside it starts its own. */
static void processes_start_once(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 1, 1, 1);
	c.input.models.process_start_ms = 3 * SECOND;
	sim_case_add(&c, 0, 10 * SECOND, 2, sim_case_bundles(&c, GPU, GPU, 1), 1);
	sim_case_add(&c, 1 * SECOND, 10 * SECOND, 1, sim_case_bundles(&c, GPU, 0, 1), 1)->kind =
		WORK_ACTOR;
	result = run(&c);
	assert_int_equal(result->wait_count, 3);
	assert_int_equal(result->waits[0].wait_ms, 3 * SECOND);
	assert_int_equal(result->waits[1].wait_ms, 3 * SECOND);
	assert_int_equal(result->waits[2].wait_ms, 13 * SECOND);
	sim_case_done(&c);
}

/* Two RayClusters and one Node: the second one waits for the Node, then for the first one. */
static void clusters_share_a_stock(void **state)
{
	struct sim_case c;
	struct worker_group group;
	struct node_pool pool;
	const struct ray_request *bundles;
	struct sim_result *result;

	(void)state;
	sim_case_init(&c);
	group = sim_case_group(&c, "gpu", 16, 8, 1);
	sim_case_cluster(&c, "one", &group, 1);
	sim_case_cluster(&c, "two", &group, 1);
	pool = gpu_pool(&c, 1);
	pool.provision_ms = 120 * SECOND;
	set_pool(&c, &pool);
	bundles = sim_case_bundles(&c, GPU, GPU, 1);
	sim_case_add(&c, 0, 100 * SECOND, 1, bundles, 1)->cluster = "one";
	sim_case_add(&c, 1, 100 * SECOND, 1, bundles, 1)->cluster = "two";
	result = run(&c);
	assert_int_equal(result->finished, 2);
	assert_in_range(result->waits[0].wait_ms, 145 * SECOND, 147 * SECOND);
	/* The first one has the Node for its 100 s and its idle timeout of 60 s. */
	assert_in_range(result->waits[1].wait_ms, 330 * SECOND, 340 * SECOND);
	assert_int_equal(result->peak_gpus, 8 * GPU);
	sim_case_done(&c);
}

static void refusals_delay_nodes(void **state)
{
	static const struct node_pool_window refusal = { .until_ms = 300 * SECOND };
	struct sim_case c;
	struct node_pool pool;
	struct sim_result *result;

	(void)state;
	init_group(&c, 8, 0, 4);
	pool = gpu_pool(&c, 4);
	pool.provision_ms = 60 * SECOND;
	pool.refusals = &refusal;
	pool.refusal_count = 1;
	set_pool(&c, &pool);
	sim_case_add(&c, 0, SECOND, 1, sim_case_bundles(&c, GPU, GPU, 1), 1);
	result = run(&c);
	assert_int_equal(result->finished, 1);
	assert_in_range(result->waits[0].wait_ms, 384 * SECOND, 390 * SECOND);
	sim_case_done(&c);
}

/* Three of six Nodes have a sign from 100 s on; each has a worker in use for 1,000 s. */
static struct sim_result *run_repairs(struct sim_case *c, int64_t until_ms, bool deletes,
				      int64_t at_once)
{
	const struct node_pool_window repair = { 100 * SECOND, until_ms, 3 };
	const struct node_pool pool = { .node = { .name = "sick" },
					.min_nodes = 6,
					.max_nodes = 6,
					.repairs = &repair,
					.repair_count = 1 };

	init_group(c, 1, 3, 6);
	c->settings.repair_deletes = deletes;
	c->settings.repair_deadline_seconds = 30;
	c->settings.repair_fleet_max_unavailable = at_once;
	set_pool(c, &pool);
	sim_case_add(c, 0, 1000 * SECOND, 3, sim_case_bundles(c, GPU, GPU, 1), 1);
	return run(c);
}

static void repairs_move_work_by_one_node(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	result = run_repairs(&c, 5000 * SECOND, true, 1);
	assert_int_equal(result->restarted, 3);
	assert_int_equal(result->finished, 3);
	/* One that ends, beside its replacement and that of the next one. */
	assert_int_equal(result->groups[0].peak_workers, 5);
	sim_case_done(&c);
	/* Without repair.deletes the work ends by itself. */
	result = run_repairs(&c, 5000 * SECOND, false, 1);
	assert_int_equal(result->restarted, 0);
	assert_int_equal(result->groups[0].peak_workers, 4);
	sim_case_done(&c);
	/* A sign that does not last, and a fleet that allows none. */
	result = run_repairs(&c, 110 * SECOND, true, 1);
	assert_int_equal(result->groups[0].peak_workers, 3);
	sim_case_done(&c);
	result = run_repairs(&c, 5000 * SECOND, true, 0);
	assert_int_equal(result->groups[0].peak_workers, 3);
	sim_case_done(&c);
}

/* A pool without allocatable: each worker has a Node of its own. */
static void interrupted_work_runs_again(void **state)
{
	static const struct node_pool pool = { .node = { .name = "spot" },
					       .min_nodes = 20,
					       .max_nodes = 20,
					       .life_ms = 200 * SECOND };
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 1, 0, 50);
	set_pool(&c, &pool);
	sim_case_add(&c, 0, 100 * SECOND, 50, sim_case_bundles(&c, GPU, GPU, 1), 1);
	result = run(&c);
	assert_int_equal(result->started, 50);
	assert_int_equal(result->finished, 50);
	assert_int_equal(result->groups[0].peak_workers, 20);
	assert_in_range(result->restarted, 10, 100);
	assert_true(result->groups[0].interruptions >= result->restarted);
	/* The end is that of the work, not of the last Node that could be interrupted. */
	assert_true(result->end_ms < result->makespan_ms + 600 * SECOND);
	sim_case_done(&c);
}

/* Eight workers on one Node: all are interrupted at once, and the next Node needs its time. */
static void an_interruption_takes_a_whole_node(void **state)
{
	struct sim_case c;
	struct node_pool pool;
	struct sim_result *result;

	(void)state;
	init_group(&c, 1, 0, 8);
	pool = gpu_pool(&c, 1);
	pool.life_ms = 400 * SECOND;
	pool.provision_ms = 50 * SECOND;
	set_pool(&c, &pool);
	sim_case_add(&c, 0, 200 * SECOND, 8, sim_case_bundles(&c, GPU, GPU, 1), 1);
	for (c.input.seed = 1;; c.input.seed++) {
		result = run(&c);
		if (result->restarted > 0)
			break;
	}
	assert_true(result->groups[0].interruptions >= 8);
	assert_int_equal(result->restarted % 8, 0);
	assert_int_equal(result->finished, 8);
	assert_true(result->makespan_ms > 330 * SECOND);
	sim_case_done(&c);
}

/* ---- requests ---- */

static void requested_resources_keep_workers(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 8, 0, 4);
	sim_case_add(&c, 0, 1000 * SECOND, 16, sim_case_bundles(&c, 0, GPU, 1), 1)->kind =
		WORK_REQUEST_RESOURCES;
	result = run(&c);
	assert_int_equal(result->wait_count, 0);
	assert_int_equal(result->groups[0].peak_workers, 2);
	assert_in_range(result->groups[0].worker_ms, 2 * 990 * SECOND, 2 * 1070 * SECOND);
	sim_case_done(&c);
}

/* ---- baselines ---- */

static void always_on_waits_for_nothing(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 8, 0, 4);
	c.input.policy = SIM_POLICY_ALWAYS_ON;
	sim_case_add(&c, 5 * SECOND, 100 * SECOND, 32, sim_case_bundles(&c, 0, GPU, 1), 1);
	result = run(&c);
	assert_int_equal(result->waits[0].wait_ms, 0);
	assert_int_equal(result->waits[0].count, 32);
	assert_int_equal(result->decisions, 0);
	assert_true(result->groups[0].provisioned == (__int128)32 * GPU * 105 * SECOND);
	assert_true(result->groups[0].idle == (__int128)32 * GPU * 5 * SECOND);
	sim_case_done(&c);
}

/* It scales every 5 s only: reported work waits 2.5 s on average, not 0.5 s, whenever it comes. Here
 * the passes are at 3 s, 8 s and so on, and work is reported at half seconds. */
static void rays_autoscaler_scales_every_five_seconds(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	for (int64_t at = 0; at < 5; at++) {
		init_group(&c, 8, 0, 4);
		c.input.policy = SIM_POLICY_RAY_AUTOSCALER;
		sim_case_add(&c, at * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, 0, GPU, 1), 1);
		result = run(&c);
		assert_int_equal(result->waits[0].wait_ms,
				 (at < 3 ? 3 - at : 8 - at) * SECOND + 25200);
		sim_case_done(&c);
	}
}

/* The passes are at 3.1 s, 8.3 s and so on: 5 s after the end of the one before. */
static void rays_autoscaler_sleeps_after_its_pass(void **state)
{
	struct sim_case c;

	(void)state;
	init_group(&c, 8, 0, 4);
	c.input.policy = SIM_POLICY_RAY_AUTOSCALER;
	c.input.models.ray_pass_ms = 200;
	sim_case_add(&c, 4 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, 0, GPU, 1), 1);
	assert_int_equal(run(&c)->waits[0].wait_ms, 4300 + 25200);
	sim_case_done(&c);
}

/* Two passes for an idle worker: the first, at 198 s, drains it, the second names its Pod. */
static void rays_autoscaler_deletes_in_the_pass_after_the_drain(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 8, 0, 4);
	c.input.policy = SIM_POLICY_RAY_AUTOSCALER;
	sim_case_add(&c, 4 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, 0, GPU, 1), 1);
	result = run(&c);
	assert_int_equal(result->groups[0].worker_ms, (205 - 8) * SECOND);
	sim_case_done(&c);
}

/* Work that waits while a worker has just begun its first work gets a worker in the next pass. */
static void rays_autoscaler_has_no_start_grace(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init_group(&c, 1, 0, 4);
	c.input.policy = SIM_POLICY_RAY_AUTOSCALER;
	sim_case_add(&c, 0, 100 * SECOND, 1, sim_case_bundles(&c, 0, GPU, 1), 1);
	sim_case_add(&c, 29 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, 0, GPU, 1), 1);
	result = run(&c);
	assert_int_equal(result->wait_count, 2);
	assert_int_equal(result->waits[1].wait_ms, 4 * SECOND + 25200);
	sim_case_done(&c);
}

/* ---- bad input ---- */

static void expect_error(struct sim_case *c, const char *text)
{
	assert_null(sim_case_run(c));
	if (!strstr(c->err.text, text))
		fail_msg("\"%s\" is not in: %s", text, c->err.text);
	sim_case_done(c);
}

static void bad_input_gives_errors(void **state)
{
	struct sim_case c;
	struct node_pool pools[2];

	(void)state;
	init_group(&c, 8, 0, 4);
	sim_case_add(&c, 0, 1, 1, sim_case_bundles(&c, 0, GPU, 1), 1)->cluster = "other";
	expect_error(&c, "\"other\" is not simulated");

	init_group(&c, 8, 0, 2147483647);
	c.input.policy = SIM_POLICY_ALWAYS_ON;
	expect_error(&c, "more than 100000 Pods");

	init_group(&c, 8, 0, 4);
	pools[0] = pools[1] = gpu_pool(&c, 60000);
	c.input.models.pools = (struct node_pools){ pools, 2 };
	expect_error(&c, "pool a100: maxNodes of all pools are above 100000");

	init_group(&c, 1000001, 0, 4);
	expect_error(&c, "group gpu: more than 1000000 GPUs");

	init_group(&c, 8, 0, 4);
	c.input.models.scan_interval_ms = 0;
	expect_error(&c, "scan_interval_ms");
}

/* Odd but valid: maxReplicas below minReplicas, and work of nothing. */
static void odd_input_is_simulated(void **state)
{
	struct sim_case c;

	(void)state;
	init_group(&c, 8, 0, 0);
	sim_case_add(&c, 0, SECOND, 3, sim_case_bundles(&c, 0, GPU, 1), 1);
	sim_case_add(&c, 0, INT64_MAX, 2, sim_case_bundles(&c, 0, 0, 1), 1);
	sim_case_add(&c, 0, SECOND, SIM_WORK_MAX - 5,
		     sim_case_bundles(&c, RESOURCE_AMOUNT_MAX, RESOURCE_AMOUNT_MAX, 1), 1);
	c.input.end_ms = 1000 * SECOND;
	assert_int_equal(run(&c)->started, 2);
	sim_case_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fractions_share_single_devices),
		cmocka_unit_test(strict_spread_needs_a_worker_each),
		cmocka_unit_test(strict_pack_needs_one_worker),
		cmocka_unit_test(pack_and_spread),
		cmocka_unit_test(work_without_gpus_avoids_gpu_workers),
		cmocka_unit_test(recorded_start_times),
		cmocka_unit_test(nodes_of_a_pool_are_judged_as_others),
		cmocka_unit_test(processes_start_once),
		cmocka_unit_test(clusters_share_a_stock),
		cmocka_unit_test(refusals_delay_nodes),
		cmocka_unit_test(repairs_move_work_by_one_node),
		cmocka_unit_test(interrupted_work_runs_again),
		cmocka_unit_test(an_interruption_takes_a_whole_node),
		cmocka_unit_test(requested_resources_keep_workers),
		cmocka_unit_test(always_on_waits_for_nothing),
		cmocka_unit_test(rays_autoscaler_scales_every_five_seconds),
		cmocka_unit_test(rays_autoscaler_sleeps_after_its_pass),
		cmocka_unit_test(rays_autoscaler_deletes_in_the_pass_after_the_drain),
		cmocka_unit_test(rays_autoscaler_has_no_start_grace),
		cmocka_unit_test(bad_input_gives_errors),
		cmocka_unit_test(odd_input_is_simulated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
