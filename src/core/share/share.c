#include "core/share/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/int64.h"
#include "base/memory.h"
#include "core/share/share_work.h"

static int64_t scale(int64_t amount, int64_t by, __int128 of)
{
	__int128 scaled = of > 0 ? (__int128)amount * by / of : 0;

	return scaled < RESOURCE_AMOUNT_MAX ? (int64_t)scaled : RESOURCE_AMOUNT_MAX;
}

/* ---- sums ---- */

/* When the age of a busy worker says that it does not end in time for a reservation. */
static int64_t lasts_from(const struct share_pool *pool, const struct share_worker *worker)
{
	bool stays = worker->state == SHARE_BUSY || worker->state == SHARE_STARTING;

	return stays && worker->since_ms > 0 && pool->reserve_at_most_ms > 0 ?
		       worker->since_ms + pool->reserve_at_most_ms :
		       INT64_MAX;
}

static bool is_lasting(const struct share_pool *pool, const struct share_worker *worker)
{
	return pool->now_ms >= lasts_from(pool, worker);
}

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
		if (is_lasting(pool, worker))
			account->lasting = resource_sum(account->lasting, worker->amount);
	}
	for (size_t i = 0; i < pool->queue_count; i++) {
		struct share_account *account = &work->accounts[i];
		int64_t held = resource_sum(account->usage, account->leaving);

		work->free = int64_max(work->free - held, -RESOURCE_AMOUNT_MAX);
		work->soon = int64_max(work->soon - account->usage, -RESOURCE_AMOUNT_MAX);
	}
}

static void sum_units(struct share_work *work)
{
	const struct share_pool *pool = work->pool;

	for (size_t i = 0; i < pool->unit_count; i++) {
		const struct share_unit *unit = &pool->units[i];
		struct share_account *account = share_account_of(work, unit->cluster);

		CHECK(unit->amount > 0 && unit->amount <= RESOURCE_AMOUNT_MAX);
		if (unit->amount > pool->capacity || unit->amount > account->queue->maximum)
			work->result->units[i] = SHARE_IMPOSSIBLE;
		else if (unit->passed_over)
			work->result->units[i] = SHARE_PASSED_OVER;
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

		work->accounts[i].guaranteed = int64_min(queue->guaranteed, queue->maximum);
		sum += work->accounts[i].guaranteed;
	}
	for (size_t i = 0; i < pool->queue_count; i++) {
		struct share_account *account = &work->accounts[i];

		if (sum > pool->capacity)
			account->guaranteed = scale(account->guaranteed, pool->capacity, sum);
		account->unlent_part = int64_max(account->guaranteed - pool->queues[i].lendable, 0);
		work->unlent += share_unlent(account);
		work->kept += share_kept(account);
	}
}

/* ---- queues by name, also of several pools ---- */

struct team_part {
	struct share_account *account;
	int64_t capacity;
};

static int compare_parts(const void *a, const void *b)
{
	return strcmp(((const struct team_part *)a)->account->queue->name,
		      ((const struct team_part *)b)->account->queue->name);
}

static void rank_queues(struct share_work *work, struct arena *arena)
{
	size_t count = work->pool->queue_count;
	struct team_part *parts = arena_array(arena, count, sizeof(*parts));

	for (size_t i = 0; i < count; i++)
		parts[i].account = &work->accounts[i];
	qsort(parts, count, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < count; i++)
		parts[i].account->rank = i;
}

