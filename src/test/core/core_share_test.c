/* The plain cases of core/share, by hand. Laws on random states: core_share_laws_test. */
#include "test/support/support.h"

#include "test/support/share_nodes.h"

static struct scene scene;
static struct share_nodes nodes;

static int done(void **state)
{
	(void)state;
	scene_done(&scene);
	return 0;
}

static void asks(const char *queue, int64_t guaranteed, size_t units, int64_t gpus)
{
	scene_queue(&scene, queue, guaranteed);
	scene_cluster(&scene, queue);
	for (size_t i = 0; i < units; i++)
		scene_ask(&scene, gpus, 1);
}

static void expect_granted(const char *queue, int64_t gpus)
{
	assert_int_equal(scene_gpus(&scene, queue, SHARE_GRANTED), gpus);
}

/* ---- order ---- */

static void guarantees_come_first(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 8, 1);
	asks("b", 6, 8, 1);
	scene_share(&scene);
	expect_granted("b", 6 + 1);
	expect_granted("a", 1);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_WAITS), 7);
}

static void the_lower_part_of_a_guarantee_is_filled_first(void **state)
{
	(void)state;
	scene_start(&scene, 16);
	asks("a", 12, 12, 1);
	asks("b", 4, 4, 1);
	asks("c", 0, 0, 1);
	scene_hold(&scene, SHARE_BUSY, 8);
	scene_share(&scene);
	expect_granted("a", 6);
	expect_granted("b", 2);
}

static void borrowing_is_by_weight(void **state)
{
	(void)state;
	scene_start(&scene, 12);
	asks("a", 0, 12, 1);
	scene.queues.at[0].weight = 2;
	asks("b", 0, 12, 1);
	scene_share(&scene);
	expect_granted("a", 8);
	expect_granted("b", 4);
}

static void priority_is_before_weight(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 8, 1);
	scene.queues.at[0].weight = 100;
	asks("b", 0, 6, 1);
	scene.queues.at[1].priority = 1;
	scene_share(&scene);
	expect_granted("b", 6);
	expect_granted("a", 2);
}

static void priority_orders_units_of_a_queue(void **state)
{
	size_t urgent;

	(void)state;
	scene_start(&scene, 1);
	asks("a", 0, 2, 1);
	urgent = scene_ask(&scene, 1, 0);
	scene.units.at[urgent].priority = 1;
	scene_share(&scene);
	expect_granted("a", 1);
	assert_int_equal(scene.result->units[urgent], SHARE_GRANTED);
}

/* ---- units that nothing waits for ---- */

/* A unit of the last cluster that nothing waits for. */
static size_t requests(int64_t gpus, int64_t waited_seconds)
{
	size_t unit = scene_ask(&scene, gpus, waited_seconds);

	scene.units.at[unit].requested = scene.units.at[unit].unreserved = true;
	return unit;
}

static size_t holds_requested(size_t count)
{
	size_t first = scene_hold(&scene, SHARE_IDLE, count);

	for (size_t i = first; i < first + count; i++)
		scene.workers.at[i].needed = scene.workers.at[i].requested = true;
	return first;
}

static void work_that_waits_comes_before_requests(void **state)
{
	size_t gang;

	(void)state;
	scene_start(&scene, 4);
	asks("a", 0, 0, 1);
	for (size_t i = 0; i < 4; i++)
		requests(1, 100);
	scene_cluster(&scene, "b");
	gang = scene_ask(&scene, 3, 1);
	scene_share(&scene);
	assert_int_equal(scene.result->units[gang], SHARE_GRANTED);
	expect_granted("a", 3 + 1);
}

/* Also work beyond the guarantee before requests within it; alone these have it as before. */
static void requests_do_not_use_up_the_guarantee_first(void **state)
{
	size_t gang;

	(void)state;
	for (size_t waits = 0; waits < 2; waits++) {
		scene_start(&scene, 6);
		asks("a", 4, 0, 1);
		for (size_t i = 0; i < 4; i++)
			requests(1, 100);
		asks("b", 0, 6, 1);
		scene.queues.at[1].priority = 1;
		if (waits) {
			scene.queues.at[1].priority = -1;
			scene_cluster(&scene, "c");
			gang = scene_ask(&scene, 6, 1);
			scene.clusters.at[2].queue = 0;
			scene_share(&scene);
			assert_int_equal(scene.result->units[gang], SHARE_GRANTED);
		} else {
			scene_share(&scene);
			expect_granted("a", 4);
			expect_granted("b", 2);
		}
		scene_done(&scene);
	}
}

