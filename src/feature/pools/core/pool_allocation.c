#include "feature/pools/core/pool_allocation.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/sort.h"
#include "core/model/reason.h"

/* A member in one pool, with its ranges of units and workers there. */
struct pool_cluster {
	size_t member;
	size_t first_unit, unit_count;
	size_t first_worker, worker_count;
	int64_t unlisted; /* units beyond those that the pool could hold */
};

/* One pool as core/share sees it, and the way back. */
struct pool_table {
	VEC(struct share_queue) queues;
	VEC(struct share_cluster) clusters;
	VEC(struct pool_cluster) members; /* parallel to clusters */
	VEC(struct share_unit) units;
	VEC(size_t) entries; /* parallel to units: of the member's asks */
	VEC(struct share_worker) workers;
	VEC(size_t) worker_of; /* parallel to workers: of the member */
	int64_t outside;       /* held by members in no queue */
	struct share_result result;
	size_t *places;    /* by unit, 1 and above: among those that wait in its queue */
	int64_t *waiting;  /* by queue: units that wait */
	int64_t *held;     /* by queue */
	int64_t *borrowed; /* likewise */
	int64_t used;      /* of all queues */
	int64_t granted;   /* not yet launched */
};

struct pool_tables {
	struct pool_table *at; /* by pool */
	size_t *cluster_of;    /* pool * member_count + member; POOL_NONE: it is not there */
};

void pool_of_flags_init(struct pool_of_flags *pool, int64_t total, int64_t per_namespace)
{
	*pool = (struct pool_of_flags){
		.pool = { .name = POOL_OF_FLAGS,
			  .uid = "",
			  .resource_version = "",
			  .groups = { .accelerator_type = "", .resource_name = "" },
			  .has_gpus = true,
			  .gpus = total > 0 ? total : RESOURCE_AMOUNT_MAX,
			  .idle_after_seconds = GPU_POOL_NEVER,
			  .busy_after_seconds = GPU_POOL_NEVER,
			  .reserve_after_seconds = GPU_POOL_NEVER },
		.per_namespace = per_namespace > 0 ? per_namespace : RESOURCE_AMOUNT_MAX,
	};
}

static bool is_of_flags(const struct gpu_pool *pool)
{
	return strcmp(pool->name, POOL_OF_FLAGS) == 0;
}

/* ---- the input of core/share ---- */

struct building {
	const struct pool_input *input;
	struct pool_tables *tables;
	struct arena *arena;
};

static struct share_queue share_queue_of(const struct gpu_pool *pool,
					 const struct gpu_pool_queue *queue)
{
	int64_t busy = queue->has_busy ? queue->busy_after_seconds : pool->busy_after_seconds;

	return (struct share_queue){
		.name = queue->name,
		.guaranteed = queue->guaranteed,
		.lendable = queue->has_lendable ? queue->lendable : queue->guaranteed,
		.maximum = queue->has_maximum ? queue->maximum : RESOURCE_AMOUNT_MAX,
		.weight = queue->weight,
		.priority = queue->priority,
		.drain_after_ms = busy == GPU_POOL_NEVER ? SHARE_NEVER : busy * MS_PER_SECOND,
	};
}

/* The last one is that of namespaces in no queue. */
static void make_queues(struct building *b, size_t pool)
{
	const struct gpu_pool *object = b->input->pools[pool];
	struct pool_table *table = &b->tables->at[pool];
	const struct gpu_pool_queue rest = { .name = "", .weight = 1 };

	if (is_of_flags(object))
		return;
	for (size_t q = 0; q < object->queue_count; q++)
		VEC_PUSH(b->arena, &table->queues, share_queue_of(object, &object->queues[q]));
	VEC_PUSH(b->arena, &table->queues, share_queue_of(object, &rest));
}

/* Members are sorted, so those of one namespace follow each other. */
static size_t queue_of_namespace(struct building *b, struct pool_table *table, const char *name)
{
	if (table->queues.count == 0 ||
	    strcmp(table->queues.at[table->queues.count - 1].name, name) != 0)
		VEC_PUSH(b->arena, &table->queues,
			 ((struct share_queue){ .name = name,
						.maximum = b->input->per_namespace,
						.weight = 1,
						.drain_after_ms = SHARE_NEVER }));
	return table->queues.count - 1;
}

static size_t cluster_in(struct building *b, size_t pool, size_t index)
{
	size_t *cluster = &b->tables->cluster_of[pool * b->input->member_count + index];
	const struct pool_member *member = b->input->members[index];
	const struct gpu_pool *object = b->input->pools[pool];
	struct pool_table *table = &b->tables->at[pool];
	size_t queue;

	if (*cluster != POOL_NONE)
		return *cluster;
	queue = is_of_flags(object) ? queue_of_namespace(b, table, member->namespace_) :
				      pool_match_queue(object, &b->input->namespace_labels[index]);
	*cluster = table->clusters.count;
	VEC_PUSH(b->arena, &table->clusters, ((struct share_cluster){ member->key, queue }));
	VEC_PUSH(b->arena, &table->members,
		 ((struct pool_cluster){ .member = index,
					 .first_unit = table->units.count,
					 .first_worker = table->workers.count }));
	return *cluster;
}

