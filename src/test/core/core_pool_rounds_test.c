/* Locks that an allocation must not have: units of several pools, reservations without an end, grants that are
 * not used. Members are made directly. */
#include "feature/pools/core/pool_allocation.h"

#include <string.h>

#include "base/int64.h"
#include "base/sort.h"
#include "feature/pools/core/pool_ledger.h"
#include "test/support/support.h"

#define UNITS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define NOW INT64_C(1800000000000)
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define POOLS 2
#define MEMBERS 6

/* Teams x, y and z with one RayCluster each; it has a group in each pool, of 1 GPU. */
static struct scene {
	struct arena arena;
	struct gpu_pool pools[POOLS];
	struct gpu_pool_queue queues[POOLS][MEMBERS];
	const struct gpu_pool *list[POOLS];
	int64_t capacities[POOLS];
	struct pool_past pasts[POOLS];
	struct pool_member members[MEMBERS];
	struct pool_group groups[MEMBERS][POOLS];
	struct pool_asks asks[MEMBERS];
	struct label labels[MEMBERS];
	const struct pool_allocation *last;
	const char *held[POOLS];
	bool kueue_refused;
	time_ms now;
} scene;

static const char *const TEAMS[MEMBERS] = { "u", "v", "w", "x", "y", "z" };
enum { U, V, W, X, Y, Z };

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ .arena = ARENA_INIT, .now = NOW };
	for (size_t p = 0; p < POOLS; p++) {
		for (size_t m = 0; m < MEMBERS; m++) {
			scene.labels[m] = (struct label){ "team", TEAMS[m] };
			scene.queues[p][m] = (struct gpu_pool_queue){
				.name = TEAMS[m],
				.namespaces = { .match_labels = { &scene.labels[m], 1 } },
				.weight = 1,
				.busy_after_seconds = GPU_POOL_NEVER
			};
		}
		scene.pools[p] = (struct gpu_pool){
			.name = p == 0 ? "a" : "b",
			.uid = "",
			.groups = { .accelerator_type = "", .resource_name = "" },
			.has_gpus = true,
			.queues = scene.queues[p],
			.queue_count = MEMBERS,
			.idle_after_seconds = 5,
			.busy_after_seconds = GPU_POOL_NEVER,
			.reserve_after_seconds = 120,
			.reserve_at_most_seconds = 600,
		};
		scene.list[p] = &scene.pools[p];
		scene.capacities[p] = UNITS(4);
	}
	for (size_t m = 0; m < MEMBERS; m++) {
		for (size_t p = 0; p < POOLS; p++)
			scene.groups[m][p] = (struct pool_group){ .name = p == 0 ? "ga" : "gb",
								  .pool = p,
								  .replica_gpus = UNITS(1),
								  .hosts = 1,
								  .shape = "" };
		scene.members[m] = (struct pool_member){
			.namespace_ = TEAMS[m],
			.key = arena_printf(&scene.arena, "%s/c", TEAMS[m]),
			.groups = scene.groups[m],
			.group_count = POOLS,
		};
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&scene.arena);
	return 0;
}

/* Replicas in pool a and in pool b, as one unit. */
static void ask(size_t member, int64_t in_a, int64_t in_b, bool gang)
{
	struct pool_ask_part *parts = arena_array(&scene.arena, POOLS, sizeof(*parts));
	struct pool_waiting waiting = { .parts = parts,
					.groups = "",
					.count = 1,
					.since = scene.now,
					.granted_since = TIME_NONE,
					.gang = gang };

	if (in_a > 0)
		parts[waiting.part_count++] = (struct pool_ask_part){ 0, in_a };
	if (in_b > 0)
		parts[waiting.part_count++] = (struct pool_ask_part){ 1, in_b };
	VEC_PUSH(&scene.arena, &scene.asks[member].list, waiting);
}

/* Workers that are busy since now. */
static void hold(size_t member, size_t pool, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		VEC_PUSH(&scene.arena, &scene.members[member].workers,
			 ((struct pool_worker){ .group = (uint32_t)pool,
						.pool = (uint32_t)pool,
						.state = SHARE_BUSY,
						.gpus = UNITS(1),
						.since = scene.now }));
}