static void requests_of_a_queue_are_before_work_of_a_lower_one(void **state)
{
	(void)state;
	scene_start(&scene, 2);
	asks("a", 0, 0, 1);
	scene.queues.at[0].priority = 1;
	requests(1, 1);
	requests(1, 1);
	asks("b", 0, 2, 1);
	scene_share(&scene);
	expect_granted("a", 2);
	expect_granted("b", 0);
}

/* Idle workers that requests keep end for work of another cluster of the queue, also within the guarantee; not for
 * requests, and not those that something else needs. */
static void a_queue_gives_requested_workers_back_to_its_work(void **state)
{
	(void)state;
	for (int64_t guaranteed = 0; guaranteed <= 4; guaranteed += 4)
		for (size_t other = 0; other < 3; other++) {
			size_t first, unit;

			scene_start(&scene, 4);
			scene_queue(&scene, "a", guaranteed);
			scene_cluster(&scene, "a");
			first = holds_requested(4);
			for (size_t i = first; i < first + 4; i++)
				scene.workers.at[i].requested = other != 1;
			scene_cluster(&scene, "b");
			unit = other == 2 ? requests(2, 500) : scene_ask(&scene, 2, 1);
			scene_share(&scene);
			assert_int_equal(scene.result->units[unit],
					 other ? SHARE_WAITS : SHARE_COMING);
			assert_int_equal(scene_ends(&scene, SHARE_RELEASE), other ? 0 : 2);
			scene_done(&scene);
		}
}

static void requested_workers_are_given_back_first(void **state)
{
	size_t first;

	(void)state;
	scene_start(&scene, 4);
	scene_queue(&scene, "a", 0);
	scene_cluster(&scene, "a");
	first = holds_requested(4);
	scene.workers.at[first].requested = scene.workers.at[first + 1].requested = false;
	asks("b", 2, 2, 1);
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 2);
	assert_int_equal(scene.result->workers[first + 2].action, SHARE_RELEASE);
	assert_int_equal(scene.result->workers[first + 3].action, SHARE_RELEASE);
}

static void nothing_beyond_the_maximum(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 2, 8, 1);
	scene.queues.at[0].maximum = 3 * GPU;
	scene_share(&scene);
	expect_granted("a", 3);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_AT_MAXIMUM), 5);
	assert_int_equal(scene.result->next_ms, SCENE_NOW + 119 * SECOND);
}

static void workers_that_leave_count_under_the_maximum(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 2, 1);
	scene.queues.at[0].maximum = 3 * GPU;
	scene_hold(&scene, SHARE_LEAVING, 2);
	scene_share(&scene);
	expect_granted("a", 1);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_COMING), 1);
}

static void only_lendable_GPUs_are_lent(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 8, 1);
	asks("b", 6, 0, 1);
	scene.queues.at[1].lendable = 2 * GPU;
	scene_share(&scene);
	expect_granted("a", 4);
}

static void equal_cases_are_decided_by_waiting_time_then_name(void **state)
{
	(void)state;
	scene_start(&scene, 1);
	asks("b", 0, 1, 1);
	asks("a", 0, 1, 1);
	scene_share(&scene);
	expect_granted("a", 1);
	scene.units.at[0].since_ms -= 1;
	scene_share(&scene);
	expect_granted("b", 1);
}

static void clusters_of_a_queue_are_ordered_by_name(void **state)
{
	(void)state;
	scene_start(&scene, 1);
	asks("a", 0, 0, 1);
	scene_cluster(&scene, "z");
	scene_ask(&scene, 1, 9);
	scene_cluster(&scene, "y");
	scene_ask(&scene, 1, 9);
	scene_share(&scene);
	assert_int_equal(scene.result->units[0], SHARE_WAITS);
	assert_int_equal(scene.result->units[1], SHARE_GRANTED);
}