static void add_workers(struct building *b, size_t index)
{
	const struct pool_member *member = b->input->members[index];

	for (size_t i = 0; i < member->workers.count; i++) {
		const struct pool_worker *worker = &member->workers.at[i];
		struct pool_table *table = &b->tables->at[worker->pool];
		size_t cluster;

		if (worker->outside) {
			table->outside = resource_sum(table->outside, worker->gpus);
			continue;
		}
		cluster = cluster_in(b, worker->pool, index);
		VEC_PUSH(b->arena, &table->workers,
			 ((struct share_worker){ .cluster = cluster,
						 .amount = worker->gpus,
						 .state = worker->state,
						 .needed = worker->needed,
						 .since_ms = worker->since }));
		VEC_PUSH(b->arena, &table->worker_of, i);
		table->members.at[cluster].worker_count++;
	}
}

/* The GPUs of one unit of the entry in this pool. */
static int64_t amount_in(const struct pool_member *member, const struct pool_waiting *entry,
			 size_t pool)
{
	__int128 sum = 0;

	for (size_t p = 0; p < entry->part_count; p++)
		if (entry->parts[p].group < member->group_count &&
		    member->groups[entry->parts[p].group].pool == pool)
			sum += (__int128)entry->parts[p].replicas *
			       member->groups[entry->parts[p].group].replica_gpus;
	return sum > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : (int64_t)sum;
}

/* As many units of the entry as the pool could hold, and one more, which waits. */
static void add_units(struct building *b, size_t index, size_t entry_index, size_t pool)
{
	const struct pool_member *member = b->input->members[index];
	const struct pool_waiting *entry = &b->input->asks[index]->list.at[entry_index];
	struct pool_table *table = &b->tables->at[pool];
	int64_t amount = amount_in(member, entry, pool), count = entry->count, room;
	size_t cluster = cluster_in(b, pool, index);

	if (amount == 0)
		return;
	room = b->input->capacities[pool] / amount + 1;
	count = count < room ? count : room;
	count = count < POOL_ASKS_MAX ? count : POOL_ASKS_MAX;
	for (int64_t i = 0; i < count; i++) {
		VEC_PUSH(b->arena, &table->units,
			 ((struct share_unit){
				 .cluster = cluster, .amount = amount, .since_ms = entry->since }));
		VEC_PUSH(b->arena, &table->entries, entry_index);
	}
	table->members.at[cluster].unit_count += (size_t)count;
	table->members.at[cluster].unlisted += entry->count - count;
}

static void add_asks(struct building *b, size_t index)
{
	const struct pool_member *member = b->input->members[index];

	const struct pool_asks *asks = b->input->asks[index];

	for (size_t e = 0; e < asks->list.count; e++) {
		const struct pool_waiting *entry = &asks->list.at[e];

		for (size_t p = 0; p < entry->part_count; p++) {
			size_t pool = entry->parts[p].group < member->group_count ?
					      member->groups[entry->parts[p].group].pool :
					      POOL_NONE;
			bool first = pool != POOL_NONE &&
				     !member->groups[entry->parts[p].group].outside;

			for (size_t q = 0; first && q < p; q++)
				first = member->groups[entry->parts[q].group].pool != pool;
			if (first)
				add_units(b, index, e, pool);
		}
	}
}

static struct share_pool share_pool_of(const struct building *b, size_t pool)
{
	const struct gpu_pool *object = b->input->pools[pool];
	const struct pool_table *table = &b->tables->at[pool];
	int64_t capacity = b->input->capacities[pool] - table->outside;

	return (struct share_pool){
		.capacity = capacity > 0 ? capacity : 0,
		.now_ms = b->input->now,
		.idle_after_ms = object->idle_after_seconds == GPU_POOL_NEVER ?
					 INT64_MAX / 2 :
					 object->idle_after_seconds * MS_PER_SECOND,
		.reserve_after_ms = object->reserve_after_seconds == GPU_POOL_NEVER ?
					    SHARE_NEVER :
					    object->reserve_after_seconds * MS_PER_SECOND,
		.queues = table->queues.at,
		.queue_count = table->queues.count,
		.clusters = table->clusters.at,
		.cluster_count = table->clusters.count,
		.units = table->units.at,
		.unit_count = table->units.count,
		.workers = table->workers.at,
		.worker_count = table->workers.count,
	};
}

/* A pool that is held changes nothing. */
static struct share_result unchanged(const struct pool_table *table, struct arena *arena)
{
	return (struct share_result){
		.units = arena_array(arena, table->units.count, sizeof(enum share_verdict)),
		.workers = arena_array(arena, table->workers.count, sizeof(struct share_order)),
		.reserved = SHARE_NONE,
		.next_ms = INT64_MAX,
	};
}