static void allocate(void)
{
	const struct pool_member **members = arena_array(&scene.arena, MEMBERS, sizeof(*members));
	const struct pool_asks **asks = arena_array(&scene.arena, MEMBERS, sizeof(*asks));
	struct labels *labels = arena_array(&scene.arena, MEMBERS, sizeof(*labels));

	for (size_t m = 0; m < MEMBERS; m++) {
		members[m] = &scene.members[m];
		asks[m] = &scene.asks[m];
		labels[m] = (struct labels){ &scene.labels[m], 1 };
	}
	scene.last = pool_allocate(&(struct pool_input){ .pools = scene.list,
							 .capacities = scene.capacities,
							 .stopped = scene.held,
							 .pool_count = POOLS,
							 .per_namespace = RESOURCE_AMOUNT_MAX,
							 .members = members,
							 .asks = asks,
							 .member_count = MEMBERS,
							 .namespace_labels = labels,
							 .kueue_refused = scene.kueue_refused,
							 .pasts = scene.pasts,
							 .now = scene.now },
				   &scene.arena);
	memcpy(scene.pasts, scene.last->pasts, sizeof(scene.pasts));
	for (size_t m = 0; m < MEMBERS; m++)
		scene.asks[m] = *pool_asks_granted(scene.last, m, &scene.arena);
}

static void expect(size_t member, int64_t in_a, int64_t in_b)
{
	const int64_t *grants = scene.last->shares[member].grants;

	if (grants[0] != in_a || grants[1] != in_b)
		fail_msg("%s has %lld and %lld", TEAMS[member], (long long)grants[0],
			 (long long)grants[1]);
}

/* ---- several pools ---- */

static void two_gangs_with_a_guarantee_in_one_pool_each(void **state)
{
	(void)state;
	scene.queues[0][X].guaranteed = scene.queues[1][Y].guaranteed = UNITS(4);
	ask(X, 4, 4, true);
	ask(Y, 4, 4, true);
	allocate();
	expect(X, 4, 4);
	expect(Y, 0, 0);
}

static void two_gangs_with_opposite_priorities(void **state)
{
	(void)state;
	scene.queues[0][X].priority = scene.queues[1][Y].priority = 1;
	ask(X, 4, 4, true);
	ask(Y, 4, 4, true);
	allocate();
	assert_true(scene.last->shares[X].gives != scene.last->shares[Y].gives);
}

/* Pool b is busy for hours: pool a is not kept for a part of a gang. */
static void a_part_of_a_unit_keeps_nothing(void **state)
{
	(void)state;
	scene.queues[0][X].guaranteed = UNITS(4);
	hold(Z, 1, 4);
	ask(X, 4, 4, true);
	ask(Y, 1, 0, false);
	allocate();
	expect(X, 0, 0);
	expect(Y, 1, 0);
}

/* Of five gangs over both pools one has all of it, and the one that is small enough for the rest as well. */
static void of_many_gangs_one_runs(void **state)
{
	(void)state;
	scene.queues[0][V].priority = scene.queues[1][W].priority = 1;
	scene.queues[0][X].priority = scene.queues[1][Y].priority = 2;
	ask(U, 1, 1, true);
	for (size_t m = V; m <= Y; m++) {
		scene.now += SECOND;
		ask(m, 3, 3, true);
	}
	allocate();
	assert_int_equal(scene.last->shares[V].gives + scene.last->shares[W].gives +
				 scene.last->shares[X].gives + scene.last->shares[Y].gives,
			 1);
	expect(U, 1, 1);
}

/* The older gang has all of pool a and never all of pool b; the younger one fits beside nothing. */
static void a_unit_passed_over_for_another_one_is_tried_again(void **state)
{
	(void)state;
	hold(Z, 1, 3);
	scene.queues[0][X].priority = 1;
	ask(X, 4, 4, true);
	scene.now += SECOND;
	ask(Y, 1, 1, true);
	allocate();
	expect(X, 0, 0);
	expect(Y, 1, 1);
}

/* Others are guaranteed a part of pool a that is not lent, so ten old gangs never fit: the next ones are tried
 * in turn. Gangs that are larger than the maximum of their queue are not tried at all. */
static void units_that_never_fit_hold_back_no_others(void **state)
{
	(void)state;
	scene.queues[0][Z].guaranteed = UNITS(2);
	scene.queues[0][Z].has_lendable = true;
	scene.queues[1][X].priority = 1;
	for (int i = 0; i < 10; i++)
		ask(X, 3, 1, true);
	scene.now += SECOND;
	ask(Y, 1, 1, true);
	allocate();
	expect(Y, 0, 0);
	assert_true(scene.last->next <= scene.now + SECOND);
	scene.now += SECOND;
	allocate();
	expect(Y, 1, 1);
	scene.pasts[0].turn = 0;
	scene.queues[0][X].has_maximum = true;
	scene.queues[0][X].maximum = UNITS(2);
	allocate();
	expect(Y, 1, 1);
}