static void a_team_of_two_pools_counts_by_its_larger_share(void **state)
{
	struct scene other;
	struct share_pool pools[2];

	(void)state;
	scene_start(&scene, 4);
	asks("a", 0, 4, 1);
	asks("b", 0, 4, 1);
	scene_start(&other, 16);
	scene_queue(&other, "a", 0);
	scene_cluster(&other, "a");
	scene_hold(&other, SHARE_BUSY, 12);
	scene_finish(&scene);
	scene_finish(&other);
	pools[0] = scene.pool;
	pools[1] = other.pool;
	scene.result = share(pools, 2, &scene.arena);
	expect_granted("a", 1);
	expect_granted("b", 3);
	scene_done(&other);
}

static void guarantees_beyond_the_pool_count_in_proportion(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 12, 12, 1);
	asks("b", 4, 12, 1);
	scene_share(&scene);
	expect_granted("a", 6);
	expect_granted("b", 2);
}

/* ---- gangs and the reservation ---- */

static void a_gang_is_granted_whole_or_not(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 1, 6);
	scene_hold(&scene, SHARE_BUSY, 3);
	scene_share(&scene);
	expect_granted("a", 0);
	scene.pool.capacity += GPU;
	scene_share(&scene);
	expect_granted("a", 6);
}

static void of_two_gangs_of_six_one_runs_and_then_the_other(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 1, 6);
	asks("b", 0, 1, 6);
	scene_share(&scene);
	expect_granted("a", 6);
	expect_granted("b", 0);
	scene.units.at[0].passed_over = true; /* a's work has ended */
	scene_share(&scene);
	expect_granted("b", 6);
}

/* A gang of 8 beside a stream of single tasks. */
static void start_stream(int64_t waited_seconds)
{
	scene_start(&scene, 8);
	scene_queue(&scene, "gang", 0);
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 8, waited_seconds);
	asks("stream", 0, 4, 1);
	scene_hold(&scene, SHARE_BUSY, 5);
	scene_share(&scene);
}

static void a_gang_that_waits_long_collects_free_GPUs(void **state)
{
	(void)state;
	start_stream(119);
	expect_granted("stream", 3);
	assert_int_equal(scene.result->reserved, SHARE_NONE);
	assert_int_equal(scene.result->next_ms, SCENE_NOW + SECOND);
	scene_done(&scene);
	start_stream(120);
	expect_granted("stream", 0);
	assert_int_equal(scene.result->reserved, 0);
}

static void a_reserved_gang_is_before_urgent_units_of_its_queue(void **state)
{
	size_t urgent;

	(void)state;
	scene_start(&scene, 8);
	asks("gang", 0, 0, 1);
	scene_ask(&scene, 8, 120);
	urgent = scene_ask(&scene, 1, 100);
	scene.units.at[urgent].priority = 1;
	asks("stream", 0, 0, 1);
	scene_hold(&scene, SHARE_BUSY, 5);
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	expect_granted("gang", 0);
}

static void a_reservation_leaves_guarantees_and_lower_shares(void **state)
{
	(void)state;
	scene_start(&scene, 16);
	scene_queue(&scene, "gang", 0);
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 8, 200);
	scene_ask(&scene, 1, 1);
	scene_hold(&scene, SHARE_BUSY, 3);
	asks("guaranteed", 2, 3, 1); /* two, and one by its lower share */
	asks("lower", 0, 8, 1);
	scene_hold(&scene, SHARE_BUSY, 1);
	asks("higher", 0, 1, 1);
	scene_hold(&scene, SHARE_BUSY, 4);
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	expect_granted("gang", 0);
	expect_granted("guaranteed", 3);
	expect_granted("lower", 2);
	expect_granted("higher", 0);
}

/* Three of the four GPUs of the reservation are the guarantee of its queue, which is kept anyway. */
static void a_reservation_uses_what_is_kept_for_its_queue(void **state)
{
	(void)state;
	scene_start(&scene, 7);
	scene_queue(&scene, "gang", 3)->lendable = 0;
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 4, 200);
	scene_queue(&scene, "b", 0);
	scene_cluster(&scene, "b");
	for (int i = 0; i < 4; i++)
		scene.units.at[scene_ask(&scene, 1, 300)].unreserved = true;
	scene_share(&scene);
	expect_granted("gang", 4);
	expect_granted("b", 3);
}