/* NULL: amounts alone decide. Sets the order in which workers are released. */
static struct pool_places *make_places_of(struct building *b, size_t pool)
{
	struct pool_table *table = &b->tables->at[pool];
	struct pool_places_unit *units = arena_array(b->arena, table->units.count, sizeof(*units));
	struct pool_places_worker *workers =
		arena_array(b->arena, table->workers.count, sizeof(*workers));
	struct pool_places *places;

	for (size_t u = 0; u < table->units.count; u++) {
		size_t index = table->members.at[table->units.at[u].cluster].member;

		units[u] = (struct pool_places_unit){
			b->input->members[index],
			&b->input->asks[index]->list.at[table->entries.at[u]],
		};
	}
	for (size_t w = 0; w < table->workers.count; w++) {
		const struct pool_member *member =
			b->input->members[table->members.at[table->workers.at[w].cluster].member];

		workers[w] =
			(struct pool_places_worker){ member,
						     &member->workers.at[table->worker_of.at[w]] };
	}
	places = pool_places_make(b->input->nodes, b->input->pools[pool], pool,
				  b->input->capacities[pool] - table->outside, units,
				  table->units.count, workers, table->workers.count, b->arena);
	for (size_t w = 0; places && w < table->workers.count; w++)
		table->workers.at[w].order = pool_places_beside(places, w);
	return places;
}

static void share_all(struct building *b)
{
	struct share_pool *pools = arena_array(b->arena, b->input->pool_count, sizeof(*pools));
	struct pool_places **places =
		arena_array(b->arena, b->input->pool_count, sizeof(struct pool_places *));
	size_t *index = arena_array(b->arena, b->input->pool_count, sizeof(*index)), count = 0;
	struct share_result *results;

	for (size_t p = 0; p < b->input->pool_count; p++) {
		b->tables->at[p].result = unchanged(&b->tables->at[p], b->arena);
		if (b->input->held[p])
			continue;
		places[count] = is_of_flags(b->input->pools[p]) ? NULL : make_places_of(b, p);
		pools[count] = share_pool_of(b, p);
		pools[count].places = pool_places_hooks(places[count]);
		index[count++] = p;
	}
	results = share(pools, count, b->arena);
	for (size_t i = 0; i < count; i++) {
		b->tables->at[index[i]].result = results[i];
		pool_places_done(places[i]);
	}
}

/* ---- sums of the queues, places of the units ---- */

struct place {
	size_t queue, unit;
	time_ms since;
};

static int by_place(const void *left, const void *right)
{
	const struct place *a = left;
	const struct place *b = right;

	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return a->unit < b->unit ? -1 : 1;
}

static void make_places(struct pool_table *table, struct arena *arena)
{
	struct place *places = arena_array(arena, table->units.count, sizeof(*places));
	size_t count = 0;

	table->places = arena_array(arena, table->units.count, sizeof(*table->places));
	table->waiting = arena_array(arena, table->queues.count, sizeof(*table->waiting));
	for (size_t u = 0; u < table->units.count; u++)
		if (table->result.units[u] != SHARE_GRANTED)
			places[count++] = (struct place){
				.queue = table->clusters.at[table->units.at[u].cluster].queue,
				.unit = u,
				.since = table->units.at[u].since_ms,
			};
	qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 0; i < count; i++)
		table->places[places[i].unit] = (size_t)++table->waiting[places[i].queue];
	for (size_t c = 0; c < table->clusters.count; c++)
		table->waiting[table->clusters.at[c].queue] += table->members.at[c].unlisted;
}

static void sum_queues(struct pool_table *table, struct arena *arena)
{
	table->held = arena_array(arena, table->queues.count, sizeof(*table->held));
	table->borrowed = arena_array(arena, table->queues.count, sizeof(*table->borrowed));
	VEC_EACH(const struct share_worker, worker, &table->workers) {
		int64_t *held = &table->held[table->clusters.at[worker->cluster].queue];

		*held = resource_sum(*held, worker->amount);
		table->used = resource_sum(table->used, worker->amount);
	}
	for (size_t u = 0; u < table->units.count; u++)
		if (table->result.units[u] == SHARE_GRANTED)
			table->granted = resource_sum(table->granted, table->units.at[u].amount);
	for (size_t q = 0; q < table->queues.count; q++)
		if (table->held[q] > table->queues.at[q].guaranteed)
			table->borrowed[q] = table->held[q] - table->queues.at[q].guaranteed;
}

/* ---- what each member may do ---- */

