#include "core/share/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "core/share/share_work.h"

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t scale(int64_t amount, int64_t by, __int128 of)
{
	__int128 scaled = of > 0 ? (__int128)amount * by / of : 0;

	return scaled < RESOURCE_AMOUNT_MAX ? (int64_t)scaled : RESOURCE_AMOUNT_MAX;
}

/* ---- sums ---- */

static void sum_workers(struct share_work *work)
{
	const struct share_pool *pool = work->pool;

	work->free = work->soon = pool->capacity;
	ARRAY_EACH(const struct share_worker, worker, pool->workers, pool->worker_count) {
		struct share_account *account = share_account_of(work, worker->cluster);
		bool leaves = worker->state == SHARE_LEAVING;
		int64_t *sum = leaves ? &account->leaving : &account->usage;

		CHECK(worker->amount >= 0 && worker->amount <= RESOURCE_AMOUNT_MAX);
		*sum = resource_sum(*sum, worker->amount);
	}
	for (size_t i = 0; i < pool->queue_count; i++) {
		struct share_account *account = &work->accounts[i];
		int64_t held = resource_sum(account->usage, account->leaving);

		work->free = larger(work->free - held, -RESOURCE_AMOUNT_MAX);
		work->soon = larger(work->soon - account->usage, -RESOURCE_AMOUNT_MAX);
	}
}

static void sum_units(struct share_work *work)
{
	const struct share_pool *pool = work->pool;

	for (size_t i = 0; i < pool->unit_count; i++) {
		const struct share_unit *unit = &pool->units[i];
		struct share_account *account = share_account_of(work, unit->cluster);

		CHECK(unit->amount > 0 && unit->amount <= RESOURCE_AMOUNT_MAX);
		if (unit->impossible || unit->amount > pool->capacity ||
		    unit->amount > account->queue->maximum)
			work->result->units[i] = SHARE_IMPOSSIBLE;
		else
			account->asked = resource_sum(account->asked, unit->amount);
	}
}

/* Together at most the capacity. */
static void set_guarantees(struct share_work *work)
{
	const struct share_pool *pool = work->pool;
	__int128 sum = 0;

	for (size_t i = 0; i < pool->queue_count; i++) {
		const struct share_queue *queue = &pool->queues[i];

		work->accounts[i].guaranteed = smaller(queue->guaranteed, queue->maximum);
		sum += work->accounts[i].guaranteed;
	}
	for (size_t i = 0; i < pool->queue_count; i++) {
		struct share_account *account = &work->accounts[i];

		if (sum > pool->capacity)
			account->guaranteed = scale(account->guaranteed, pool->capacity, sum);
		account->unlent_part = larger(account->guaranteed - pool->queues[i].lendable, 0);
		work->unlent += share_unlent(account);
		work->kept += share_kept(account);
	}
}

/* ---- several pools ---- */

struct team_part {
	struct share_account *account;
	int64_t capacity;
};

static int compare_parts(const void *a, const void *b)
{
	return strcmp(((const struct team_part *)a)->account->queue->name,
		      ((const struct team_part *)b)->account->queue->name);
}

static void link_team(struct team_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			if (i != j)
				parts[i].account->elsewhere =
					larger(parts[i].account->elsewhere,
					       scale(share_borrowed(parts[j].account, 0),
						     parts[i].capacity, parts[j].capacity));
}

/* Sets `elsewhere` of queues that have one name in several pools. */
static void link_teams(struct share_work *works, size_t count, struct arena *arena)
{
	VEC(struct team_part) parts = { 0 };
	size_t start = 0;

	if (count < 2)
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < works[i].pool->queue_count; j++)
			VEC_PUSH(arena, &parts,
				 ((struct team_part){ &works[i].accounts[j],
						      works[i].pool->capacity }));
	if (parts.count > 0)
		qsort(parts.at, parts.count, sizeof(*parts.at), compare_parts);
	for (size_t end = 1; end <= parts.count; end++)
		if (end == parts.count || compare_parts(&parts.at[start], &parts.at[end]) != 0) {
			link_team(parts.at + start, end - start);
			start = end;
		}
}

/* ---- the reservation ---- */

/* The part of its guarantee that it uses or keeps if all is granted that it asks for. */
static int64_t guaranteed_demand(const struct share_account *account)
{
	int64_t demand = resource_sum(account->usage, account->asked);

	return smaller(account->guaranteed, larger(demand, account->unlent_part));
}