/* A unit of both pools that waits long has a reservation in both or in none. */
static void a_unit_of_two_pools_is_reserved_in_both(void **state)
{
	(void)state;
	hold(Z, 0, 1);
	ask(X, 4, 2, true);
	scene.now += 121 * SECOND;
	ask(Y, 1, 0, false);
	ask(W, 0, 3, false);
	allocate();
	expect(X, 0, 0);
	expect(Y, 0, 0);
	expect(W, 0, 0);
	hold(Z, 1, 1);
	scene.pools[1].reserve_after_seconds = GPU_POOL_NEVER;
	scene.asks[X].list.at[0].parts = ((struct pool_ask_part[]){ { 0, 4 }, { 1, 4 } });
	scene.asks[W].list.at[0].parts = ((struct pool_ask_part[]){ { 1, 2 } });
	allocate();
	expect(X, 0, 0);
	expect(Y, 1, 0);
	expect(W, 0, 2);
}

/* ---- reservations ---- */

/* An actor that never ends, a gang that needs the whole pool, and single workers. */
static void a_reservation_ends(void **state)
{
	(void)state;
	hold(Z, 0, 1);
	scene.members[Z].workers.at[0].since -= 300 * SECOND;
	ask(X, 4, 0, true);
	ask(Y, 3, 0, false);
	scene.now += 121 * SECOND;
	allocate();
	expect(Y, 0, 0);
	assert_true(scene.pasts[0].reserved_since == scene.now);
	scene.now = NOW + 301 * SECOND; /* the actor is older than reserve.atMostSeconds */
	allocate();
	expect(Y, 3, 0);
}

/* The same with work that always ends, and begins again: others have as long as the reservation took. */
static void a_reservation_is_bounded(void **state)
{
	(void)state;
	ask(X, 4, 0, true);
	ask(Y, 3, 0, false);
	for (int64_t s = 121, held = 0; s < 7200; s += 20) {
		scene.now = NOW + s * SECOND;
		scene.members[Z].workers.count = 0;
		hold(Z, 0, 1);
		scene.asks[Y].list.at[0].granted_since = TIME_NONE; /* its workers are launched */
		allocate();
		held += scene.last->shares[Y].grants[0] == 0 ? 20 : 0;
		if (held > s / 2 + 620)
			fail_msg("%lld of %lld s", (long long)held, (long long)s);
	}
	assert_true(scene.pasts[0].failures > 0);
}

/* Work with a deadline uses what is saved for a gang until the actor has ended, shortly before the reservation, which
 * lasts until the work has ended as well. */
static void a_reservation_is_lent(void **state)
{
	(void)state;
	scene.queues[0][Y].has_busy = true;
	scene.queues[0][Y].busy_after_seconds = 60;
	hold(Z, 0, 1);
	ask(W, 1, 0, false);
	scene.now += SECOND;
	ask(X, 4, 0, true);
	ask(Y, 3, 0, false);
	scene.now += 121 * SECOND;
	allocate();
	expect(X, 0, 0);
	expect(W, 0, 0);
	expect(Y, 3, 0);
	scene.asks[Y].list.count = 0;
	scene.now += SECOND;
	hold(Y, 0, 3);
	scene.now += 589 * SECOND;
	scene.members[Z].workers.at[0].since = scene.now;
	allocate();
	assert_false(scene.last->shares[Y].drains);
	scene.members[Z].workers.count = 0;
	allocate();
	assert_true(scene.last->shares[Y].drains);
	expect(W, 0, 0);
	for (size_t i = 0; i < 3; i++)
		scene.members[Y].workers.at[i].state = SHARE_LEAVING;
	scene.members[Y].workers.count = 2;
	scene.now += 30 * SECOND;
	allocate();
	expect(W, 0, 0);
	scene.members[Y].workers.count = 0;
	scene.now += 30 * SECOND;
	allocate();
	expect(X, 4, 0);
}

/* Of a unit of two pools it is not: work would end in one of them, and the other one may not have its part. */
static void a_reservation_in_two_pools_is_not_lent(void **state)
{
	(void)state;
	for (size_t p = 0; p < POOLS; p++) {
		scene.queues[p][Y].has_busy = true;
		scene.queues[p][Y].busy_after_seconds = 60;
		hold(Z, p, 1);
	}
	ask(X, 4, 4, true);
	ask(Y, 1, 0, false);
	scene.now += 121 * SECOND;
	allocate();
	assert_true(scene.pasts[0].reserved_since > 0);
	expect(Y, 0, 0);
}

static void a_single_replica_has_no_reservation(void **state)
{
	(void)state;
	hold(Z, 0, 1);
	scene.groups[X][0].replica_gpus = UNITS(4);
	ask(X, 1, 0, false);
	ask(Y, 3, 0, false);
	scene.now += 200 * SECOND;
	allocate();
	expect(Y, 3, 0);
}

/* ---- grants that are not used ---- */