/* A gang of 8 for which GPUs are saved since 100 s, for at most 600 s, beside a queue that gives its workers back. */
static void start_lending(int64_t drain_after_ms, size_t units, size_t busy)
{
	scene_start(&scene, 8);
	scene.pool.reserve_at_most_ms = 600 * SECOND;
	scene.pool.reserved_since_ms = SCENE_NOW - 100 * SECOND;
	asks("gang", 0, 0, 1);
	scene_ask(&scene, 8, 300);
	asks("lent", 0, units, 1);
	scene.queues.at[1].drain_after_ms = drain_after_ms;
	scene_hold(&scene, SHARE_BUSY, busy);
	asks("other", 0, units, 1);
	scene_hold(&scene, SHARE_BUSY, busy < 8);
}

static void what_is_reserved_is_lent_to_those_who_give_it_back_in_its_time(void **state)
{
	(void)state;
	start_lending(599 * SECOND, 6, 0);
	scene_hold(&scene, SHARE_IDLE,
		   7); /* of the other one, for which the gang would not fit either */
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 0);
	scene_done(&scene);
	start_lending(599 * SECOND, 6, 0);
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	expect_granted("lent", 6);
	expect_granted("other", 0);
	scene_done(&scene);
	start_lending(600 * SECOND, 6, 0);
	scene_share(&scene);
	expect_granted("lent", 0);
	scene_done(&scene);
	start_lending(499 * SECOND, 6, 0);
	scene.units.at[0].unlent = true;
	scene_share(&scene);
	expect_granted("lent", 0);
	scene_done(&scene);
	start_lending(499 * SECOND, 6, 0);
	for (size_t i = 1; i < 7; i++)
		scene.units.at[i].requested = true;
	scene_share(&scene);
	expect_granted("lent", 0);
	scene_done(&scene);
	start_lending(499 * SECOND, 6, 0);
	scene.units.at[0].amount = 7 * GPU; /* it fits: nothing is lent of what it takes */
	scene_share(&scene);
	expect_granted("gang", 7);
	expect_granted("lent", 0);
}

static void what_is_lent_comes_back_when_the_gang_then_fits(void **state)
{
	(void)state;
	start_lending(400 * SECOND, 0, 7); /* another worker is busy */
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 0);
	scene_done(&scene);
	start_lending(400 * SECOND, 0, 8);
	scene_share(&scene);
	assert_int_equal(scene.result->units[0], SHARE_COMING);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 8);
	assert_int_equal(scene.result->workers[0].deadline_ms, SCENE_NOW + 400 * SECOND);
	scene_done(&scene);
	start_lending(400 * SECOND, 0, 8);
	scene.workers.at[3].since_ms = scene.pool.reserved_since_ms; /* earlier work */
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 0);
	scene_done(&scene);
	start_lending(400 * SECOND, 0, 8);
	scene.pool.capacity += 9 * GPU;
	for (int i = 0; i < 9; i++) /* the queue of the gang has the larger share */
		VEC_PUSH(&scene.arena, &scene.workers,
			 ((struct share_worker){ .amount = GPU, .since_ms = SCENE_NOW }));
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 0);
	scene_done(&scene);
	start_lending(400 * SECOND, 0, 8);
	scene.workers.at[3].state = SHARE_IDLE;
	scene.workers.at[3].needed = true; /* by a request, on what was lent */
	scene.workers.at[4].state = SHARE_IDLE;
	scene.workers.at[4].since_ms = SCENE_NOW - 50 * SECOND;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 6);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 2);
}

static void a_gang_that_guarantees_exclude_reserves_nothing(void **state)
{
	(void)state;
	start_stream(120);
	scene.queues.at[1].guaranteed = scene.queues.at[1].lendable = GPU;
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, SHARE_NONE);
	expect_granted("stream", 3);
}