/* Units of each entry of the member that are granted in all of their pools. */
static int64_t *granted_of(const struct pool_allocation *allocation, size_t index,
			   struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	const struct pool_asks *asks = input->asks[index];
	int64_t *granted = arena_array(arena, asks->list.count, sizeof(*granted));

	for (size_t e = 0; e < asks->list.count; e++)
		granted[e] = -1;
	for (size_t p = 0; p < input->pool_count; p++) {
		size_t cluster = allocation->tables->cluster_of[p * input->member_count + index];
		const struct pool_table *table = &allocation->tables->at[p];
		const struct pool_cluster *own;
		size_t end;

		if (cluster == POOL_NONE)
			continue;
		own = &table->members.at[cluster];
		end = own->first_unit + own->unit_count;
		for (size_t u = own->first_unit; u < end;) {
			size_t entry = table->entries.at[u];
			int64_t count = 0;

			for (; u < end && table->entries.at[u] == entry; u++)
				count += table->result.units[u] == SHARE_GRANTED;
			if (granted[entry] < 0 || count < granted[entry])
				granted[entry] = count;
		}
	}
	return granted;
}

static void make_share(const struct pool_allocation *allocation, size_t index, struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	const struct pool_member *member = input->members[index];
	struct pool_share *own = &allocation->shares[index];
	const int64_t *granted = granted_of(allocation, index, arena);

	own->granted = granted;
	own->digest = HASH_START;
	own->grants = arena_array(arena, member->group_count, sizeof(*own->grants));
	for (size_t e = 0; e < input->asks[index]->list.count; e++) {
		const struct pool_waiting *entry = &input->asks[index]->list.at[e];

		for (size_t p = 0; granted[e] > 0 && p < entry->part_count; p++)
			own->grants[entry->parts[p].group] += granted[e] * entry->parts[p].replicas;
	}
	own->digest =
		hash_bytes(own->digest, own->grants, member->group_count * sizeof(*own->grants));
	for (size_t p = 0; p < input->pool_count; p++) {
		size_t cluster = allocation->tables->cluster_of[p * input->member_count + index];
		const struct pool_table *table = &allocation->tables->at[p];
		const struct pool_cluster *in;

		if (cluster == POOL_NONE)
			continue;
		in = &table->members.at[cluster];
		for (size_t w = in->first_worker; w < in->first_worker + in->worker_count; w++) {
			const struct pool_worker *worker =
				&member->workers.at[table->worker_of.at[w]];

			if (table->result.workers[w].action == SHARE_STAY)
				continue;
			VEC_EACH(const char *const, pod, &worker->pods)
				own->digest = hash_add(own->digest, *pod);
			own->releases = true;
			own->drains |= table->result.workers[w].action == SHARE_DRAIN;
		}
	}
}

const struct pool_allocation *pool_allocate(const struct pool_input *input, struct arena *arena)
{
	struct pool_allocation *allocation = ARENA_NEW(arena, struct pool_allocation);
	struct pool_input *copy = ARENA_NEW(arena, struct pool_input);
	struct building b = { .input = copy, .arena = arena };
	size_t cells = input->pool_count * input->member_count;

	*copy = *input;
	b.tables = ARENA_NEW(arena, struct pool_tables);
	b.tables->at = arena_array(arena, input->pool_count, sizeof(*b.tables->at));
	b.tables->cluster_of = arena_array(arena, cells, sizeof(*b.tables->cluster_of));
	for (size_t i = 0; i < cells; i++)
		b.tables->cluster_of[i] = POOL_NONE;
	for (size_t p = 0; p < input->pool_count; p++)
		make_queues(&b, p);
	for (size_t m = 0; m < input->member_count; m++) {
		add_workers(&b, m);
		add_asks(&b, m);
	}
	share_all(&b);
	allocation->input = copy;
	allocation->tables = b.tables;
	allocation->next = INT64_MAX;
	for (size_t p = 0; p < input->pool_count; p++) {
		make_places(&b.tables->at[p], arena);
		sum_queues(&b.tables->at[p], arena);
		if (b.tables->at[p].result.next_ms < allocation->next)
			allocation->next = b.tables->at[p].result.next_ms;
	}
	allocation->shares = arena_array(arena, input->member_count, sizeof(*allocation->shares));
	for (size_t m = 0; m < input->member_count; m++)
		make_share(allocation, m, arena);
	return allocation;
}

/* ---- texts ---- */

static const char *gpus_text(struct arena *arena, int64_t amount)
{
	return arena_printf(arena, "%s GPU%s", resource_amount_text(arena, amount),
			    amount == RESOURCE_UNIT ? "" : "s");
}

static const char *queue_text(struct arena *arena, const struct share_queue *queue)
{
	return queue->name[0] ? arena_printf(arena, "queue %s", queue->name) :
				"namespaces without a queue";
}

/* "; serving holds 10 GPUs beyond its guarantee": the queue that borrows most. */
static const char *borrower_text(const struct pool_table *table, struct arena *arena)
{
	size_t most = 0;

	for (size_t q = 1; q < table->queues.count; q++)
		if (table->borrowed[q] > table->borrowed[most])
			most = q;
	if (table->queues.count == 0 || table->borrowed[most] == 0)
		return "";
	return arena_printf(arena, "; %s hold%s %s beyond %s guarantee",
			    queue_text(arena, &table->queues.at[most]),
			    table->queues.at[most].name[0] ? "s" : "",
			    gpus_text(arena, table->borrowed[most]),
			    table->queues.at[most].name[0] ? "its" : "their");
}