static void a_grant_that_is_not_used_is_given_to_others(void **state)
{
	(void)state;
	scene.queues[0][X].guaranteed = UNITS(4);
	ask(X, 4, 0, true);
	ask(Y, 4, 0, true);
	allocate();
	expect(X, 4, 0);
	scene.now += POOL_ASK_UNUSED_MS;
	allocate();
	assert_true(scene.last->next <= scene.now);
	scene.now += SECOND;
	allocate();
	expect(X, 0, 0);
	expect(Y, 4, 0);
	scene.now += POOL_ASK_REST_MS - 2 * SECOND;
	scene.asks[Y].list.count = 0;
	allocate();
	expect(X, 0, 0);
	scene.now += 2 * SECOND;
	allocate();
	expect(X, 4, 0);
}

/* 1,500 entries of one RayCluster: those of another queue are written all the same. */
static void status_waiting_has_a_share_for_each_queue(void **state)
{
	struct gpu_pool_status status;
	size_t of_y = 0;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		scene.now += SECOND;
		ask(X, 1, 0, false);
	}
	ask(Y, 1, 0, false);
	allocate();
	pool_status_make(scene.last, 0, NULL, &scene.arena, &status);
	assert_in_range(status.waiting_unit_count, 100, GPU_POOL_WAITING_MAX);
	for (size_t i = 0; i < status.waiting_unit_count; i++)
		of_y += strcmp(status.waiting_units[i].cluster, "y/c") == 0;
	assert_int_equal(of_y, 1);
}

/* The oldest unit grows from 1 GPU to 4: it waits behind the others. */
static void a_larger_unit_has_a_new_place(void **state)
{
	(void)state;
	hold(Z, 0, 4);
	ask(X, 1, 0, false);
	allocate();
	scene.now += SECOND;
	ask(Y, 1, 0, false);
	allocate();
	scene.now += SECOND;
	scene.groups[X][0].replica_gpus = UNITS(4);
	scene.members[Z].workers.count = 0;
	allocate();
	expect(X, 0, 0);
	expect(Y, 1, 0);
}

static const struct condition *condition(const char *type)
{
	struct gpu_pool_status status;

	pool_status_make(scene.last, 0, NULL, &scene.arena, &status);
	return condition_find(status.conditions.at, status.conditions.count, type);
}

static void the_condition_says_what_cannot_work(void **state)
{
	(void)state;
	allocate();
	assert_string_equal(condition("Ready")->status, "True");
	assert_null(condition(GPU_POOL_UNUSED));
	scene.kueue_refused = true;
	allocate();
	assert_string_equal(condition("Ready")->status, "True");
	scene.pools[0].kueue_outside = true;
	allocate();
	assert_string_equal(condition("Ready")->reason, "WorkloadsUnknown");
	scene.queues[0][X].guaranteed = scene.queues[0][Y].guaranteed = UNITS(3);
	allocate();
	assert_string_equal(condition("Ready")->reason, "GuaranteesAboveSize");
	scene.capacities[0] = 0;
	allocate();
	assert_string_equal(condition("Ready")->reason, "NoGPUs");
}

/* minReplicas, or a maximum that was lowered. */
static void a_queue_above_its_maximum_is_named(void **state)
{
	(void)state;
	scene.queues[0][X].has_maximum = true;
	scene.queues[0][X].maximum = UNITS(2);
	hold(X, 0, 2);
	allocate();
	assert_null(condition(GPU_POOL_ABOVE_MAXIMUM));
	hold(X, 0, 1);
	ask(X, 1, 0, false);
	allocate();
	expect(X, 0, 0);
	assert_non_null(strstr(condition(GPU_POOL_ABOVE_MAXIMUM)->message,
			       "queue x holds 3 GPUs, above its maximum 2; "));
}

/* A gang above the guarantee waits for GPUs to borrow. */
static void a_gang_above_the_guarantee_is_not_below_it(void **state)
{
	struct gpu_pool_status status;

	(void)state;
	hold(Z, 0, 4);
	scene.queues[0][X].guaranteed = UNITS(2);
	for (int64_t gpus = 2; gpus <= 3; gpus++) {
		scene.asks[X].list.count = 0;
		ask(X, gpus, 0, true);
		allocate();
		pool_status_make(scene.last, 0, NULL, &scene.arena, &status);
		assert_true((status.queues[X].below_guarantee_since == scene.now) == (gpus == 2));
	}
}

static const char *why(size_t member)
{
	const struct pool_terms *terms = pool_terms_make(scene.last, member, false, &scene.arena);

	return terms->grants[0].message;
}

