/* Shares the pools, again without units that would take a part of what they need.
 *
 * A unit of several pools that has GPUs of one of them and waits in another one would keep the first ones idle
 * for as long, and two such units could wait for each other for ever. So after each round the units that have not
 * all of their parts, granted, coming or reserved, are passed over, the younger half of them first, until those
 * that are left have all. Then those that the free part would hold are tried again, one after the other: some in
 * each call, in turn, so that old ones that never fit hold back no others.
 *
 * Example: x and y ask 4 + 4 GPUs of pools a and b with 4 each; x is guaranteed those of a, y those of b. Each
 * has one part. Without y, which asks later, x has both.
 *
 * Cost: log2(J) + 1 + TRIES_MAX rounds for J such asks; one round without any. */
#include <string.h>

#include "base/int64.h"
#include "base/sort.h"
#include "core/share/share.h"
#include "feature/pools/core/pool_table.h"

#define TRIES_MAX 8
#define TRIES_AGAIN_MS 1000

struct rounds {
	const struct pool_input *input;
	struct pool_tables *tables;
	struct pool_past *pasts;
	struct arena *arena, scratch;
	bool more; /* units are left to try */
};

static int64_t not_held(const struct pool_table *table, int64_t capacity)
{
	int64_t left = capacity - table->outside;

	VEC_EACH(const struct share_worker, worker, &table->workers)
		left = int64_max(left - worker->amount, -RESOURCE_AMOUNT_MAX);
	return left;
}

static int64_t free_in(const struct pool_table *table, int64_t capacity)
{
	int64_t free = not_held(table, capacity);

	for (size_t u = 0; u < table->units.count; u++)
		if (table->result.units[u] >= SHARE_COMING)
			free = int64_max(free - table->units.at[u].amount, -RESOURCE_AMOUNT_MAX);
	return free;
}

/* ---- debts of reservations ---- */

static int64_t at_most_ms(const struct pool_table *table)
{
	return table->pool->reserve_at_most_seconds * MS_PER_SECOND;
}

/* Of the present one. The GPUs of a unit that is coming are free in less than twice the time; if it comes no more
 * later than that, the reservation ends with the next allocation. */
static int64_t limit_ms(const struct pool_table *table, const struct pool_past *past)
{
	return at_most_ms(table) * (past->coming ? 2 : 1);
}

static size_t queue_of(const struct pool_table *table, size_t cluster)
{
	return table->clusters.at[cluster].queue;
}

static bool is_saved_for(const struct pool_past *past, size_t queue)
{
	return past->reserved_since > 0 && past->saved_for == queue;
}

static int64_t debtors(const struct pool_past *past)
{
	int64_t count = 0;

	ARRAY_EACH(const struct pool_past_queue, queue, past->queues, GPU_POOL_QUEUES_MAX + 1)
		count += queue->owed > 0;
	return count;
}

static void owe(struct pool_past *past, size_t queue, int64_t gpus, int64_t ms)
{
	int64_t *owed = &past->queues[queue].owed;

	*owed = resource_sum(*owed, resource_product(gpus, ms));
}

static void add(int64_t *sum, int64_t amount)
{
	*sum = resource_sum(*sum, amount);
}

/* For the time since the last allocation. */
static void settle_debts(struct pool_past *past, const struct pool_table *table, int64_t capacity,
			 int64_t ms)
{
	int64_t used[GPU_POOL_QUEUES_MAX + 1] = { 0 }, count;

	owe(past, past->saved_for, past->saved, ms);
	count = debtors(past);
	if (count == 0)
		return;
	VEC_EACH(const struct share_worker, worker, &table->workers)
		if (worker->state == SHARE_BUSY)
			add(&used[queue_of(table, worker->cluster)], worker->amount);
	for (size_t q = 0; q < table->queues.count; q++)
		past->queues[q].owed = int64_max(
			past->queues[q].owed -
				resource_product(resource_sum(used[q], capacity / count), ms) /
					POOL_DEBT_PART,
			0);
}

/* While a queue owes, the unit with the reservation keeps it, and one that was granted it is granted it again. */
static void refuse_reservations(const struct pool_past *past, struct pool_table *table,
				int64_t capacity)
{
	int64_t left = not_held(table, capacity);

	if (debtors(past) == 0)
		return;
	VEC_EACH(struct share_unit, unit, &table->units) {
		size_t queue = queue_of(table, unit->cluster);

		unit->refused = !unit->unreserved && !is_saved_for(past, queue) &&
				!(pool_past_granted(past, queue) && unit->amount <= left);
	}
}