static void one_that_is_larger_than_the_pool_reserves_nothing(void **state)
{
	(void)state;
	start_stream(120);
	scene.units.at[0].amount = 9 * GPU;
	scene_share(&scene);
	assert_int_equal(scene.result->units[0], SHARE_IMPOSSIBLE);
	expect_granted("stream", 3);
}

/* The rest of a's gang of 4 is free, and b would take it. */
static void free_GPUs_are_kept_for_a_guaranteed_unit(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 4, 1, 4);
	asks("b", 0, 2, 1);
	scene_hold(&scene, SHARE_BUSY, 5);
	scene_share(&scene);
	expect_granted("b", 0);
	scene.queues.at[0].guaranteed = 0;
	scene_share(&scene);
	expect_granted("b", 2);
}

/* A unit larger than its queue's unused guarantee borrows, with a share of 0. */
static void an_unused_guarantee_is_not_a_lower_share(void **state)
{
	(void)state;
	scene_start(&scene, 40);
	scene_queue(&scene, "gang", 0);
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 20, 200);
	asks("b", 16, 1, 17);
	asks("c", 0, 0, 1);
	scene_hold(&scene, SHARE_BUSY, 22);
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	expect_granted("b", 0);
}

/* ---- releases ---- */

/* b borrows: workers in this state, all GPUs; a asks within its guarantee of 4. */
static void start_borrowed(enum share_state state, size_t units, int64_t gpus)
{
	scene_start(&scene, 8);
	asks("a", 4, units, gpus);
	scene_queue(&scene, "b", 2);
	scene_cluster(&scene, "b");
	scene_hold(&scene, state, 8);
}

static void idle_borrowed_workers_are_released_for_a_guarantee(void **state)
{
	(void)state;
	start_borrowed(SHARE_IDLE, 3, 1);
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 3);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_COMING), 3);
	expect_granted("a", 0);
}

static void busy_ones_and_those_that_start_are_not(void **state)
{
	(void)state;
	start_borrowed(SHARE_BUSY, 3, 1);
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_STAY), 8);
	scene_done(&scene);
	start_borrowed(SHARE_STARTING, 3, 1);
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_STAY), 8);
}

static void not_before_they_were_idle_long_enough(void **state)
{
	(void)state;
	start_borrowed(SHARE_IDLE, 1, 1);
	ARRAY_EACH(struct share_worker, worker, scene.workers.at, scene.workers.count)
		worker->since_ms = SCENE_NOW - SCENE_IDLE_AFTER + 1;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_STAY), 8);
	assert_int_equal(scene.result->next_ms, SCENE_NOW + 1);
}

static void only_if_the_unit_then_fits(void **state)
{
	(void)state;
	start_borrowed(SHARE_IDLE, 1, 4);
	for (size_t i = 0; i < 5; i++)
		scene.workers.at[i].state = SHARE_BUSY;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_STAY), 8);
	scene.workers.at[0].state = SHARE_IDLE;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 4);
	assert_int_equal(scene.result->workers[0].unit, 0);
}

static void never_below_a_guarantee(void **state)
{
	(void)state;
	start_borrowed(SHARE_IDLE, 4, 1);
	scene.queues.at[1].guaranteed = 4 * GPU;
	scene.workers.at[0].state = SHARE_BUSY;
	scene_ask(&scene, 1, 1); /* of b */
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 4);
	scene.queues.at[0].guaranteed = 2 * GPU;
	scene.queues.at[1].guaranteed = 6 * GPU;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 2);
}

static void workers_that_leave_already_count_first(void **state)
{
	(void)state;
	start_borrowed(SHARE_IDLE, 3, 1);
	for (size_t i = 0; i < 2; i++)
		scene.workers.at[i].state = SHARE_LEAVING;
	scene_share(&scene);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_COMING), 3);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 1);
}

/* a gang of 4 waits for two workers that leave: the two that are free stay free for it. */
static void free_GPUs_are_kept_for_a_unit_that_is_coming(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	scene_queue(&scene, "gang", 0);
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 4, 10);
	asks("b", 0, 2, 1);
	scene_hold(&scene, SHARE_BUSY, 4);
	scene_hold(&scene, SHARE_LEAVING, 2);
	scene_share(&scene);
	assert_int_equal(scene_gpus(&scene, "gang", SHARE_COMING), 4);
	expect_granted("b", 0);
}