static void who_does_not_use_a_grant_is_named(void **state)
{
	(void)state;
	ask(X, 4, 0, true);
	allocate();
	scene.now += SECOND;
	ask(Y, 1, 0, false);
	allocate();
	assert_null(strstr(why(Y), "x/c"));
	scene.now += POOL_ASK_TOLD_MS;
	allocate();
	assert_non_null(strstr(why(Y), "x/c has not used 4 GPUs, granted at "));
	assert_non_null(strstr(condition(GPU_POOL_UNUSED)->message, "x/c has not used 4 GPUs"));
	scene.now += POOL_ASK_UNUSED_MS;
	allocate();
	scene.now += SECOND;
	allocate();
	assert_non_null(strstr(why(X), "and is granted none before "));
}

/* Progress is a use: what is left has its time again. */
static void a_launch_counts_as_use(void **state)
{
	const int64_t launched[] = { 1, 0 };

	(void)state;
	ask(X, 1, 0, false);
	scene.asks[X].list.at[0].count = 3;
	allocate();
	expect(X, 3, 0);
	scene.now += POOL_ASK_UNUSED_MS - SECOND;
	scene.asks[X] = *pool_asks_launched(&scene.asks[X], launched, 2, &scene.arena);
	hold(X, 0, 1);
	allocate();
	scene.now += POOL_ASK_UNUSED_MS - SECOND;
	allocate();
	allocate();
	expect(X, 2, 0);
}

/* Four workers of X in pool a that start, are in use, or have ended. */
static void set_workers(int64_t count, enum share_state worker_state)
{
	scene.members[X].workers.count = 0;
	hold(X, 0, count);
	VEC_EACH(struct pool_worker, worker, &scene.members[X].workers)
		worker->state = worker_state;
}

/* X launches 4 workers, Y waits for 100 s, and the workers end. */
static void waste(bool in_use)
{
	scene.asks[X] = (struct pool_asks){ .list = { .at = NULL } };
	set_workers(4, SHARE_STARTING);
	ask(Y, 4, 0, true);
	allocate();
	scene.now += 100 * SECOND;
	allocate();
	expect(Y, 0, 0);
	if (in_use)
		set_workers(4, SHARE_BUSY);
	allocate();
	set_workers(0, SHARE_IDLE);
	ask(X, 4, 0, true);
	scene.asks[X].list.at[0].since = 1;
	allocate();
	allocate();
}

static void workers_that_were_never_busy_cost_the_next_grant(void **state)
{
	(void)state;
	waste(false);
	expect(X, 0, 0);
	expect(Y, 4, 0);
	assert_non_null(strstr(why(X), "were never busy"));
	scene.asks[Y].list.count = 0;
	scene.now += (POOL_ASK_WASTE_TIMES * 100 - 1) * SECOND;
	allocate();
	expect(X, 0, 0);
	assert_true(scene.last->next <= scene.now + SECOND);
	scene.now += SECOND;
	allocate();
	expect(X, 4, 0);
}

static void workers_that_were_busy_cost_nothing(void **state)
{
	(void)state;
	waste(true);
	expect(X, 4, 0);
	expect(Y, 0, 0);
}

static void within_the_guarantee_they_cost_nothing(void **state)
{
	(void)state;
	scene.queues[0][X].guaranteed = UNITS(4);
	waste(false);
	expect(X, 4, 0);
}

/* Ray does not answer: the place stays, and others have the GPUs. */
static void what_ray_does_not_confirm_is_granted_nothing(void **state)
{
	(void)state;
	ask(X, 4, 0, true);
	scene.now += SECOND;
	ask(Y, 4, 0, true);
	scene.asks[X] = pool_asks_unconfirmed(&scene.asks[X], scene.now);
	allocate();
	expect(X, 4, 0);
	assert_true(scene.last->next <= scene.now + POOL_ASK_CONFIRM_MS);
	scene.now += POOL_ASK_CONFIRM_MS;
	scene.asks[X] = pool_asks_unconfirmed(&scene.asks[X], scene.now);
	allocate();
	expect(X, 0, 0);
	expect(Y, 4, 0);
	scene.asks[X].unconfirmed_since = 0;
	allocate();
	expect(X, 4, 0);
}

/* ---- forged gangs ---- */

#define HONEST 8 /* GPUs that the tasks of Y always ask for */
#define FORGERS 4
#define STEP (10 * SECOND)
#define TASK (600 * SECOND)

/* The tasks of Y end, others follow. A forger asks for a gang of the whole pool, whose workers are never busy and end. */
static struct {
	time_ms ends[HONEST];   /* 0: no worker */
	time_ms since[FORGERS]; /* of its workers; 0: there are none */
	int64_t busy_ms;
} stream;

static void hold_again(size_t member, int64_t count, enum share_state state, time_ms since)
{
	for (int64_t i = 0; i < count; i++)
		VEC_PUSH(
			&scene.arena, &scene.members[member].workers,
			((struct pool_worker){ .state = state, .gpus = UNITS(1), .since = since }));
}