static bool is_saved_for_first(const struct share_pool *pool, size_t a, size_t b)
{
	const struct share_unit *unit_a = &pool->units[a], *unit_b = &pool->units[b];
	const struct share_cluster *cluster_a = &pool->clusters[unit_a->cluster];
	const struct share_cluster *cluster_b = &pool->clusters[unit_b->cluster];
	int64_t priority_a = pool->queues[cluster_a->queue].priority;
	int64_t priority_b = pool->queues[cluster_b->queue].priority;
	int order = strcmp(cluster_a->name, cluster_b->name);

	if (priority_a != priority_b)
		return priority_a > priority_b;
	if (unit_a->since_ms != unit_b->since_ms)
		return unit_a->since_ms < unit_b->since_ms;
	return order != 0 ? order < 0 : a < b;
}

static bool may_reserve(const struct share_work *work, size_t unit, int64_t demand)
{
	const struct share_unit *given = &work->pool->units[unit];
	const struct share_account *account = share_account_of(work, given->cluster);
	int64_t beside = demand - guaranteed_demand(account);

	return work->result->units[unit] != SHARE_IMPOSSIBLE &&
	       share_waits_long(work->pool, unit) &&
	       given->amount <= work->pool->capacity - beside &&
	       account->usage + given->amount <= account->queue->maximum;
}

static size_t find_reserved(const struct share_work *work)
{
	const struct share_pool *pool = work->pool;
	size_t first = SHARE_NONE;
	int64_t demand = 0;

	for (size_t i = 0; i < pool->queue_count; i++)
		demand = resource_sum(demand, guaranteed_demand(&work->accounts[i]));
	for (size_t i = 0; i < pool->unit_count; i++)
		if (may_reserve(work, i, demand) &&
		    (first == SHARE_NONE || is_saved_for_first(pool, i, first)))
			first = i;
	return first;
}

/* ---- the order in a queue ---- */

/* In its queue compared member by member, lower first. */
struct sort_key {
	size_t queue, index;
	int64_t by[4];
	const char *name;
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int order;