/* The next event for a unit that waits, with its time. */
static const char *next_text(const struct pool_allocation *allocation, size_t pool, size_t unit,
			     struct arena *arena)
{
	const struct gpu_pool *object = allocation->input->pools[pool];
	const struct pool_table *table = &allocation->tables->at[pool];
	time_ms saved =
		table->units.at[unit].since_ms + object->reserve_after_seconds * MS_PER_SECOND;

	if (table->result.reserved == unit)
		return "; GPUs that become free are saved for it";
	if (table->result.reserved != SHARE_NONE)
		return arena_printf(
			arena, "; GPUs that become free are saved for %s",
			table->clusters.at[table->units.at[table->result.reserved].cluster].name);
	if (object->reserve_after_seconds == GPU_POOL_NEVER || saved <= allocation->input->now)
		return "";
	return arena_printf(arena, "; from %s on they are saved for it", time_text(arena, saved));
}

static void explain_of_flags(const struct pool_allocation *allocation, size_t pool, size_t unit,
			     struct arena *arena, struct pool_grant *ret_grant)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	int64_t limit = allocation->input->capacities[pool];
	const char *flag = "max-gpus-total";

	if (unit != SHARE_NONE &&
	    (table->result.units[unit] == SHARE_AT_MAXIMUM ||
	     table->units.at[unit].amount > allocation->input->per_namespace)) {
		limit = allocation->input->per_namespace;
		flag = "max-gpus-per-namespace";
	}
	ret_grant->reason = REASON_MAX_GPUS;
	ret_grant->message = arena_printf(arena, "%s %s allows no more", flag,
					  resource_amount_text(arena, limit));
}

/* Why this unit has no grant; SHARE_NONE: the pools do not know of one yet. */
static void explain(const struct pool_allocation *allocation, size_t pool, size_t cluster,
		    size_t unit, struct arena *arena, struct pool_grant *ret_grant)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct share_queue *queue;
	const char *where = arena_printf(arena, "pool %s", allocation->input->pools[pool]->name);
	const char *held = allocation->input->held[pool];

	if (is_of_flags(allocation->input->pools[pool])) {
		explain_of_flags(allocation, pool, unit, arena, ret_grant);
		return;
	}
	ret_grant->reason = REASON_WAITS_FOR_POOL;
	ret_grant->message = arena_printf(arena, "waits for %s: %s", where,
					  held ? held : "it is not allocated yet");
	if (cluster == POOL_NONE)
		return;
	queue = &table->queues.at[table->clusters.at[cluster].queue];
	where = arena_printf(arena, "%s, %s", where, queue_text(arena, queue));
	ret_grant->message = arena_printf(arena, "waits for %s: %s", where,
					  held ? held : "it is not allocated yet");
	if (held || unit == SHARE_NONE)
		return;
	switch (table->result.units[unit]) {
	case SHARE_AT_MAXIMUM:
		ret_grant->message = arena_printf(arena, "waits for %s: at its maximum %s", where,
						  resource_amount_text(arena, queue->maximum));
		return;
	case SHARE_IMPOSSIBLE:
		ret_grant->message = arena_printf(
			arena, "%s never holds %s: the pool has %s%s", where,
			gpus_text(arena, table->units.at[unit].amount),
			resource_amount_text(arena, allocation->input->capacities[pool]),
			queue->maximum == RESOURCE_AMOUNT_MAX ?
				"" :
				arena_printf(arena, ", and the queue at most %s",
					     resource_amount_text(arena, queue->maximum)));
		return;
	case SHARE_COMING:
		ret_grant->message = arena_printf(arena, "waits for %s: %s become free for it",
						  where,
						  gpus_text(arena, table->units.at[unit].amount));
		return;
	case SHARE_WAITS:
	case SHARE_GRANTED:
		break;
	}
	if (table->result.reserved != SHARE_NONE && table->result.reserved != unit)
		ret_grant->reason = REASON_RESERVED_FOR_GANG;
	ret_grant->message = arena_printf(
		arena, "waits for %s: place %zu of %lld, %s of %s GPUs are held%s%s", where,
		table->places[unit], (long long)table->waiting[table->clusters.at[cluster].queue],
		resource_amount_text(arena, resource_sum(table->used, table->granted)),
		resource_amount_text(arena, allocation->input->capacities[pool]),
		borrower_text(table, arena), next_text(allocation, pool, unit, arena));
}