/* b may lose 5 GPUs, c none. */
static void a_larger_unit_that_does_not_fit_hinders_no_smaller_one(void **state)
{
	(void)state;
	scene_start(&scene, 14);
	asks("a", 10, 1, 6);
	scene_ask(&scene, 4, 0);
	scene_queue(&scene, "b", 1);
	scene_cluster(&scene, "b");
	scene_hold(&scene, SHARE_BUSY, 6);
	scene_hold(&scene, SHARE_IDLE, 5);
	scene_queue(&scene, "c", 3);
	scene_cluster(&scene, "c");
	scene_hold(&scene, SHARE_IDLE, 3);
	scene_share(&scene);
	assert_int_equal(scene.result->units[0], SHARE_WAITS);
	assert_int_equal(scene.result->units[1], SHARE_COMING);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 4);
}

/* c loses a worker of 2 GPUs to a, and then has the lowest share of those that wait for the other
 * one. */
static void the_order_follows_a_release(void **state)
{
	static const char *const OTHERS[] = { "b", "d", "c", "e" };
	static const int64_t HELD[] = { 1, 1, 2, 9 };

	(void)state;
	scene_start(&scene, 13);
	asks("a", 0, 1, 1);
	for (size_t i = 0; i < 4; i++) {
		size_t worker;

		asks(OTHERS[i], 0, 1, 1);
		worker = scene_hold(&scene, i == 2 ? SHARE_IDLE : SHARE_BUSY, 1);
		scene.workers.at[worker].amount = HELD[i] * GPU;
	}
	scene_share(&scene);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_COMING), 1);
	assert_int_equal(scene_gpus(&scene, "c", SHARE_COMING), 1);
}

/* The reservation of 8 is kept from b: nine workers would have to end for its one GPU. */
static void nothing_is_released_for_those_behind_a_reservation(void **state)
{
	(void)state;
	scene_start(&scene, 13);
	scene_queue(&scene, "gang", 0);
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 8, 200);
	asks("b", 0, 1, 1);
	scene_hold(&scene, SHARE_BUSY, 1);
	asks("c", 0, 0, 1);
	scene_hold(&scene, SHARE_IDLE, 12);
	ARRAY_EACH(struct share_worker, worker, scene.workers.at, scene.workers.count)
		worker->needed = true;
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	assert_int_equal(scene_ends(&scene, SHARE_STAY), 13);
}

/* Between borrowers: b has more than a. */
static void start_borrowers(bool needed, size_t of_a)
{
	scene_start(&scene, 8);
	asks("a", 0, 4, 1);
	scene_hold(&scene, SHARE_BUSY, of_a);
	asks("b", 0, 1, 1);
	scene_hold(&scene, SHARE_IDLE, 8 - of_a);
	ARRAY_EACH(struct share_worker, worker, scene.workers.at, scene.workers.count)
		worker->needed = needed;
	scene_share(&scene);
}

static void shares_of_borrowers_meet_and_do_not_cross(void **state)
{
	(void)state;
	start_borrowers(true, 2);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 2);
	scene_done(&scene);
	start_borrowers(true, 4);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 0);
	scene_done(&scene);
	start_borrowers(false, 4);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 0);
}

static void a_lower_priority_loses_first(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 1, 1);
	scene.queues.at[0].priority = 1;
	scene_hold(&scene, SHARE_BUSY, 2);
	scene_queue(&scene, "b", 0)->priority = 1;
	scene_cluster(&scene, "b");
	scene_hold(&scene, SHARE_IDLE, 5);
	scene_queue(&scene, "c", 0);
	scene_cluster(&scene, "c");
	scene_hold(&scene, SHARE_IDLE, 1);
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 1);
	assert_int_equal(scene.result->workers[7].action, SHARE_RELEASE);
}

static void another_cluster_of_the_same_queue_loses(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 0, 1, 2);
	scene_cluster(&scene, "idle");
	scene_hold(&scene, SHARE_IDLE, 8);
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 2);
}