/* Its workers start; once for each grant. */
static void note_granted(struct pool_past *past, const struct pool_table *table)
{
	const struct share_unit *unit = &table->units.at[table->result.granted];
	size_t queue = queue_of(table, unit->cluster);

	if (!pool_past_granted(past, queue))
		owe(past, queue, unit->amount, POOL_DEBT_START_MS);
	past->queues[queue].granted_since = past->at;
}

static void note_saved(struct pool_past *past, const struct pool_table *table, int64_t capacity)
{
	size_t unit = table->result.reserved;
	int64_t free = free_in(table, capacity), amount, limit = limit_ms(table, past);

	if (unit == SHARE_NONE)
		return;
	amount = table->units.at[unit].amount;
	if (past->coming)
		free += amount;
	past->saved = int64_max(int64_min(amount, free), 0);
	past->saved_for = queue_of(table, table->units.at[unit].cluster);
	past->most = limit > 0 ? resource_product(amount, limit / 2) : INT64_MAX;
}

/* More than so many ms later. */
static time_ms time_after(time_ms at, int64_t ms)
{
	return resource_sum(at, int64_min(ms, RESOURCE_AMOUNT_MAX - 1) + 1);
}

/* When no queue owes anything, without use. */
static time_ms next_paid(const struct pool_past *past, int64_t capacity)
{
	int64_t sum = 0, part = int64_max(capacity / POOL_DEBT_PART, 1);

	ARRAY_EACH(const struct pool_past_queue, queue, past->queues, GPU_POOL_QUEUES_MAX + 1)
		sum = resource_sum(sum, queue->owed);
	return sum == 0 ? INT64_MAX : time_after(past->at, sum / part);
}

/* ---- reservations in time ---- */

/* Its debt reaches the most then. */
static time_ms next_too_much(const struct pool_past *past)
{
	int64_t left = int64_max(past->most - past->queues[past->saved_for].owed, 0);

	return past->saved > 0 ? time_after(past->at, left / past->saved) : INT64_MAX;
}

/* It took, or cost, as much as it may. */
static bool is_over(const struct pool_table *table, const struct pool_past *past)
{
	return past->reserved_since > 0 && at_most_ms(table) > 0 &&
	       (past->at - past->reserved_since >= limit_ms(table, past) ||
		past->queues[past->saved_for].owed >= past->most);
}

static void end_reservation(struct pool_past *past, time_ms now)
{
	past->reserve_again = now + ((now - past->reserved_since) << past->failures);
	past->reserved_since = 0;
	past->coming = false;
}

/* Of a leader before, with another clock. */
static void bound_times(struct pool_past *past, const struct pool_table *table, time_ms now)
{
	if (past->reserved_since != 0)
		past->reserved_since = int64_min(
			int64_max(past->reserved_since, now - limit_ms(table, past)), now);
	past->reserve_again =
		int64_min(past->reserve_again, now + (at_most_ms(table) << POOL_FAILURES_MAX));
	ARRAY_EACH(struct pool_past_queue, queue, past->queues, GPU_POOL_QUEUES_MAX + 1)
		queue->granted_since = int64_min(queue->granted_since, now);
}

static void start_past(const struct rounds *r, size_t pool)
{
	struct pool_past *past = &r->pasts[pool];
	struct pool_table *table = &r->tables->at[pool];
	time_ms now = r->input->now;

	if (gpu_pool_is_of_flags(table->pool->name))
		return;
	if (r->input->pasts)
		*past = r->input->pasts[pool];
	if (past->at > 0 && now > past->at)
		settle_debts(past, table, r->input->capacities[pool], now - past->at);
	if (past->at == 0)
		bound_times(past, table, now);
	past->at = now;
	if (is_over(table, past)) {
		end_reservation(past, now);
		past->failures += past->failures < POOL_FAILURES_MAX;
	}
	refuse_reservations(past, table, r->input->capacities[pool]);
}

static void finish_past(const struct rounds *r, size_t pool)
{
	struct pool_table *table = &r->tables->at[pool];
	struct pool_past *past = &r->pasts[pool];
	time_ms now = r->input->now;
	bool reserved = table->result.reserved != SHARE_NONE;

	table->next = table->result.next_ms;
	past->saved = 0;
	if (r->input->stopped[pool])
		return; /* the reservation is continued */
	if (reserved && past->reserved_since == 0)
		past->reserved_since = now;
	if (table->result.granted != SHARE_NONE) {
		note_granted(past, table);
		past->reserved_since = past->reserve_again = 0;
		past->failures = 0;
	} else if (!reserved && past->reserved_since > 0) {
		end_reservation(past, now);
	}
	past->coming = reserved && table->result.units[table->result.reserved] == SHARE_COMING;
	note_saved(past, table, r->input->capacities[pool]);
	if (reserved && at_most_ms(table) > 0)
		table->next =
			int64_min(table->next,
				  int64_max(int64_min(past->reserved_since + limit_ms(table, past),
						      next_too_much(past)),
					    now + 1));
	if (past->reserve_again > now)
		table->next = int64_min(table->next, past->reserve_again);
	table->next = int64_min(table->next, next_paid(past, r->input->capacities[pool]));
	if (r->more)
		table->next = int64_min(table->next, now + TRIES_AGAIN_MS);
}