/* The first unit of the member with replicas of the group that is not granted. */
static size_t first_waiting(const struct pool_allocation *allocation, size_t pool, size_t index,
			    size_t group)
{
	const struct pool_input *input = allocation->input;
	size_t cluster = allocation->tables->cluster_of[pool * input->member_count + index];
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct pool_cluster *own;

	if (cluster == POOL_NONE)
		return SHARE_NONE;
	own = &table->members.at[cluster];
	for (size_t u = own->first_unit; u < own->first_unit + own->unit_count; u++) {
		const struct pool_waiting *entry =
			&input->asks[index]->list.at[table->entries.at[u]];

		for (size_t p = 0; table->result.units[u] != SHARE_GRANTED && p < entry->part_count;
		     p++)
			if (entry->parts[p].group == group)
				return u;
	}
	return SHARE_NONE;
}

static const char *release_text(const struct pool_allocation *allocation, size_t pool,
				const struct share_order *order, struct arena *arena)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	const char *name = allocation->input->pools[pool]->name;
	const struct share_unit *unit;

	if (order->unit == SHARE_NONE)
		return arena_printf(arena, "pool %s has fewer GPUs than are held", name);
	unit = &table->units.at[order->unit];
	return arena_printf(
		arena, "for %s, which waits for %s of pool %s, %s",
		table->clusters.at[unit->cluster].name, gpus_text(arena, unit->amount), name,
		queue_text(arena, &table->queues.at[table->clusters.at[unit->cluster].queue]));
}

struct terms {
	VEC(struct pool_grant) grants;
	VEC(struct pool_release) releases;
};

/* An earlier drain keeps its deadline. */
static struct pool_release release_of(const struct pool_allocation *allocation, size_t pool,
				      const struct pool_worker *worker,
				      const struct share_order *order, const char *pod,
				      struct arena *arena)
{
	struct pool_release release = { .pod = arena_strdup(arena, pod), .deadline = TIME_NONE };

	if (worker->drain) {
		release.deadline = worker->drain->deadline;
		release.message = arena_strdup(arena, worker->drain->message);
		return release;
	}
	if (order->action == SHARE_DRAIN)
		release.deadline = order->deadline_ms;
	release.message = release_text(allocation, pool, order, arena);
	return release;
}

static void add_releases(const struct pool_allocation *allocation, size_t pool, size_t index,
			 struct arena *arena, struct terms *terms)
{
	const struct pool_input *input = allocation->input;
	size_t cluster = allocation->tables->cluster_of[pool * input->member_count + index];
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct pool_cluster *own;

	if (cluster == POOL_NONE)
		return;
	own = &table->members.at[cluster];
	for (size_t w = own->first_worker; w < own->first_worker + own->worker_count; w++) {
		const struct pool_worker *worker =
			&input->members[index]->workers.at[table->worker_of.at[w]];
		const struct share_order *order = &table->result.workers[w];

		if (order->action == SHARE_STAY && !worker->drain)
			continue;
		VEC_EACH(const char *const, pod, &worker->pods)
			VEC_PUSH(arena, &terms->releases,
				 release_of(allocation, pool, worker, order, *pod, arena));
	}
}

/* Grants of nothing, with the pools' indices. */
static void list_groups(const struct pool_member *member, struct arena *arena, struct terms *terms)
{
	for (size_t g = 0; g < member->group_count; g++)
		if (member->groups[g].pool != POOL_NONE && !member->groups[g].outside)
			VEC_PUSH(arena, &terms->grants,
				 ((struct pool_grant){
					 .group = arena_strdup(arena, member->groups[g].name),
					 .reason = REASON_WAITS_FOR_POOL,
					 .message =
						 "waits for its pool: the next allocation decides",
				 }));
}

static const struct pool_terms *terms_of(const struct terms *terms, struct arena *arena)
{
	struct pool_terms *ret = ARENA_NEW(arena, struct pool_terms);

	*ret = (struct pool_terms){ .grants = terms->grants.at,
				    .grant_count = terms->grants.count,
				    .releases = terms->releases.at,
				    .release_count = terms->releases.count };
	return ret->grant_count + ret->release_count > 0 ? ret : NULL;
}

const struct pool_terms *pool_terms_none(const struct pool_member *member, struct arena *arena)
{
	struct terms terms = { .grants = { 0 } };

	list_groups(member, arena, &terms);
	return terms_of(&terms, arena);
}

const struct pool_terms *pool_terms_make(const struct pool_allocation *allocation, size_t index,
					 bool spent, struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	const struct pool_member *member = input->members[index];
	struct terms terms = { .grants = { 0 } };
	size_t at = 0;

	list_groups(member, arena, &terms);
	for (size_t g = 0; at < terms.grants.count; g++) {
		size_t pool = member->groups[g].pool;
		struct pool_grant *grant = &terms.grants.at[at];

		if (pool == POOL_NONE || member->groups[g].outside)
			continue;
		at++;
		grant->replicas = spent ? 0 : allocation->shares[index].grants[g];
		explain(allocation, pool,
			allocation->tables->cluster_of[pool * input->member_count + index],
			first_waiting(allocation, pool, index, g), arena, grant);
	}
	for (size_t p = 0; p < input->pool_count; p++)
		add_releases(allocation, p, index, arena, &terms);
	return terms_of(&terms, arena);
}