	for (size_t i = 0; i < sizeof(x->by) / sizeof(*x->by); i++)
		if (x->by[i] != y->by[i])
			return x->by[i] < y->by[i] ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* The indices by queue and order. Queues are sorted alone: that takes less than all keys at
 * once. */
static const size_t *sort_keys(const struct sort_key *keys, size_t count, size_t queue_count,
			       struct arena *arena)
{
	struct sort_key *parts = arena_array(arena, count, sizeof(*parts));
	size_t *ends = arena_array(arena, queue_count + 1, sizeof(*ends));
	size_t *sorted = arena_array(arena, count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		ends[keys[i].queue + 1]++;
	for (size_t i = 0; i < queue_count; i++)
		ends[i + 1] += ends[i];
	for (size_t i = 0; i < count; i++)
		parts[ends[keys[i].queue]++] = keys[i];
	for (size_t i = 0, start = 0; i < queue_count; start = ends[i++])
		if (ends[i] > start)
			qsort(parts + start, ends[i] - start, sizeof(*parts), compare_keys);
	for (size_t i = 0; i < count; i++)
		sorted[i] = parts[i].index;
	return sorted;
}

static void list_units(struct share_work *work, struct arena *arena)
{
	const struct share_pool *pool = work->pool;
	struct sort_key *keys = arena_array(arena, pool->unit_count, sizeof(*keys));
	size_t count = 0;
	const size_t *sorted;

	for (size_t i = 0; i < pool->unit_count; i++) {
		const struct share_unit *unit = &pool->units[i];

		if (work->result->units[i] == SHARE_IMPOSSIBLE)
			continue;
		share_account_of(work, unit->cluster)->unit_count++;
		keys[count++] = (struct sort_key){
			pool->clusters[unit->cluster].queue,
			i,
			{ i != work->reserved, -(int64_t)unit->priority, unit->since_ms },
			pool->clusters[unit->cluster].name,
		};
	}
	sorted = sort_keys(keys, count, pool->queue_count, arena);
	for (size_t i = 0; i < pool->queue_count; i++) {
		work->accounts[i].units = sorted;
		sorted += work->accounts[i].unit_count;
	}
}

/* Busy ones may end with notice if their queue says so; the youngest work ends first. */
static bool may_end(const struct share_work *work, const struct share_worker *worker)
{
	const struct share_pool *pool = work->pool;

	if (worker->state == SHARE_BUSY)
		return share_account_of(work, worker->cluster)->queue->drain_after_ms >= 0;
	return worker->state == SHARE_IDLE &&
	       pool->now_ms - worker->since_ms >= pool->idle_after_ms;
}

static void list_workers(struct share_work *work, struct arena *arena)
{
	const struct share_pool *pool = work->pool;
	struct sort_key *keys = arena_array(arena, pool->worker_count, sizeof(*keys));
	size_t count = 0;
	const size_t *sorted;

	for (size_t i = 0; i < pool->worker_count; i++) {
		const struct share_worker *worker = &pool->workers[i];
		bool busy = worker->state == SHARE_BUSY;

		if (!may_end(work, worker))
			continue;
		share_account_of(work, worker->cluster)->worker_count++;
		work->endable[busy] = resource_sum(work->endable[busy], worker->amount);
		keys[count++] = (struct sort_key){
			pool->clusters[worker->cluster].queue,
			i,
			{ busy, !busy && worker->needed, worker->order,
			  busy ? -worker->since_ms : worker->since_ms },
			pool->clusters[worker->cluster].name,
		};
	}
	sorted = sort_keys(keys, count, pool->queue_count, arena);
	for (size_t i = 0; i < pool->queue_count; i++) {
		work->accounts[i].workers = sorted;
		sorted += work->accounts[i].worker_count;
	}
}

/* ---- the result ---- */

static void note_time(struct share_result *result, int64_t now_ms, int64_t at_ms)
{
	if (at_ms > now_ms)
		result->next_ms = smaller(result->next_ms, at_ms);
}

/* Time changes a result when a unit has waited, or a worker was idle, long enough. */
static void find_next_change(struct share_work *work)
{
	const struct share_pool *pool = work->pool;
	bool waits = false;

	work->result->next_ms = INT64_MAX;
	for (size_t i = 0; i < pool->unit_count; i++) {
		if (work->result->units[i] > SHARE_AT_MAXIMUM)
			continue;
		waits = true;
		if (pool->reserve_after_ms >= 0)
			note_time(work->result, pool->now_ms,
				  pool->units[i].since_ms + pool->reserve_after_ms);
	}
	for (size_t i = 0; i < pool->worker_count && (waits || work->soon < 0); i++)
		if (pool->workers[i].state == SHARE_IDLE)
			note_time(work->result, pool->now_ms,
				  pool->workers[i].since_ms + pool->idle_after_ms);
}

/* ---- all of it ---- */

static void start(struct share_work *work, const struct share_pool *pool,
		  struct share_result *result, struct arena *arena)
{
	*work = (struct share_work){ .pool = pool, .result = result, .reserved = SHARE_NONE };
	work->accounts = arena_array(arena, pool->queue_count, sizeof(*work->accounts));
	work->wins = arena_array(arena, pool->cluster_count, sizeof(*work->wins));
	work->picked = arena_array(arena, pool->worker_count, sizeof(*work->picked));
	result->units = arena_array(arena, pool->unit_count, sizeof(*result->units));
	result->workers = arena_array(arena, pool->worker_count, sizeof(*result->workers));
	for (size_t i = 0; i < pool->queue_count; i++) {
		CHECK(pool->queues[i].weight >= 1 && pool->queues[i].weight <= SHARE_WEIGHT_MAX);
		work->accounts[i].queue = &pool->queues[i];
	}
	for (size_t i = 0; i < pool->worker_count; i++)
		result->workers[i].unit = SHARE_NONE;
	sum_workers(work);
	sum_units(work);
	set_guarantees(work);
}

static void finish(struct share_work *work, struct arena *arena)
{
	struct share_result *result = work->result;

	work->reserved = result->reserved = find_reserved(work);
	list_units(work, arena);
	list_workers(work, arena);
	share_shrink(work);
	share_fill(work, arena);
	if (result->reserved != SHARE_NONE && result->units[result->reserved] == SHARE_GRANTED)
		result->reserved = SHARE_NONE;
	find_next_change(work);
}

struct share_result *share(const struct share_pool *pools, size_t count, struct arena *arena)
{
	struct share_work *works = arena_array(arena, count, sizeof(*works));
	struct share_result *results = arena_array(arena, count, sizeof(*results));

	for (size_t i = 0; i < count; i++)
		start(&works[i], &pools[i], &results[i], arena);
	link_teams(works, count, arena);
	for (size_t i = 0; i < count; i++)
		finish(&works[i], arena);
	return results;
}