static void work_ends(size_t forgers)
{
	for (size_t m = 0; m < forgers; m++) {
		bool idle = scene.now - stream.since[m] >= 30 * SECOND;

		scene.members[m].workers.count = 0;
		if (scene.now - stream.since[m] >= 40 * SECOND)
			stream.since[m] = 0;
		if (stream.since[m] > 0)
			hold_again(m, HONEST, idle ? SHARE_IDLE : SHARE_STARTING, stream.since[m]);
		else if (scene.asks[m].list.count == 0)
			ask(m, HONEST, 0, true);
	}
	scene.members[Y].workers.count = 0;
	for (size_t i = 0; i < HONEST; i++) {
		if (stream.ends[i] <= scene.now)
			stream.ends[i] = 0;
		if (stream.ends[i] > 0)
			hold_again(Y, 1, SHARE_BUSY, stream.ends[i] - TASK);
	}
}

static void work_begins(size_t forgers)
{
	int64_t granted = scene.last->shares[Y].grants[0];

	for (size_t m = 0; m < forgers; m++)
		if (scene.last->shares[m].grants[0] > 0) {
			stream.since[m] = scene.now;
			scene.asks[m].list.count = 0;
		}
	for (size_t i = 0; i < HONEST; i++) {
		if (stream.ends[i] == 0 && granted-- > 0)
			stream.ends[i] = scene.now + TASK + (time_ms)i * 37 * SECOND;
		stream.busy_ms += stream.ends[i] > 0 ? STEP : 0;
	}
}

static int64_t busy_ms_beside(size_t forgers)
{
	memset(&stream, 0, sizeof(stream));
	scene.now = NOW;
	scene.capacities[0] = UNITS(HONEST);
	scene.pools[0].reserve_at_most_seconds = 1800;
	for (; scene.now < NOW + 240 * MINUTE; scene.now += STEP) {
		work_ends(forgers);
		scene.asks[Y].list.count = 0;
		ask(Y, 1, 0, false);
		scene.asks[Y].list.at[0].count = HONEST - (int64_t)scene.members[Y].workers.count;
		scene.asks[Y].list.count = scene.asks[Y].list.at[0].count > 0;
		allocate();
		work_begins(forgers);
	}
	return stream.busy_ms;
}

/* Of a team without a guarantee, in 4 hours. */
static void four_who_forge_gangs_cost_less_than_a_tenth(void **state)
{
	int64_t alone = busy_ms_beside(0);

	(void)teardown(state);
	(void)setup(state);
	assert_true(busy_ms_beside(FORGERS) * 10 > alone * 9);
}

/* X has waited long enough for a gang of the whole pool; Y holds a part of it, and asks for the rest. */
static void wait_for_whole_pool(int64_t of_y)
{
	scene.pools[0].reserve_at_most_seconds = 1800;
	scene.members[X].workers.count = scene.members[Y].workers.count = 0;
	scene.asks[X].list.count = scene.asks[Y].list.count = 0;
	hold(Y, 0, of_y);
	ask(X, 4, 0, true);
	scene.asks[X].list.at[0].since -= 200 * SECOND;
	ask(Y, 4 - of_y, 0, false);
	allocate();
}

/* One of 4 GPUs was left unused for 400 s, and 4 workers start: 1,520 s of GPUs with what was paid meanwhile. A
 * twentieth of the pool pays it in 7,600 s, of which 61 s have passed. */
static void nothing_is_saved_for_a_queue_that_left_much_unused(void **state)
{
	(void)state;
	wait_for_whole_pool(3);
	expect(Y, 0, 0);
	scene.now += 400 * SECOND;
	wait_for_whole_pool(0);
	expect(X, 4, 0);
	scene.now += SECOND; /* before its launch */
	wait_for_whole_pool(0);
	expect(X, 4, 0);
	scene.asks[X].list.count = 0;
	allocate();
	scene.now += 60 * SECOND;
	wait_for_whole_pool(3);
	expect(Y, 1, 0);
	assert_non_null(strstr(why(X), "no GPUs are saved for now"));
	scene.now += 7530 * SECOND;
	wait_for_whole_pool(3);
	expect(Y, 1, 0);
	assert_true(scene.last->next <= scene.now + 11 * SECOND);
	scene.now = scene.last->next;
	wait_for_whole_pool(3);
	expect(Y, 0, 0);
}

static void use_pays_for_what_was_saved(void **state)
{
	(void)state;
	wait_for_whole_pool(3);
	scene.now += 400 * SECOND;
	wait_for_whole_pool(0);
	scene.members[X].workers.count = scene.asks[X].list.count = 0;
	hold(X, 0, 4);
	scene.now += 3800 * SECOND;
	allocate();
	wait_for_whole_pool(3);
	expect(Y, 0, 0);
}