const struct pool_drains *pool_drains_make(const struct pool_allocation *allocation, size_t index,
					   struct arena *arena)
{
	struct pool_drains *ret = ARENA_NEW(arena, struct pool_drains);
	struct terms terms = { .grants = { 0 } };

	for (size_t p = 0; p < allocation->input->pool_count; p++)
		add_releases(allocation, p, index, arena, &terms);
	VEC_EACH(const struct pool_release, release, &terms.releases)
		if (release->deadline != TIME_NONE)
			VEC_PUSH(arena, &ret->list,
				 ((struct pool_drain){ release->pod, release->deadline,
						       release->message }));
	return ret;
}

/* An entry with what the allocation changes of it. */
static struct pool_waiting after_grant(const struct pool_waiting *ask, int64_t granted, time_ms now)
{
	struct pool_waiting entry = *ask;

	if (granted <= 0) {
		entry.granted_since = TIME_NONE;
	} else if (entry.granted_since == TIME_NONE) {
		entry.granted_since = now;
	} else if (now - entry.granted_since >= POOL_ASK_UNUSED_MS) {
		entry.since = now;
		entry.granted_since = TIME_NONE;
	}
	return entry;
}

bool pool_asks_grants_differ(const struct pool_allocation *allocation, size_t index)
{
	const struct pool_asks *asks = allocation->input->asks[index];
	const int64_t *granted = allocation->shares[index].granted;

	for (size_t e = 0; e < asks->list.count; e++) {
		const struct pool_waiting *ask = &asks->list.at[e];
		struct pool_waiting after = after_grant(ask, granted[e], allocation->input->now);

		if (after.since != ask->since || after.granted_since != ask->granted_since)
			return true;
	}
	return false;
}

const struct pool_asks *pool_asks_granted(const struct pool_allocation *allocation, size_t index,
					  struct arena *arena)
{
	struct pool_asks *ret = pool_asks_copy(allocation->input->asks[index], arena);
	const int64_t *granted = allocation->shares[index].granted;

	for (size_t e = 0; e < ret->list.count; e++)
		ret->list.at[e] = after_grant(&ret->list.at[e], granted[e], allocation->input->now);
	return ret;
}

/* ---- figures ---- */

static const struct gpu_pool_queue_status *find_queue(const struct gpu_pool_status *status,
						      const char *name)
{
	for (size_t q = 0; status && q < status->queue_count; q++)
		if (strcmp(status->queues[q].name, name) == 0)
			return &status->queues[q];
	return NULL;
}

static void sum_workers(const struct pool_table *table, struct gpu_pool_queue_status *queues)
{
	VEC_EACH(const struct share_worker, worker, &table->workers) {
		struct gpu_pool_queue_status *queue =
			&queues[table->clusters.at[worker->cluster].queue];

		if (worker->state == SHARE_IDLE && !worker->needed)
			queue->idle = resource_sum(queue->idle, worker->amount);
		else
			queue->busy = resource_sum(queue->busy, worker->amount);
	}
}

static int by_since(const void *left, const void *right)
{
	const struct gpu_pool_waiting *a = left;
	const struct gpu_pool_waiting *b = right;

	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return strcmp(a->cluster, b->cluster);
}

static int64_t product_of(int64_t amount, int64_t count)
{
	__int128 product = (__int128)amount * count;

	return product > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : (int64_t)product;
}

static int compare_key(const void *key, const void *member)
{
	return strcmp(key, (*(const struct pool_member *const *)member)->key);
}

/* The cluster exists, and nothing is known yet of what it asks for. */
static bool keeps_place(const struct pool_input *input, const char *cluster)
{
	const struct pool_member *const *found =
		input->member_count == 0 ? NULL :
					   bsearch(cluster, input->members, input->member_count,
						   sizeof(*input->members), compare_key);

	return found && input->asks[found - input->members] == &pool_asks_unknown;
}

/* The asks of all members in this pool, also those that will be launched; of members of which nothing is
 * known yet those of the last status, so that a restart before their first decision loses no place. */