/* ---- one round ---- */

static struct share_pool share_pool_of(struct rounds *r, size_t pool)
{
	struct pool_table *table = &r->tables->at[pool];
	int64_t capacity = r->input->capacities[pool] - table->outside;
	/* Without a Node with GPUs the amounts say the same. */
	bool places = r->input->free && r->input->free->gpus[pool] > 0 && table->units.count > 0;
	bool reserves = r->pasts[pool].reserve_again <= r->input->now;
	time_ms since = r->pasts[pool].reserved_since;

	table->places = (struct pool_places_input){ .free = r->input->free,
						    .devices = r->input->devices,
						    .index = pool,
						    .capacity = capacity,
						    .members = table->members.at,
						    .cluster_count = table->clusters.count,
						    .units = table->units.at,
						    .asks = table->asks.at,
						    .workers = table->workers.at,
						    .held = table->held.at,
						    .worker_count = table->workers.count };
	return (struct share_pool){
		.capacity = capacity > 0 ? capacity : 0,
		.now_ms = r->input->now,
		.idle_after_ms = gpu_pool_ms(table->pool->idle_after_seconds, INT64_MAX / 2),
		.reserve_after_ms =
			reserves ? gpu_pool_ms(table->pool->reserve_after_seconds, SHARE_NEVER) :
				   SHARE_NEVER,
		.reserve_at_most_ms = at_most_ms(table),
		.reserved_since_ms = since > 0 ? since : r->input->now,
		.queues = table->queues.at,
		.queue_count = table->queues.count,
		.clusters = table->clusters.at,
		.cluster_count = table->clusters.count,
		.units = table->units.at,
		.unit_count = table->units.count,
		.workers = table->workers.at,
		.worker_count = table->workers.count,
		.places = places ? pool_places_make(&table->places, &r->scratch) : NULL,
	};
}

/* Sets the results of the tables. A pool that is stopped changes nothing. */
static void share_all(struct rounds *r)
{
	size_t pools = r->input->pool_count, count = 0;
	struct share_pool *shared;
	const struct share_result *result;

	arena_reset(&r->scratch);
	shared = arena_array(&r->scratch, pools, sizeof(*shared));
	for (size_t p = 0; p < pools; p++)
		if (!r->input->stopped[p])
			shared[count++] = share_pool_of(r, p);
	result = share(shared, count, r->arena);
	for (size_t p = 0; p < pools; p++) {
		struct pool_table *table = &r->tables->at[p];

		if (!r->input->stopped[p]) {
			table->result = *result++;
			continue;
		}
		table->result = (struct share_result){
			.units = arena_array(r->arena, table->units.count,
					     sizeof(enum share_verdict)),
			.workers = arena_array(r->arena, table->workers.count,
					       sizeof(struct share_order)),
			.reserved = SHARE_NONE,
			.granted = SHARE_NONE,
			.next_ms = INT64_MAX,
		};
	}
}

/* ---- units of several pools ---- */

static const struct pool_run *run_of(const struct rounds *r, const struct pool_joint *joint,
				     size_t pool)
{
	return joint->runs[pool] == POOL_NONE ? NULL :
						&r->tables->at[pool].runs.at[joint->runs[pool]];
}

/* Units that have their part, or the reservation for it. */
static size_t taken(const struct pool_table *table, const struct pool_run *run)
{
	size_t count = 0;

	for (size_t u = run->first; u < run->first + run->count; u++)
		count += table->result.units[u] >= SHARE_COMING || table->result.reserved == u;
	return count;
}

/* Units that have all of their parts. */
static size_t whole(const struct rounds *r, const struct pool_joint *joint)
{
	size_t least = SIZE_MAX;

	for (size_t p = 0; p < r->input->pool_count; p++) {
		const struct pool_run *run = run_of(r, joint, p);
		size_t count = run ? taken(&r->tables->at[p], run) : SIZE_MAX;

		least = count < least ? count : least;
	}
	return least;
}