/* The reservation is charged however it ends, also when its RayCluster is deleted. */
static void a_gang_that_is_withdrawn_has_cost_as_much(void **state)
{
	(void)state;
	wait_for_whole_pool(3);
	scene.now += 400 * SECOND;
	scene.asks[X].list.count = 0;
	allocate();
	scene.now += 10 * MINUTE;
	wait_for_whole_pool(3);
	expect(Y, 1, 0);
}

/* While X owes, nothing is saved for others either: the queues of one tenant are as one. */
static void nothing_is_saved_for_others_while_a_queue_owes(void **state)
{
	(void)state;
	wait_for_whole_pool(3);
	scene.now += 400 * SECOND;
	scene.asks[X].list.count = 0;
	allocate();
	scene.now += 10 * MINUTE;
	ask(W, 4, 0, true);
	scene.asks[W].list.at[0].since -= 200 * SECOND;
	allocate();
	expect(Y, 1, 0);
	assert_non_null(strstr(why(W), "no GPUs are saved for now"));
	while (scene.now < NOW + 240 * MINUTE && scene.pasts[0].queues[X].owed > 0) {
		allocate();
		scene.now += MINUTE;
	}
	scene.asks[Y].list.count = 0;
	ask(Y, 1, 0, false);
	allocate();
	expect(Y, 0, 0);
}

/* With the work of Y that ends, and begins again. */
static void allocate_until_a_reservation_fails(void)
{
	while (scene.pasts[0].failures == 0 && scene.now < NOW + 240 * MINUTE) {
		scene.now = int64_max(scene.last->next, scene.now + SECOND);
		scene.members[Y].workers.at[0].since = scene.now;
		allocate();
	}
}

/* 3 of 4 GPUs are idle for it: in 1,200 s it costs half of 4 GPUs for 1,800 s, beside the twentieth of the pool. */
static void a_reservation_that_costs_half_ends(void **state)
{
	(void)state;
	wait_for_whole_pool(1);
	expect(Y, 0, 0);
	allocate_until_a_reservation_fails();
	expect(Y, 3, 0);
	assert_true(scene.now > NOW + 1200 * SECOND && scene.now < NOW + 1300 * SECOND);
}

/* It may cost less than the one before, for which more is owed by now. */
static void a_smaller_gang_continues_the_reservation(void **state)
{
	(void)state;
	wait_for_whole_pool(1);
	scene.now += 800 * SECOND;
	scene.members[Y].workers.count = scene.asks[X].list.count = 0;
	hold(Y, 0, 3);
	ask(X, 2, 0, true);
	scene.asks[X].list.at[0].since -= 200 * SECOND;
	allocate();
	assert_true(scene.pasts[0].reserved_since == NOW);
	scene.now = scene.last->next;
	allocate();
	assert_int_equal(scene.pasts[0].failures, 1);
}

/* A second gang of the queue, which is as old, begins no other reservation when the first one is launched. */
static void a_launch_passes_no_reservation_on(void **state)
{
	(void)state;
	wait_for_whole_pool(3);
	scene.asks[X].list.at[0].count = 2;
	scene.now += 400 * SECOND;
	scene.members[Y].workers.count = 0;
	allocate();
	expect(X, 4, 0);
	scene.now += SECOND;
	hold(X, 0, 3);
	scene.asks[X].list.at[0].count = 1;
	allocate();
	expect(Y, 1, 0);
	assert_true(scene.pasts[0].reserved_since == 0);
}

/* Each of two queues has its minute to launch. */
static void two_grants_of_reservations_stay(void **state)
{
	(void)state;
	scene.queues[0][Y].priority = 1;
	scene.capacities[0] = UNITS(8);
	for (size_t m = W; m <= X; m++) {
		ask(m, 4, 0, true);
		scene.asks[m].list.at[0].since -= 200 * SECOND;
	}
	allocate();
	scene.now += SECOND;
	allocate();
	expect(W, 4, 0);
	expect(X, 4, 0);
	scene.now += SECOND;
	ask(Z, 8, 0, false);
	scene.asks[Z].list.at[0].since = 1;
	allocate();
	expect(W, 4, 0);
	expect(X, 4, 0);
}

/* Another controller, which has waited to lead and has read an older status, reads it in the status. */
static void restart(void)
{
	struct pool_ledger ledger = { .settings = NULL };

	pool_ledger_set_pools(&ledger, scene.list, POOLS);
	for (size_t p = 0; p < POOLS; p++) {
		struct gpu_pool_status *status = ARENA_NEW(&scene.arena, struct gpu_pool_status);

		pool_status_make(scene.last, p, NULL, &scene.arena, status);
		scene.pools[p].status = status;
	}
	pool_ledger_set_pools(&ledger, scene.list, POOLS);
	memcpy(scene.pasts, ledger.pasts, sizeof(scene.pasts));
	pool_ledger_done(&ledger);
}