static void list_waiting(const struct pool_allocation *allocation, size_t pool,
			 struct gpu_pool_queue_status *queues, const struct gpu_pool_status *old,
			 struct arena *arena, struct gpu_pool_status *status)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	VEC(struct gpu_pool_waiting) list = { 0 };

	VEC_EACH(const struct pool_cluster, own, &table->members) {
		const struct pool_member *member = allocation->input->members[own->member];
		struct gpu_pool_queue_status *queue =
			&queues[table->clusters.at[own - table->members.at].queue];

		for (size_t u = own->first_unit; u < own->first_unit + own->unit_count;) {
			size_t entry = table->entries.at[u];
			const struct pool_waiting *ask =
				&allocation->input->asks[own->member]->list.at[entry];
			int64_t granted = 0, gpus = table->units.at[u].amount;

			for (;
			     u < own->first_unit + own->unit_count && table->entries.at[u] == entry;
			     u++)
				granted += table->result.units[u] == SHARE_GRANTED;
			VEC_PUSH(arena, &list,
				 ((struct gpu_pool_waiting){ .cluster = member->key,
							     .groups = ask->groups,
							     .gpus = gpus,
							     .count = ask->count,
							     .since = ask->since }));
			if (granted < ask->count && (queue->waiting_since == TIME_NONE ||
						     ask->since < queue->waiting_since))
				queue->waiting_since = ask->since;
			queue->waiting_units += ask->count - granted;
			queue->waiting = resource_sum(queue->waiting,
						      product_of(gpus, ask->count - granted));
		}
	}
	for (size_t i = 0; old && i < old->waiting_unit_count; i++)
		if (keeps_place(allocation->input, old->waiting_units[i].cluster))
			VEC_PUSH(arena, &list, old->waiting_units[i]);
	sort_stable(list.at, list.count, sizeof(*list.at), by_since);
	status->waiting_units = list.at;
	status->waiting_unit_count = list.count < GPU_POOL_WAITING_MAX ? list.count :
									 GPU_POOL_WAITING_MAX;
}

static void finish_queue(const struct pool_allocation *allocation, size_t pool, size_t q,
			 const struct gpu_pool_status *old, struct gpu_pool_queue_status *queue)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct gpu_pool_queue_status *before = find_queue(old, queue->name);
	int64_t capacity = allocation->input->capacities[pool];
	bool below = queue->waiting > 0 && queue->held < queue->guaranteed;

	queue->borrowed = table->borrowed[q];
	queue->share = capacity > 0 ? (int64_t)((__int128)queue->borrowed * RESOURCE_UNIT /
						table->queues.at[q].weight / capacity) :
				      0;
	queue->below_guarantee_since = TIME_NONE;
	if (below)
		queue->below_guarantee_since = before && before->below_guarantee_since !=
								       TIME_NONE ?
						       before->below_guarantee_since :
						       allocation->input->now;
}

static const char *reserved_text(const struct pool_allocation *allocation, size_t pool,
				 struct arena *arena)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	size_t unit = table->result.reserved;
	const struct pool_cluster *own;
	const struct pool_member *member;

	if (unit == SHARE_NONE)
		return "";
	own = &table->members.at[table->units.at[unit].cluster];
	member = allocation->input->members[own->member];
	return arena_printf(
		arena, "%s: %s", member->key,
		allocation->input->asks[own->member]->list.at[table->entries.at[unit]].groups);
}

static void add_ready(const struct pool_allocation *allocation, size_t pool,
		      const struct gpu_pool_status *old, struct arena *arena,
		      struct gpu_pool_status *status)
{
	const char *held = allocation->input->held[pool];
	struct condition *ready = ARENA_NEW(arena, struct condition);
	const struct condition *before =
		old ? condition_find(old->conditions.at, old->conditions.count, "Ready") : NULL;

	*ready = (struct condition){
		.type = "Ready",
		.status = held ? "False" : "True",
		.reason = held ? "NotShared" : "Shared",
		.message = held ? arena_strdup(arena, held) : "its GPUs are shared",
		.last_transition = allocation->input->now,
	};
	if (before && strcmp(before->status, ready->status) == 0)
		ready->last_transition = before->last_transition;
	status->conditions.at = ready;
	status->conditions.count = 1;
}

void pool_status_make(const struct pool_allocation *allocation, size_t pool,
		      const struct gpu_pool_status *old, struct arena *arena,
		      struct gpu_pool_status *ret_status)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	size_t count = table->queues.count;
	struct gpu_pool_queue_status *queues = arena_array(arena, count, sizeof(*queues));

	*ret_status = (struct gpu_pool_status){
		.observed_generation = allocation->input->pools[pool]->generation,
		.gpus = allocation->input->capacities[pool],
		.held = table->used,
		.queues = queues,
		.queue_count = count,
		.reserved_for = reserved_text(allocation, pool, arena),
		.updated = allocation->input->now,
	};
	add_ready(allocation, pool, old, arena, ret_status);
	for (size_t q = 0; q < count; q++)
		queues[q] = (struct gpu_pool_queue_status){
			.name = table->queues.at[q].name,
			.held = table->held[q],
			.guaranteed = table->queues.at[q].guaranteed,
			.waiting_since = TIME_NONE,
		};
	sum_workers(table, queues);
	list_waiting(allocation, pool, queues, old, arena, ret_status);
	for (size_t q = 0; q < count; q++) {
		finish_queue(allocation, pool, q, old, &queues[q]);
		ret_status->waiting = resource_sum(ret_status->waiting, queues[q].waiting);
	}
}