/* Each waits for two of the other's workers: only one of them loses. */
static void two_gangs_do_not_exchange_their_halves(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	for (const char *const *name = (const char *const[]){ "a", "b", NULL }; *name; name++) {
		scene_queue(&scene, *name, 0);
		scene_cluster(&scene, *name);
		scene_ask(&scene, 2, 300);
		scene_hold(&scene, SHARE_IDLE, 4);
	}
	scene_share(&scene);
	assert_int_equal(scene.result->units[0], SHARE_COMING);
	assert_int_equal(scene.result->units[1], SHARE_WAITS);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 2);
}

static void a_smaller_pool_grants_nothing_and_releases_idle_borrowed_ones(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	asks("a", 2, 1, 1);
	scene_hold(&scene, SHARE_BUSY, 2);
	scene_queue(&scene, "b", 3);
	scene_cluster(&scene, "b");
	scene_hold(&scene, SHARE_IDLE, 6);
	scene.pool.capacity = 5 * GPU;
	scene_share(&scene);
	expect_granted("a", 0);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 3);
	assert_int_equal(scene.result->workers[7].unit, SHARE_NONE);
}

/* ---- drains ---- */

static void busy_borrowed_workers_are_drained_where_the_queue_says_so(void **state)
{
	(void)state;
	start_borrowed(SHARE_BUSY, 3, 1);
	scene.queues.at[1].drain_after_ms = 600 * SECOND;
	scene.workers.at[3].state = SHARE_IDLE;
	scene.workers.at[5].since_ms += SECOND;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 1);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 2);
	assert_int_equal(scene.result->workers[5].action, SHARE_DRAIN);
	assert_int_equal(scene.result->workers[5].deadline_ms, SCENE_NOW + 600 * SECOND);
}

static void they_are_not_drained_for_borrowers(void **state)
{
	(void)state;
	start_borrowed(SHARE_BUSY, 8, 1);
	scene.queues.at[0].guaranteed = scene.queues.at[0].lendable = GPU;
	scene.queues.at[1].drain_after_ms = 600 * SECOND;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_DRAIN), 1);
}

/* ---- places ---- */

static void a_grant_needs_a_place(void **state)
{
	(void)state;
	scene_start(&scene, 8);
	share_nodes_start(&nodes, &scene, 8, 1);
	asks("a", 0, 1, 8);
	asks("b", 0, 1, 8);
	nodes.pods[1] = 8;
	scene_share(&scene);
	expect_granted("a", 0);
	expect_granted("b", 8);
}

static void a_unit_without_a_place_is_kept_its_amount_once(void **state)
{
	(void)state;
	scene_start(&scene, 10);
	share_nodes_start(&nodes, &scene, 10, 1);
	scene_queue(&scene, "gang", 8);
	scene_cluster(&scene, "gang");
	scene_ask(&scene, 8, 200);
	asks("b", 0, 5, 1);
	scene_share(&scene);
	assert_int_equal(scene.result->reserved, 0);
	expect_granted("b", 2);
}

static void workers_of_the_Node_that_fits_are_released(void **state)
{
	(void)state;
	scene_start(&scene, 12);
	share_nodes_start(&nodes, &scene, 3, 4);
	asks("a", 4, 1, 4);
	scene_queue(&scene, "b", 0);
	scene_cluster(&scene, "b");
	scene_hold(&scene, SHARE_IDLE, 12);
	for (size_t i = 0; i < 12; i++)
		share_nodes_put(&nodes, i, i % 3);
	scene.workers.at[0].state = scene.workers.at[4].state = SHARE_BUSY;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_RELEASE), 4);
	for (size_t i = 2; i < 12; i += 3)
		assert_int_equal(scene.result->workers[i].action, SHARE_RELEASE);
	scene.workers.at[2].state = SHARE_BUSY;
	scene_share(&scene);
	assert_int_equal(scene_ends(&scene, SHARE_STAY), 12);
}