/* Of a reservation, of one that was granted, of its debt, and of the time that others have after it. */
static void a_restart_changes_no_reservation(void **state)
{
	time_ms next;

	(void)state;
	wait_for_whole_pool(3);
	scene.now += 100 * SECOND;
	allocate();
	restart();
	scene.held[0] = "demand is not known yet";
	allocate();
	scene.held[0] = NULL;
	allocate();
	expect(Y, 0, 0);
	assert_true(scene.pasts[0].reserved_since == NOW);
	scene.now += 400 * SECOND;
	wait_for_whole_pool(0);
	expect(X, 4, 0);
	restart();
	scene.asks[Y].list.at[0].since = 1;
	allocate();
	expect(X, 4, 0);
	scene.asks[X].list.count = 0;
	scene.now += 61 * SECOND;
	restart();
	wait_for_whole_pool(3);
	expect(Y, 1, 0);
	scene.asks[X].list.count = scene.asks[Y].list.count = 0;
	while (scene.pasts[0].queues[X].owed > 0) {
		scene.now += MINUTE;
		allocate();
	}
	wait_for_whole_pool(1);
	allocate_until_a_reservation_fails();
	next = scene.pasts[0].reserve_again;
	assert_true(next > scene.now);
	restart();
	assert_true(scene.pasts[0].reserve_again == next);
	assert_int_equal(scene.pasts[0].failures, 1);
}

/* Asks are those of the last decision; the RayCluster may have lost a group since. */
static void asks_of_a_group_that_left_are_none(void **state)
{
	(void)state;
	ask(W, 1, 1, true);
	scene.members[W].groups = ARENA_COPY(&scene.arena, scene.groups[W], 1);
	scene.members[W].group_count = 1;
	allocate();
	assert_int_equal(scene.last->shares[W].grants[0], 0);
}

/* Amounts that no Node has: a tenant may write them. */
static void amounts_have_no_limit(void **state)
{
	(void)state;
	wait_for_whole_pool(3);
	scene.now += 100 * SECOND;
	allocate();
	hold(X, 0, 12);
	VEC_EACH(struct pool_worker, worker, &scene.members[X].workers)
		worker->gpus = RESOURCE_AMOUNT_MAX;
	for (int i = 0; i < 3; i++) {
		scene.now += 400 * SECOND;
		allocate();
	}
	for (size_t q = 0; q < MEMBERS; q++)
		assert_true(scene.pasts[0].queues[q].owed >= 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_gangs_with_a_guarantee_in_one_pool_each),
		TEST(two_gangs_with_opposite_priorities),
		TEST(a_part_of_a_unit_keeps_nothing),
		TEST(of_many_gangs_one_runs),
		TEST(a_unit_passed_over_for_another_one_is_tried_again),
		TEST(units_that_never_fit_hold_back_no_others),
		TEST(a_unit_of_two_pools_is_reserved_in_both),
		TEST(a_reservation_ends),
		TEST(a_reservation_is_bounded),
		TEST(a_reservation_is_lent),
		TEST(a_reservation_in_two_pools_is_not_lent),
		TEST(a_single_replica_has_no_reservation),
		TEST(a_grant_that_is_not_used_is_given_to_others),
		TEST(status_waiting_has_a_share_for_each_queue),
		TEST(a_larger_unit_has_a_new_place),
		TEST(the_condition_says_what_cannot_work),
		TEST(a_queue_above_its_maximum_is_named),
		TEST(a_gang_above_the_guarantee_is_not_below_it),
		TEST(who_does_not_use_a_grant_is_named),
		TEST(a_launch_counts_as_use),
		TEST(what_ray_does_not_confirm_is_granted_nothing),
		TEST(workers_that_were_never_busy_cost_the_next_grant),
		TEST(workers_that_were_busy_cost_nothing),
		TEST(within_the_guarantee_they_cost_nothing),
		TEST(four_who_forge_gangs_cost_less_than_a_tenth),
		TEST(nothing_is_saved_for_a_queue_that_left_much_unused),
		TEST(use_pays_for_what_was_saved),
		TEST(a_gang_that_is_withdrawn_has_cost_as_much),
		TEST(nothing_is_saved_for_others_while_a_queue_owes),
		TEST(a_reservation_that_costs_half_ends),
		TEST(a_smaller_gang_continues_the_reservation),
		TEST(a_launch_passes_no_reservation_on),
		TEST(two_grants_of_reservations_stay),
		TEST(a_restart_changes_no_reservation),
		TEST(asks_of_a_group_that_left_are_none),
		TEST(amounts_have_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