static void link_team(struct team_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			if (i != j)
				parts[i].account->elsewhere =
					int64_max(parts[i].account->elsewhere,
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

	return int64_min(account->guaranteed, int64_max(demand, account->unlent_part));
}

/* GPUs that are not free for others while a unit of another queue is saved for. */
static int64_t kept_beside(const struct share_account *account)
{
	return int64_max(guaranteed_demand(account), account->lasting);
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
	int64_t beside = demand - kept_beside(account);

	return work->result->units[unit] == SHARE_WAITS && !given->unreserved && !given->refused &&
	       share_waits_long(work->pool, unit) &&
	       given->amount <= work->pool->capacity - beside - account->lasting &&
	       account->usage + given->amount <= account->queue->maximum;
}

static size_t find_reserved(const struct share_work *work)
{
	const struct share_pool *pool = work->pool;
	size_t first = SHARE_NONE;
	int64_t demand = 0;

	for (size_t i = 0; i < pool->queue_count; i++)
		demand = resource_sum(demand, kept_beside(&work->accounts[i]));
	for (size_t i = 0; i < pool->unit_count; i++)
		if (may_reserve(work, i, demand) &&
		    (first == SHARE_NONE || is_saved_for_first(pool, i, first)))
			first = i;
	return first;
}

/* ---- the order in a queue ---- */

/* In its queue compared member by member, lower first. */
struct sort_key {
	size_t index;
	int64_t by[4];
	const char *name; /* of the cluster */
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int order;

	for (size_t i = 0; i < sizeof(x->by) / sizeof(*x->by); i++)
		if (x->by[i] != y->by[i])
			return x->by[i] < y->by[i] ? -1 : 1;
	order = x->name == y->name ? 0 : strcmp(x->name, y->name);
	return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* Its key and cluster; false: it takes no part. */
typedef bool sort_key_of(const struct share_work *work, size_t index, struct sort_key *ret_key,
			 size_t *ret_cluster);

static bool key_of_unit(const struct share_work *work, size_t index, struct sort_key *ret_key,
			size_t *ret_cluster)
{
	const struct share_unit *unit = &work->pool->units[index];

	*ret_cluster = unit->cluster;
	ret_key->by[0] = index != work->reserved;
	ret_key->by[1] = -(int64_t)unit->priority;
	ret_key->by[2] = unit->requested;
	ret_key->by[3] = unit->since_ms;
	return work->result->units[index] == SHARE_WAITS;
}

/* Busy ones may end with notice if their queue says so; the youngest work ends first, but after it what is
 * protected. */
static bool key_of_worker(const struct share_work *work, size_t index, struct sort_key *ret_key,
			  size_t *ret_cluster)
{
	const struct share_worker *worker = &work->pool->workers[index];
	bool busy = worker->state == SHARE_BUSY;

	*ret_cluster = worker->cluster;
	ret_key->by[0] = busy;
	ret_key->by[1] = worker->needed + (worker->needed && !worker->requested);
	ret_key->by[2] = worker->order;
	ret_key->by[3] = busy ? -worker->since_ms : worker->since_ms;
	if (busy)
		return share_account_of(work, worker->cluster)->queue->drain_after_ms >= 0;
	return worker->state == SHARE_IDLE &&
	       work->pool->now_ms - worker->since_ms >= work->pool->idle_after_ms;
}

/* The indices by queue and order, the number of each queue in counts. Queues are sorted alone: that
 * takes less than all keys at once. */
static const size_t *sort_by(const struct share_work *work, sort_key_of *key_of, size_t count,
			     size_t *counts, struct arena *arena)
{
	size_t *ends = arena_array(arena, work->pool->queue_count + 1, sizeof(*ends)), kept = 0;
	struct sort_key *keys, key = { 0 };
	size_t *sorted, cluster;

	for (size_t i = 0; i < count; i++)
		if (key_of(work, i, &key, &cluster)) {
			counts[work->pool->clusters[cluster].queue]++;
			kept++;
		}
	for (size_t i = 0; i < work->pool->queue_count; i++)
		ends[i + 1] = ends[i] + counts[i];
	keys = arena_array(arena, kept, sizeof(*keys));
	sorted = arena_array(arena, kept, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		if (key_of(work, i, &key, &cluster)) {
			key.index = i;
			key.name = work->pool->clusters[cluster].name;
			keys[ends[work->pool->clusters[cluster].queue]++] = key;
		}
	for (size_t i = 0; i < work->pool->queue_count; i++)
		if (counts[i] > 0)
			qsort(keys + ends[i] - counts[i], counts[i], sizeof(*keys), compare_keys);
	for (size_t i = 0; i < kept; i++)
		sorted[i] = keys[i].index;
	return sorted;
}

static void sort_all(struct share_work *work, struct arena *arena)
{
	const struct share_pool *pool = work->pool;
	size_t *units = arena_array(arena, pool->queue_count, sizeof(*units));
	size_t *workers = arena_array(arena, pool->queue_count, sizeof(*workers));
	const size_t *unit = sort_by(work, key_of_unit, pool->unit_count, units, arena);
	const size_t *worker = sort_by(work, key_of_worker, pool->worker_count, workers, arena);

	for (size_t i = 0; i < pool->queue_count; i++) {
		struct share_account *account = &work->accounts[i];

		account->units = unit;
		account->unit_count = units[i];
		account->workers = worker;
		account->worker_count = workers[i];
		unit += units[i];
		worker += workers[i];
		for (size_t w = 0; w < account->worker_count; w++) {
			const struct share_worker *one = &pool->workers[account->workers[w]];
			int64_t *sum = &work->endable[one->state == SHARE_BUSY];

			*sum = resource_sum(*sum, one->amount);
		}
	}
}

/* ---- the result ---- */

static void note_time(struct share_result *result, int64_t now_ms, int64_t at_ms)
{
	if (at_ms > now_ms)
		result->next_ms = int64_min(result->next_ms, at_ms);
}

/* Time changes a result when a unit has waited, or a worker was idle, long enough. */
static void find_next_change(struct share_work *work)
{
	const struct share_pool *pool = work->pool;
	bool waits = false;

	work->result->next_ms = INT64_MAX;
	for (size_t i = 0; i < pool->unit_count; i++) {
		if (work->result->units[i] == SHARE_IMPOSSIBLE ||
		    work->result->units[i] >= SHARE_COMING)
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
		else if (work->result->reserved != SHARE_NONE)
			note_time(work->result, pool->now_ms, lasts_from(pool, &pool->workers[i]));
}

/* ---- all of it ---- */

static void start(struct share_work *work, const struct share_pool *pool,
		  struct share_result *result, struct arena *scratch, struct arena *arena)
{
	*work = (struct share_work){ .pool = pool, .result = result, .reserved = SHARE_NONE };
	work->accounts = arena_array(scratch, pool->queue_count, sizeof(*work->accounts));
	work->wins = arena_array(scratch, pool->cluster_count, sizeof(*work->wins));
	work->picked = arena_array(scratch, pool->worker_count, sizeof(*work->picked));
	result->units = arena_array(arena, pool->unit_count, sizeof(*result->units));
	result->workers = arena_array(arena, pool->worker_count, sizeof(*result->workers));
	for (size_t i = 0; i < pool->queue_count; i++) {
		CHECK(pool->queues[i].weight >= 1 && pool->queues[i].weight <= SHARE_WEIGHT_MAX);
		work->accounts[i].queue = &pool->queues[i];
	}
	rank_queues(work, scratch);
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
	sort_all(work, arena);
	share_shrink(work);
	share_fill(work, arena);
	result->granted = SHARE_NONE;
	if (result->reserved != SHARE_NONE && result->units[result->reserved] == SHARE_GRANTED) {
		result->granted = result->reserved;
		result->reserved = SHARE_NONE;
	}
	find_next_change(work);
}

struct share_result *share(const struct share_pool *pools, size_t count, struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct share_work *works = arena_array(&scratch, count, sizeof(*works));
	struct share_result *results = arena_array(arena, count, sizeof(*results));

	for (size_t i = 0; i < count; i++)
		start(&works[i], &pools[i], &results[i], &scratch, arena);
	link_teams(works, count, &scratch);
	for (size_t i = 0; i < count; i++)
		finish(&works[i], &scratch);
	return results;
}