static void the_largest_amounts_do_not_overflow(void **state)
{
	(void)state;
	scene_start(&scene, RESOURCE_AMOUNT_MAX / GPU);
	for (size_t i = 0; i < 40; i++) {
		size_t worker = scene.workers.count;

		asks(i % 2 ? "a" : "b", RESOURCE_AMOUNT_MAX / GPU, 3, RESOURCE_AMOUNT_MAX / GPU);
		scene.queues.at[i].weight = SHARE_WEIGHT_MAX;
		scene_hold(&scene, SHARE_IDLE, 1);
		scene.workers.at[worker].amount = RESOURCE_AMOUNT_MAX;
	}
	scene_share(&scene);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_GRANTED), 0);
	scene.workers.count = 1;
	scene.workers.at[0].amount = 1;
	scene_share(&scene);
	assert_int_equal(scene_gpus(&scene, "a", SHARE_GRANTED), 0);
}

static void an_empty_pool_is_shared(void **state)
{
	(void)state;
	scene_start(&scene, 0);
	scene_share(&scene);
	assert_int_equal(scene.result->next_ms, INT64_MAX);
}

#define CASE(test) cmocka_unit_test_teardown(test, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(guarantees_come_first),
		CASE(the_lower_part_of_a_guarantee_is_filled_first),
		CASE(borrowing_is_by_weight),
		CASE(priority_is_before_weight),
		CASE(priority_orders_units_of_a_queue),
		CASE(work_that_waits_comes_before_requests),
		CASE(requests_do_not_use_up_the_guarantee_first),
		CASE(requests_of_a_queue_are_before_work_of_a_lower_one),
		CASE(a_queue_gives_requested_workers_back_to_its_work),
		CASE(requested_workers_are_given_back_first),
		CASE(nothing_beyond_the_maximum),
		CASE(workers_that_leave_count_under_the_maximum),
		CASE(only_lendable_GPUs_are_lent),
		CASE(equal_cases_are_decided_by_waiting_time_then_name),
		CASE(clusters_of_a_queue_are_ordered_by_name),
		CASE(a_team_of_two_pools_counts_by_its_larger_share),
		CASE(guarantees_beyond_the_pool_count_in_proportion),
		CASE(a_gang_is_granted_whole_or_not),
		CASE(of_two_gangs_of_six_one_runs_and_then_the_other),
		CASE(a_gang_that_waits_long_collects_free_GPUs),
		CASE(a_reserved_gang_is_before_urgent_units_of_its_queue),
		CASE(a_reservation_leaves_guarantees_and_lower_shares),
		CASE(a_reservation_uses_what_is_kept_for_its_queue),
		CASE(what_is_reserved_is_lent_to_those_who_give_it_back_in_its_time),
		CASE(what_is_lent_comes_back_when_the_gang_then_fits),
		CASE(a_gang_that_guarantees_exclude_reserves_nothing),
		CASE(one_that_is_larger_than_the_pool_reserves_nothing),
		CASE(free_GPUs_are_kept_for_a_guaranteed_unit),
		CASE(an_unused_guarantee_is_not_a_lower_share),
		CASE(idle_borrowed_workers_are_released_for_a_guarantee),
		CASE(busy_ones_and_those_that_start_are_not),
		CASE(not_before_they_were_idle_long_enough),
		CASE(only_if_the_unit_then_fits),
		CASE(never_below_a_guarantee),
		CASE(workers_that_leave_already_count_first),
		CASE(free_GPUs_are_kept_for_a_unit_that_is_coming),
		CASE(a_larger_unit_that_does_not_fit_hinders_no_smaller_one),
		CASE(the_order_follows_a_release),
		CASE(nothing_is_released_for_those_behind_a_reservation),
		CASE(shares_of_borrowers_meet_and_do_not_cross),
		CASE(a_lower_priority_loses_first),
		CASE(another_cluster_of_the_same_queue_loses),
		CASE(two_gangs_do_not_exchange_their_halves),
		CASE(a_smaller_pool_grants_nothing_and_releases_idle_borrowed_ones),
		CASE(busy_borrowed_workers_are_drained_where_the_queue_says_so),
		CASE(they_are_not_drained_for_borrowers),
		CASE(a_grant_needs_a_place),
		CASE(a_unit_without_a_place_is_kept_its_amount_once),
		CASE(workers_of_the_Node_that_fits_are_released),
		CASE(the_largest_amounts_do_not_overflow),
		CASE(an_empty_pool_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