/* Equal units are taken in their order. */
static void keep_units(struct rounds *r, struct pool_joint *joint, size_t kept)
{
	joint->kept = kept;
	for (size_t p = 0; p < r->input->pool_count; p++) {
		const struct pool_run *run = run_of(r, joint, p);

		if (!run)
			continue;
		for (size_t i = 0; i < run->count; i++) {
			struct share_unit *unit = &r->tables->at[p].units.at[run->first + i];

			unit->passed_over = i >= kept;
			unit->unlent = true;
		}
	}
}

static int by_age(const void *left, const void *right)
{
	const struct pool_joint *a = left, *b = right;

	if (a->ask->since != b->ask->since)
		return a->ask->since < b->ask->since ? -1 : 1;
	return strcmp(a->key, b->key);
}

/* Those with units that may take GPUs and have not all of their parts, the oldest first. */
static size_t list_torn(const struct rounds *r, struct pool_joint **list)
{
	size_t count = 0;

	VEC_EACH(struct pool_joint, joint, &r->tables->joints)
		if (joint->kept > whole(r, joint))
			list[count++] = joint;
	return count;
}

static void pass_over_torn(struct rounds *r)
{
	struct pool_joint **torn =
		arena_array(r->arena, r->tables->joints.count, sizeof(struct pool_joint *));
	size_t count;

	while ((count = list_torn(r, torn)) > 0) {
		for (size_t i = count / 2; i < count; i++)
			keep_units(r, torn[i], whole(r, torn[i]));
		share_all(r);
	}
}

/* One more unit, in the free part of each pool. */
static bool would_fit(const struct rounds *r, const struct pool_joint *joint)
{
	for (size_t p = 0; p < r->input->pool_count; p++) {
		const struct pool_table *table = &r->tables->at[p];
		const struct pool_run *run = run_of(r, joint, p);

		if (run &&
		    (joint->kept >= run->count ||
		     table->result.units[run->first] == SHARE_IMPOSSIBLE ||
		     table->units.at[run->first].amount > free_in(table, r->input->capacities[p])))
			return false;
	}
	return true;
}

/* One more unit, if all others keep what they have. */
static bool try_unit(struct rounds *r, struct pool_joint *joint)
{
	size_t pools = r->input->pool_count;
	struct pool_joint **torn =
		arena_array(r->arena, r->tables->joints.count, sizeof(struct pool_joint *));
	struct share_result *before = arena_array(r->arena, pools, sizeof(*before));

	for (size_t p = 0; p < pools; p++)
		before[p] = r->tables->at[p].result;
	keep_units(r, joint, joint->kept + 1);
	share_all(r);
	if (list_torn(r, torn) == 0)
		return true;
	keep_units(r, joint, joint->kept - 1);
	for (size_t p = 0; p < pools; p++)
		r->tables->at[p].result = before[p];
	return false;
}

/* The turn stays until what was found is launched. */
static void try_again(struct rounds *r)
{
	size_t tries = TRIES_MAX, count = r->tables->joints.count;
	size_t *turn = &r->pasts[0].turn, first = *turn % count;
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		struct pool_joint *joint = &r->tables->joints.at[(first + i) % count];

		while (would_fit(r, joint)) {
			if (tries-- == 0) {
				r->more = !found;
				*turn = found ? first : first + i;
				return;
			}
			if (!try_unit(r, joint))
				break;
			found = true;
		}
	}
	*turn = found ? first : 0;
}

static void share_joints(struct rounds *r)
{
	VEC_EACH(struct pool_joint, joint, &r->tables->joints) {
		size_t least = SIZE_MAX;

		for (size_t p = 0; p < r->input->pool_count; p++) {
			const struct pool_run *run = run_of(r, joint, p);

			least = run && run->count < least ? run->count : least;
		}
		keep_units(r, joint, least);
	}
	sort_stable(r->tables->joints.at, r->tables->joints.count, sizeof(*r->tables->joints.at),
		    by_age);
	share_all(r);
	pass_over_torn(r);
	try_again(r);
}

void pool_rounds(const struct pool_input *input, struct pool_tables *tables,
		 struct pool_past *pasts, struct arena *arena)
{
	struct rounds r = { input, tables, pasts, arena, ARENA_INIT, false };

	for (size_t p = 0; p < input->pool_count; p++)
		start_past(&r, p);
	if (tables->joints.count > 0)
		share_joints(&r);
	else
		share_all(&r);
	for (size_t p = 0; p < input->pool_count; p++)
		finish_past(&r, p);
	arena_done(&r.scratch);
}
