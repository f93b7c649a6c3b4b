#include "feature/pools/core/pool_allocation.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/int64.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/model/reason.h"
#include "feature/pools/core/pool_table.h"

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

static const struct pool_part *part_of(const struct pool_allocation *allocation, size_t pool,
				       size_t member)
{
	return &allocation->tables->parts[pool * allocation->input->member_count + member];
}

/* ---- the input of core/share ---- */

struct building {
	const struct pool_input *input;
	struct pool_tables *tables;
	struct arena *arena, *scratch; /* scratch: until the pools are shared */
	size_t most_groups;            /* of a member */
};

static void add_queue(struct building *b, struct pool_table *table,
		      const struct gpu_pool_queue *queue)
{
	int64_t busy = queue->has_busy ? queue->busy_after_seconds :
					 table->pool->busy_after_seconds;

	VEC_PUSH(b->arena, &table->queues,
		 ((struct share_queue){
			 .name = queue->name,
			 .guaranteed = queue->guaranteed,
			 .lendable = queue->has_lendable ? queue->lendable : queue->guaranteed,
			 .maximum = queue->has_maximum ? queue->maximum : RESOURCE_AMOUNT_MAX,
			 .weight = queue->weight,
			 .priority = queue->priority,
			 .drain_after_ms = gpu_pool_ms(busy, SHARE_NEVER) }));
}

/* The last queue of a GPUPool is that of namespaces in no queue. */
static void start_table(struct building *b, size_t pool)
{
	static const struct gpu_pool_queue rest = { .name = "", .weight = 1 };
	struct pool_table *table = &b->tables->at[pool];

	table->pool = b->input->pools[pool];
	if (gpu_pool_is_of_flags(table->pool->name))
		return;
	for (size_t q = 0; q < table->pool->queue_count; q++)
		add_queue(b, table, &table->pool->queues[q]);
	add_queue(b, table, &rest);
}

/* In the pool of the flags a namespace is a queue. Members are sorted, so those of one namespace follow
 * each other. */
static size_t queue_of(struct building *b, struct pool_table *table, size_t index)
{
	const char *namespace_ = b->input->members[index]->namespace_;
	const struct labels *labels = &b->input->namespace_labels[index];

	if (!gpu_pool_is_of_flags(table->pool->name)) {
		if (!table->last_labels || labels->at != table->last_labels)
			table->last_queue = pool_match_queue(table->pool, labels);
		table->last_labels = labels->at;
		return table->last_queue;
	}
	if (table->queues.count == 0 ||
	    strcmp(table->queues.at[table->queues.count - 1].name, namespace_) != 0)
		add_queue(b, table,
			  &(struct gpu_pool_queue){ .name = namespace_,
						    .has_maximum = true,
						    .maximum = b->input->per_namespace,
						    .weight = 1 });
	return table->queues.count - 1;
}

static size_t cluster_in(struct building *b, size_t pool, size_t index)
{
	struct pool_part *part = &b->tables->parts[pool * b->input->member_count + index];
	const struct pool_member *member = b->input->members[index];
	struct pool_table *table = &b->tables->at[pool];

	if (part->cluster != POOL_NONE)
		return part->cluster;
	*part = (struct pool_part){ table->clusters.count, table->runs.count,
				    table->workers.count };
	VEC_PUSH(b->arena, &table->clusters,
		 ((struct share_cluster){ member->key, queue_of(b, table, index) }));
	VEC_PUSH(b->arena, &table->members, member);
	return part->cluster;
}

static void add_worker(struct building *b, size_t index, const struct pool_worker *worker)
{
	struct pool_table *table = &b->tables->at[worker->pool];
	size_t cluster;

	if (worker->outside) {
		table->outside = resource_sum(table->outside, worker->gpus);
		return;
	}
	cluster = cluster_in(b, worker->pool, index);
	/* reserve_tables has made room. */
	table->workers.at[table->workers.count++] =
		(struct share_worker){ .cluster = cluster,
				       .amount = worker->gpus,
				       .state = worker->state,
				       .needed = worker->needed,
				       .requested = worker->requested,
				       .since_ms = worker->since };
	table->held.at[table->held.count++] = worker;
}

/* The group that draws from this pool; NULL: another one. */
static const struct pool_group *group_in(const struct pool_member *member, size_t group,
					 size_t pool)
{
	return group < member->group_count && member->groups[group].pool == pool ?
		       &member->groups[group] :
		       NULL;
}

/* A slice or a placement group, which single workers would always pass. */
static bool is_large(const struct pool_member *member, const struct pool_waiting *ask)
{
	for (size_t p = 0; p < ask->part_count; p++)
		if (member->groups[ask->parts[p].group].hosts > 1)
			return true;
	return ask->gang;
}

/* With the replicas of a gang that are there. */
static int64_t unit_gpus(const struct pool_member *member, const struct pool_waiting *ask)
{
	int64_t sum = 0;

	for (size_t p = 0; p < ask->part_count; p++)
		if (ask->parts[p].group < member->group_count)
			sum = resource_sum(
				sum,
				resource_product(member->groups[ask->parts[p].group].replica_gpus,
						 ask->parts[p].replicas + ask->parts[p].there));
	return sum;
}

/* A unit that has become larger has no place yet. */
static time_ms since_of(const struct pool_input *input, size_t index,
			const struct pool_waiting *ask)
{
	bool grew = ask->gpus > 0 && unit_gpus(input->members[index], ask) > ask->gpus;

	return grew ? input->now : ask->since;
}

/* The index of the run in the pool; POOL_NONE: the units have no part there. */
static size_t add_run(struct building *b, size_t index, const struct pool_waiting *ask, size_t pool)
{
	const struct pool_member *member = b->input->members[index];
	struct pool_table *table = &b->tables->at[pool];
	struct pool_run run = { ask, 0, table->units.count, (size_t)ask->count, 0 };
	struct share_unit unit = {
		.since_ms = since_of(b->input, index, ask),
		.unreserved = !is_large(member, ask) || ask->requested,
		.requested = ask->requested,
		.passed_over = pool_asks_rest(b->input->asks[index], b->input->now),
	};
	int64_t amount = 0, room;

	for (size_t p = 0; p < ask->part_count; p++) {
		const struct pool_group *group = group_in(member, ask->parts[p].group, pool);

		if (group && group->outside)
			return POOL_NONE;
		if (group)
			amount = resource_sum(amount, resource_product(group->replica_gpus,
								       ask->parts[p].replicas));
	}
	if (amount == 0)
		return POOL_NONE;
	room = b->input->capacities[pool] / amount + 1;
	room = room < POOL_ASKS_MAX ? room : POOL_ASKS_MAX;
	run.count = ask->count < room ? (size_t)ask->count : (size_t)room;
	unit.cluster = run.cluster = cluster_in(b, pool, index);
	unit.amount = amount;
	unit.passed_over |=
		b->input->now < b->input->asks[index]->wasted_until &&
		amount > table->queues.at[table->clusters.at[run.cluster].queue].guaranteed;
	VEC_PUSH(b->arena, &table->runs, run);
	for (size_t i = 0; i < run.count; i++) {
		VEC_PUSH(b->arena, &table->units, unit);
		VEC_PUSH(b->arena, &table->asks, ask);
	}
	return table->runs.count - 1;
}

static struct share_unit *first_unit(const struct building *b, size_t pool, size_t run)
{
	const struct pool_table *table = &b->tables->at[pool];

	return &table->units.at[table->runs.at[run].first];
}

/* In each pool. */
static void pass_over(const struct building *b, const size_t *runs)
{
	for (size_t p = 0; p < b->input->pool_count; p++) {
		if (runs[p] == POOL_NONE)
			continue;
		for (size_t i = 0; i < b->tables->at[p].runs.at[runs[p]].count; i++)
			first_unit(b, p, runs[p])[i].passed_over = true;
	}
}

/* Of groups that the RayCluster has. Asks of its last decision may have more. */
static bool is_askable(const struct pool_member *member, const struct pool_waiting *ask)
{
	for (size_t p = 0; p < ask->part_count; p++)
		if (ask->parts[p].group >= member->group_count)
			return false;
	return true;
}

static void add_ask(struct building *b, size_t index, const struct pool_waiting *ask)
{
	struct pool_joint joint = { ask, b->input->members[index]->key, NULL, SIZE_MAX };
	size_t parts = 0;
	bool passed_over = false;

	if (!is_askable(b->input->members[index], ask))
		return;
	joint.runs = arena_array(b->scratch, b->input->pool_count, sizeof(*joint.runs));
	for (size_t p = 0; p < b->input->pool_count; p++) {
		joint.runs[p] = add_run(b, index, ask, p);
		if (joint.runs[p] == POOL_NONE)
			continue;
		parts++;
		passed_over |= first_unit(b, p, joint.runs[p])->passed_over;
	}
	if (passed_over)
		pass_over(b, joint.runs);
	if (parts > 1 && !passed_over)
		VEC_PUSH(b->arena, &b->tables->joints, joint);
}

static void reserve_tables(struct building *b)
{
	struct {
		size_t workers, clusters;
	} *counts = arena_array(b->scratch, b->input->pool_count, sizeof(*counts));

	for (size_t m = 0; m < b->input->member_count; m++) {
		const struct pool_worker *last = NULL;

		if (b->input->members[m]->group_count > b->most_groups)
			b->most_groups = b->input->members[m]->group_count;
		VEC_EACH(const struct pool_worker, worker, &b->input->members[m]->workers) {
			counts[worker->pool].workers++;
			counts[worker->pool].clusters += !last || last->pool != worker->pool;
			last = worker;
		}
	}
	for (size_t p = 0; p < b->input->pool_count; p++) {
		VEC_RESERVE(b->arena, &b->tables->at[p].workers, counts[p].workers);
		VEC_RESERVE(b->arena, &b->tables->at[p].held, counts[p].workers);
		VEC_RESERVE(b->arena, &b->tables->at[p].clusters, counts[p].clusters);
		VEC_RESERVE(b->arena, &b->tables->at[p].members, counts[p].clusters);
	}
}

static void add_member(struct building *b, size_t index)
{
	const struct pool_member *member = b->input->members[index];

	VEC_EACH(const struct pool_worker, worker, &member->workers)
		add_worker(b, index, worker);
	VEC_EACH(const struct pool_waiting, ask, &b->input->asks[index]->list)
		add_ask(b, index, ask);
}

/* ---- sums of the queues ---- */

static void note_waiter(struct pool_table *table, const struct pool_run *run)
{
	if (table->result.units[run->first + run->count - 1] != SHARE_WAITS)
		return;
	table->waiters |= table->waiter != POOL_NONE && table->waiter != run->cluster;
	table->waiter = run->cluster;
}

static void sum_runs(struct pool_table *table)
{
	table->waiter = POOL_NONE;
	VEC_EACH(struct pool_run, run, &table->runs) {
		const struct pool_waiting *ask = run->ask;
		QUEUE_STATUS *queue = &table->figures[table->clusters.at[run->cluster].queue];
		int64_t amount = table->units.at[run->first].amount, waits;

		for (size_t u = run->first; u < run->first + run->count; u++)
			run->granted += table->result.units[u] == SHARE_GRANTED;
		waits = ask->count - run->granted;
		table->granted =
			resource_sum(table->granted, resource_product(amount, run->granted));
		if (waits > 0 &&
		    (queue->waiting_since == TIME_NONE || ask->since < queue->waiting_since))
			queue->waiting_since = ask->since;
		table->waits |= waits > 0;
		note_waiter(table, run);
		queue->waiting_units += waits;
		queue->waiting = resource_sum(queue->waiting, resource_product(amount, waits));
	}
}

static void sum_queues(struct pool_table *table, int64_t capacity, struct arena *arena)
{
	table->figures = arena_array(arena, table->queues.count, sizeof(*table->figures));
	for (size_t q = 0; q < table->queues.count; q++)
		table->figures[q] = (QUEUE_STATUS){ .name = table->queues.at[q].name,
						    .guaranteed = table->queues.at[q].guaranteed,
						    .below_guarantee_since = TIME_NONE,
						    .saved_since = TIME_NONE,
						    .granted_since = TIME_NONE,
						    .waiting_since = TIME_NONE };
	table->used = table->outside;
	VEC_EACH(const struct share_worker, worker, &table->workers) {
		QUEUE_STATUS *queue = &table->figures[table->clusters.at[worker->cluster].queue];
		bool idle = worker->state == SHARE_IDLE && !worker->needed;
		int64_t *part = idle ? &queue->idle : &queue->busy;

		queue->held = resource_sum(queue->held, worker->amount);
		*part = resource_sum(*part, worker->amount);
		table->used = resource_sum(table->used, worker->amount);
	}
	sum_runs(table);
	for (size_t q = 0; q < table->queues.count; q++) {
		QUEUE_STATUS *queue = &table->figures[q];

		if (queue->held > queue->guaranteed)
			queue->borrowed = queue->held - queue->guaranteed;
		if (capacity > 0)
			queue->share = (int64_t)((__int128)queue->borrowed * RESOURCE_UNIT /
						 table->queues.at[q].weight / capacity);
	}
}

/* ---- what each member may do ---- */

/* NULL: not a run of this cluster. */
static const struct pool_run *run_at(const struct pool_table *table, const struct pool_part *part,
				     size_t index)
{
	const struct pool_run *run = index < table->runs.count ? &table->runs.at[index] : NULL;

	return run && run->cluster == part->cluster ? run : NULL;
}

/* Runs the next statement for each run, or worker, of the member in the pool. One that has neither has
 * no cluster, which none of theirs is equal to. */
#define RUNS_EACH(run, table, part)                                                                \
	for (const struct pool_run *(run) = run_at((table), (part), (part)->first_run); (run);     \
	     (run) = run_at((table), (part), (size_t)((run) - (table)->runs.at) + 1))
#define WORKERS_EACH(w, table, part)                                                               \
	for (size_t(w) = (part)->first_worker;                                                     \
	     (w) < (table)->workers.count && (table)->workers.at[(w)].cluster == (part)->cluster;  \
	     (w)++)

/* Units of each entry of the member that are granted in all of their pools. */
static int64_t *granted_of(const struct pool_allocation *allocation, size_t index,
			   struct arena *arena)
{
	const struct pool_asks *asks = allocation->input->asks[index];
	int64_t *granted = arena_array(arena, asks->list.count, sizeof(*granted));

	for (size_t e = 0; e < asks->list.count; e++)
		granted[e] = -1;
	for (size_t p = 0; p < allocation->input->pool_count; p++)
		RUNS_EACH(run, &allocation->tables->at[p], part_of(allocation, p, index))
		{
			int64_t *own = &granted[run->ask - asks->list.at];

			if (*own < 0 || run->granted < *own)
				*own = run->granted;
		}
	return granted;
}

static void make_grants(const struct pool_allocation *allocation, size_t index, struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	struct pool_share *own = &allocation->shares[index];
	int64_t *grants = arena_array(arena, input->members[index]->group_count, sizeof(*grants));
	const int64_t *granted = granted_of(allocation, index, arena);

	VEC_EACH(const struct pool_waiting, ask, &input->asks[index]->list) {
		int64_t count = granted[ask - input->asks[index]->list.at];

		if (count <= 0)
			continue;
		own->gives = true;
		for (size_t p = 0; p < ask->part_count; p++)
			grants[ask->parts[p].group] += count * ask->parts[p].replicas;
	}
	own->granted = granted;
	own->grants = grants;
}

/* Until when idle workers stay for this gang; INT64_MAX: while it is so. Before a reservation as long as
 * reserveAfterSeconds. The reservation is for one gang, and the others give their idle workers back. */
static time_ms collects_until(const struct pool_table *table, const struct pool_part *part,
			      const struct pool_run *run)
{
	const struct share_unit *units = table->units.at;
	size_t reserved = table->result.reserved;

	if (reserved != SHARE_NONE && units[reserved].cluster == part->cluster)
		return INT64_MAX;
	return table->pool->reserve_after_seconds == GPU_POOL_NEVER ?
		       TIME_NONE :
		       units[run->first].since_ms +
			       gpu_pool_ms(table->pool->reserve_after_seconds, INT64_MAX / 4);
}

/* Of each group; own->next: when the first one ends. */
static void make_collects(const struct pool_allocation *allocation, size_t index,
			  struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	size_t groups = input->members[index]->group_count;
	struct pool_share *own = &allocation->shares[index];
	bool *collects = arena_array(arena, groups, sizeof(*collects));

	for (size_t p = 0; p < input->pool_count; p++) {
		const struct pool_table *table = &allocation->tables->at[p];
		const struct pool_part *part = part_of(allocation, p, index);

		RUNS_EACH(run, table, part)
		{
			time_ms until;

			if (!run->ask->gang || run->granted == (int64_t)run->count)
				continue;
			until = collects_until(table, part, run);
			if (until <= input->now)
				continue;
			if (until < own->next)
				own->next = until;
			for (size_t i = 0; i < run->ask->part_count; i++)
				collects[run->ask->parts[i].group] = true;
		}
	}
	own->collects = collects;
	own->digest = hash_bytes(own->digest, collects, groups * sizeof(*collects));
}

/* Of the member's queue in the pool, also while it neither holds nor asks for anything there. */
static int64_t maximum_of(const struct pool_input *input, const struct pool_table *table,
			  size_t index)
{
	if (gpu_pool_is_of_flags(table->pool->name))
		return input->per_namespace;
	return table->queues.at[pool_match_queue(table->pool, &input->namespace_labels[index])]
		.maximum;
}

/* 0: a group with GPUs draws from no pool. */
static int64_t most_of(const struct pool_allocation *allocation, size_t index, struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	const struct pool_member *member = input->members[index];
	bool *draws = arena_array(arena, input->pool_count, sizeof(*draws));
	int64_t sum = 0;

	for (size_t g = 0; g < member->group_count; g++) {
		size_t pool = member->groups[g].pool;

		if (pool != POOL_NONE && member->groups[g].outside)
			return 0;
		if (pool != POOL_NONE)
			draws[pool] = true;
	}
	for (size_t p = 0; p < input->pool_count; p++)
		if (draws[p])
			sum = resource_sum(
				sum,
				int64_min(input->capacities[p],
					  maximum_of(input, &allocation->tables->at[p], index)));
	return member->strays ? 0 : sum;
}

/* Ray drains it since before the start, with a deadline that is not later than those of its queue. */
static bool is_drained_before(const struct pool_table *table, size_t worker)
{
	const struct pool_worker *held = table->held.at[worker];
	size_t queue = table->clusters.at[table->workers.at[worker].cluster].queue;

	return !held->drain && held->ends > 0 &&
	       held->ends - held->since <= table->queues.at[queue].drain_after_ms;
}

/* Nodes with workers of the pool. */
static int64_t used_nodes(const struct pool_table *table, struct arena *scratch)
{
	struct map nodes = MAP_IN(scratch);

	VEC_EACH(const struct pool_worker *const, worker, &table->held)
		VEC_EACH(const struct pool_pod, pod, &(*worker)->pods)
			if (pod->pod && pod->pod->spec.node_name[0] != '\0')
				map_set(&nodes, pod->pod->spec.node_name, pod);
	return (int64_t)nodes.count;
}

static int64_t repair_nodes_of(const struct pool_table *table, struct arena *scratch)
{
	const struct gpu_pool *pool = table->pool;

	if (!pool->has_repair_nodes && !pool->has_repair_percent)
		return -1;
	return pool_repair_limit(pool->has_repair_nodes ? pool->repair_nodes : 0,
				 pool->repair_percent,
				 pool->repair_percent > 0 ? used_nodes(table, scratch) : 0);
}

/* none: zeros, for members that ask for nothing. */
static void make_share(const struct pool_allocation *allocation, size_t index, const int64_t *none,
		       struct arena *arena)
{
	const struct pool_input *input = allocation->input;
	size_t groups = input->members[index]->group_count;
	struct pool_share *own = &allocation->shares[index];

	own->grants = none;
	own->next = INT64_MAX;
	if (input->asks[index]->list.count > 0)
		make_grants(allocation, index, arena);
	own->most = most_of(allocation, index, arena);
	own->digest = hash_bytes(HASH_START, own->grants, groups * sizeof(*own->grants));
	own->digest = hash_bytes(own->digest, &own->most, sizeof(own->most));
	for (size_t p = 0; p < input->pool_count; p++) {
		own->digest = hash_bytes(own->digest, &allocation->tables->at[p].repair_nodes,
					 sizeof(int64_t));
	}
	if (input->asks[index]->list.count > 0)
		make_collects(allocation, index, arena);
	for (size_t p = 0; p < input->pool_count; p++) {
		const struct pool_table *table = &allocation->tables->at[p];

		WORKERS_EACH(w, table, part_of(allocation, p, index))
		{
			enum share_action action = table->result.workers[w].action;

			own->drains |= is_drained_before(table, w);
			if (action == SHARE_STAY)
				continue;
			VEC_EACH(const struct pool_pod, pod, &table->held.at[w]->pods)
				own->digest = hash_add(own->digest, pod->name);
			own->gives = true;
			own->drains |= action == SHARE_DRAIN;
		}
	}
}

static time_ms next_of_asks(const struct pool_input *input)
{
	time_ms next = INT64_MAX;

	for (size_t m = 0; m < input->member_count; m++) {
		time_ms change = pool_asks_next(input->asks[m], input->now);

		if (change < next)
			next = change;
	}
	return next;
}

/* ---- places that are missing ---- */

static const struct pool_no_room *no_room_of(const struct pool_table *table, size_t unit)
{
	return ARRAY_FIND(table->no_room, table->no_room_count, shape,
			  pool_places_shape(&table->places, unit));
}

static const char *no_room_text(const struct pool_table *table, size_t unit)
{
	const struct pool_no_room *found = no_room_of(table, unit);

	return found && pool_places_pods(&table->places, unit) > found->room ? found->why : "";
}

/* The unit waits although so many GPUs are in no use of the pool. */
static bool lacks_place(const struct pool_table *table, size_t unit, int64_t left)
{
	return table->result.units[unit] == SHARE_WAITS && table->units.at[unit].amount <= left;
}

static void find_no_room(struct pool_table *table, int64_t capacity, struct arena *arena)
{
	int64_t left = capacity - resource_sum(table->used, table->granted);

	for (size_t u = 0; u < table->units.count && table->no_room_count < POOL_NO_ROOM_MAX; u++)
		if (lacks_place(table, u, left) && !no_room_of(table, u)) {
			struct pool_no_room *added = &table->no_room[table->no_room_count++];

			added->shape = pool_places_shape(&table->places, u);
			added->why = pool_places_why(&table->places, u, arena, &added->room);
		}
}

const struct pool_allocation *pool_allocate(const struct pool_input *input, struct arena *arena)
{
	struct pool_input *copy = ARENA_COPY(arena, input, 1);
	struct pool_tables *tables = ARENA_NEW(arena, struct pool_tables);
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct building b = { copy, tables, arena, &scratch, 0 };
	struct pool_past *pasts = arena_array(arena, input->pool_count, sizeof(*pasts));
	size_t parts = input->pool_count * input->member_count;
	struct pool_allocation *allocation;
	const int64_t *none;

	tables->at = arena_array(arena, input->pool_count, sizeof(*tables->at));
	tables->parts = arena_array(arena, parts, sizeof(*tables->parts));
	for (size_t i = 0; i < parts; i++)
		tables->parts[i].cluster = POOL_NONE;
	for (size_t p = 0; p < input->pool_count; p++)
		start_table(&b, p);
	reserve_tables(&b);
	for (size_t m = 0; m < input->member_count; m++)
		add_member(&b, m);
	pool_rounds(input, tables, pasts, arena);
	allocation = ARENA_PUT(arena, (struct pool_allocation){ .input = copy,
								.tables = tables,
								.pasts = pasts,
								.next = next_of_asks(input) });
	for (size_t p = 0; p < input->pool_count; p++) {
		tables->at[p].repair_nodes = repair_nodes_of(&tables->at[p], &scratch);
		sum_queues(&tables->at[p], input->capacities[p], arena);
		if (!input->stopped[p] && input->free && input->free->gpus[p] > 0)
			find_no_room(&tables->at[p], input->capacities[p], arena);
		allocation->waits |= tables->at[p].waits;
		if (tables->at[p].next < allocation->next)
			allocation->next = tables->at[p].next;
	}
	allocation->shares = arena_array(arena, input->member_count, sizeof(*allocation->shares));
	none = arena_array(arena, b.most_groups, sizeof(*none));
	for (size_t m = 0; m < input->member_count; m++) {
		make_share(allocation, m, none, arena);
		if (allocation->shares[m].next < allocation->next)
			allocation->next = allocation->shares[m].next;
	}
	return allocation;
}

/* ---- texts ---- */

static const char *gpus_text(struct arena *arena, int64_t amount)
{
	return arena_printf(arena, "%s GPU%s", resource_amount_text(arena, amount),
			    amount == RESOURCE_UNIT ? "" : "s");
}

static const char *queue_text(struct arena *arena, const char *name)
{
	return *name ? arena_printf(arena, "queue %s", name) : "namespaces without a queue";
}

/* "; serving holds 10 GPUs beyond its guarantee": the queue that borrows most. */
static const char *borrower_text(const struct pool_table *table, struct arena *arena)
{
	const QUEUE_STATUS *most = table->figures;
	bool one;

	for (size_t q = 1; q < table->queues.count; q++)
		if (table->figures[q].borrowed > most->borrowed)
			most = &table->figures[q];
	if (table->queues.count == 0 || most->borrowed == 0)
		return "";
	one = *most->name != '\0';
	return arena_printf(arena, "; %s hold%s %s beyond %s guarantee",
			    queue_text(arena, most->name), one ? "s" : "",
			    gpus_text(arena, most->borrowed), one ? "its" : "their");
}

/* "x/demo has not used 4 GPUs that were granted at ...": the oldest grant. "": each is used soon. */
static const char *unused_text(const struct pool_table *table, time_ms now, struct arena *arena)
{
	const struct pool_run *oldest = NULL;

	VEC_EACH(const struct pool_run, run, &table->runs)
		if (run->granted > 0 && run->ask->granted_since != TIME_NONE &&
		    now - run->ask->granted_since >= POOL_ASK_TOLD_MS &&
		    (!oldest || run->ask->granted_since < oldest->ask->granted_since))
			oldest = run;
	if (!oldest)
		return "";
	return arena_printf(arena, "%s has not used %s, granted at %s",
			    table->clusters.at[oldest->cluster].name,
			    gpus_text(arena, resource_product(table->units.at[oldest->first].amount,
							      oldest->granted)),
			    time_text(arena, oldest->ask->granted_since));
}

/* "queue b holds 6 GPUs, above its maximum 4; ...": the first such queue. "": none does. */
static const char *above_maximum_text(const struct pool_table *table, struct arena *arena)
{
	for (size_t q = 0; q < table->queues.count; q++)
		if (table->figures[q].held > table->queues.at[q].maximum)
			return arena_printf(
				arena,
				"%s holds %s, above its maximum %s; the pool launches no more, but "
				"KubeRay creates minReplicas whatever the pool grants: lower "
				"minReplicas of its RayClusters, or raise maximum",
				queue_text(arena, table->queues.at[q].name),
				gpus_text(arena, table->figures[q].held),
				resource_amount_text(arena, table->queues.at[q].maximum));
	return "";
}

/* Why the unit takes no part. */
static const char *passed_over_text(const struct pool_asks *asks, time_ms now, struct arena *arena)
{
	if (now < asks->rests_until)
		return arena_printf(arena,
				    "it has not used GPUs that it was granted, and is granted none "
				    "before %s",
				    time_text(arena, asks->rests_until));
	if (now < asks->wasted_until && !pool_asks_rest(asks, now))
		return arena_printf(
			arena,
			"workers of its RayCluster ended that were never busy, and it is "
			"granted none beyond the guarantee before %s",
			time_text(arena, asks->wasted_until));
	if (pool_asks_rest(asks, now))
		return arena_printf(arena, "Ray has not confirmed what it asks for since %s",
				    time_text(arena, asks->unconfirmed_since));
	return "it needs GPUs of several pools, which are not free at the same time";
}

/* The next event for a unit that waits, with its time. */
static const char *next_text(const struct pool_table *table, size_t unit, time_ms now,
			     struct arena *arena)
{
	int64_t after = table->pool->reserve_after_seconds;
	time_ms saved = table->units.at[unit].since_ms + after * MS_PER_SECOND;
	size_t reserved = table->result.reserved;

	if (reserved == unit)
		return "; GPUs that become free are saved for it";
	if (reserved != SHARE_NONE)
		return arena_printf(arena, "; GPUs that become free are saved for %s",
				    table->clusters.at[table->units.at[reserved].cluster].name);
	if (table->units.at[unit].refused)
		return "; no GPUs are saved for now: those that were stayed unused too long";
	if (after == GPU_POOL_NEVER || saved <= now || table->units.at[unit].unreserved)
		return "";
	return arena_printf(arena, "; from %s on they are saved for it", time_text(arena, saved));
}

/* "place 3 of 7": of the units of its queue that wait, by age, requested ones last. */
static const char *place_text(const struct pool_table *table, size_t unit, struct arena *arena)
{
	size_t queue = table->clusters.at[table->units.at[unit].cluster].queue, before = 0;
	const struct share_unit *own = &table->units.at[unit];

	for (size_t u = 0; u < table->units.count; u++) {
		const struct share_unit *other = &table->units.at[u];
		bool older = other->since_ms < own->since_ms ||
			     (other->since_ms == own->since_ms && u < unit);

		before += (other->requested == own->requested ? older : own->requested) &&
			  table->result.units[u] != SHARE_GRANTED &&
			  table->clusters.at[table->units.at[u].cluster].queue == queue;
	}
	return arena_printf(arena, "place %zu of %lld", before + 1,
			    (long long)table->figures[queue].waiting_units);
}

static void explain_of_flags(const struct pool_allocation *allocation, size_t pool, size_t unit,
			     struct arena *arena, struct pool_grant *ret_grant)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	int64_t per_namespace = allocation->input->per_namespace;
	bool own = unit != SHARE_NONE && (table->result.units[unit] == SHARE_AT_MAXIMUM ||
					  table->units.at[unit].amount > per_namespace);

	ret_grant->reason = REASON_MAX_GPUS;
	ret_grant->message = arena_printf(
		arena, "%s %s allows no more", own ? "max-gpus-per-namespace" : "max-gpus-total",
		resource_amount_text(arena,
				     own ? per_namespace : allocation->input->capacities[pool]));
}

/* Why this unit of a GPUPool has no grant: the text after "waits for pool x, queue y: ". */
static const char *cause_text(const struct pool_allocation *allocation, size_t pool, size_t unit,
			      struct arena *arena)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct share_unit *own = &table->units.at[unit];
	size_t queue = table->clusters.at[own->cluster].queue;
	const char *unused, *no_room = no_room_text(table, unit);

	if (table->result.units[unit] == SHARE_AT_MAXIMUM)
		return arena_printf(arena, "at its maximum %s, of which %s are held",
				    resource_amount_text(arena, table->queues.at[queue].maximum),
				    resource_amount_text(arena, table->figures[queue].held));
	if (table->result.units[unit] == SHARE_COMING)
		return arena_printf(arena, "%s become free for it", gpus_text(arena, own->amount));
	unused = unused_text(table, allocation->input->now, arena);
	return arena_printf(arena, "%s, %s of %s GPUs are held%s%s%s%s",
			    place_text(table, unit, arena),
			    resource_amount_text(arena, resource_sum(table->used, table->granted)),
			    resource_amount_text(arena, allocation->input->capacities[pool]),
			    borrower_text(table, arena), *unused ? "; " : "", unused,
			    *no_room ? arena_printf(arena, "; %s", no_room) :
				       next_text(table, unit, allocation->input->now, arena));
}

static const char *never_text(const struct pool_allocation *allocation, size_t pool,
			      const char *where, size_t unit, struct arena *arena)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct share_unit *own = &table->units.at[unit];
	int64_t most = table->queues.at[table->clusters.at[own->cluster].queue].maximum;

	return arena_printf(arena, "%s never holds %s: the pool has %s%s", where,
			    gpus_text(arena, own->amount),
			    resource_amount_text(arena, allocation->input->capacities[pool]),
			    most == RESOURCE_AMOUNT_MAX ?
				    "" :
				    arena_printf(arena, ", and the queue at most %s",
						 resource_amount_text(arena, most)));
}

/* Why this unit has no grant; SHARE_NONE: the pools do not know of one yet. */
static void explain(const struct pool_allocation *allocation, size_t pool, size_t index,
		    size_t unit, struct arena *arena, struct pool_grant *ret_grant)
{
	size_t cluster = part_of(allocation, pool, index)->cluster;
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct share_result *result = &table->result;
	const char *where = arena_printf(arena, "pool %s", table->pool->name);
	const char *cause = allocation->input->stopped[pool];
	size_t queue;

	if (gpu_pool_is_of_flags(table->pool->name)) {
		explain_of_flags(allocation, pool, unit, arena, ret_grant);
		return;
	}
	if (cluster != POOL_NONE) {
		queue = table->clusters.at[cluster].queue;
		where = arena_printf(arena, "%s, %s", where,
				     queue_text(arena, table->queues.at[queue].name));
	}
	if (!cause && unit == SHARE_NONE)
		cause = "it is not allocated yet";
	if (!cause && result->units[unit] == SHARE_PASSED_OVER)
		cause = passed_over_text(allocation->input->asks[index], allocation->input->now,
					 arena);
	ret_grant->reason = REASON_WAITS_FOR_POOL;
	if (!cause && result->units[unit] == SHARE_IMPOSSIBLE) {
		ret_grant->message = never_text(allocation, pool, where, unit, arena);
		return;
	}
	if (!cause && result->units[unit] != SHARE_AT_MAXIMUM &&
	    result->units[unit] != SHARE_COMING && result->reserved != SHARE_NONE &&
	    result->reserved != unit && *no_room_text(table, unit) == '\0')
		ret_grant->reason = REASON_RESERVED_FOR_GANG;
	ret_grant->message =
		arena_printf(arena, "waits for %s: %s", where,
			     cause ? cause : cause_text(allocation, pool, unit, arena));
}

/* ---- terms ---- */

/* The first unit of the member with replicas of the group that is not granted. */
static size_t first_waiting(const struct pool_table *table, const struct pool_part *part,
			    size_t group)
{
	RUNS_EACH(run, table, part)
	{
		size_t unit = run->first;

		if (run->granted == (int64_t)run->count)
			continue;
		while (table->result.units[unit] == SHARE_GRANTED)
			unit++;
		for (size_t p = 0; p < run->ask->part_count; p++)
			if (run->ask->parts[p].group == group)
				return unit;
	}
	return SHARE_NONE;
}

static const char *release_text(const struct pool_table *table, size_t unit, struct arena *arena)
{
	const struct share_cluster *cluster;

	if (unit == SHARE_NONE)
		return arena_printf(arena, "pool %s has fewer GPUs than are held",
				    table->pool->name);
	cluster = &table->clusters.at[table->units.at[unit].cluster];
	return arena_printf(arena, "for %s, which waits for %s of pool %s, %s", cluster->name,
			    gpus_text(arena, table->units.at[unit].amount), table->pool->name,
			    queue_text(arena, table->queues.at[cluster->queue].name));
}

struct terms {
	VEC(struct pool_grant) grants;
	VEC(struct pool_release) releases;
};

/* An earlier drain keeps its deadline, also one of before the start. */
static void add_releases(const struct pool_allocation *allocation, size_t index,
			 struct arena *arena, struct terms *terms)
{
	for (size_t p = 0; p < allocation->input->pool_count; p++) {
		const struct pool_table *table = &allocation->tables->at[p];

		WORKERS_EACH(w, table, part_of(allocation, p, index))
		{
			const struct pool_worker *worker = table->held.at[w];
			const struct share_order *order = &table->result.workers[w];
			struct pool_release release = { .deadline = TIME_NONE };

			if (worker->drain) {
				release.deadline = worker->drain->deadline;
				release.message = arena_strdup(arena, worker->drain->message);
			} else if (is_drained_before(table, w)) {
				release.deadline = worker->ends;
				release.message = arena_printf(arena, "for others of pool %s",
							       table->pool->name);
			} else if (order->action == SHARE_STAY) {
				continue;
			} else {
				release.message = release_text(table, order->unit, arena);
				if (order->action == SHARE_DRAIN)
					release.deadline = order->deadline_ms;
			}
			VEC_EACH(const struct pool_pod, pod, &worker->pods) {
				release.pod = arena_strdup(arena, pod->name);
				VEC_PUSH(arena, &terms->releases, release);
			}
		}
	}
}

static struct pool_grant no_grant(const char *group, struct arena *arena)
{
	return (struct pool_grant){
		.group = arena_strdup(arena, group),
		.repair_pool = "",
		.reason = REASON_WAITS_FOR_POOL,
		.message = "waits for its pool: the next allocation decides",
	};
}

/* Without an allocation: grants of nothing. */
static const struct pool_terms *make_terms(const struct pool_allocation *allocation, size_t index,
					   const struct pool_member *member, bool spent,
					   struct arena *arena)
{
	struct terms terms = { .grants = { 0 } };

	for (size_t g = 0; g < member->group_count; g++) {
		size_t pool = member->groups[g].pool;
		struct pool_grant *grant;

		if (pool == POOL_NONE || member->groups[g].outside)
			continue;
		grant = VEC_ADD(arena, &terms.grants);
		*grant = no_grant(member->groups[g].name, arena);
		if (!allocation)
			continue;
		grant->replicas = spent ? 0 : allocation->shares[index].grants[g];
		grant->collects = allocation->shares[index].collects &&
				  allocation->shares[index].collects[g];
		if (allocation->tables->at[pool].repair_nodes >= 0) {
			grant->repair_pool =
				arena_strdup(arena, allocation->input->pools[pool]->name);
			grant->repair_nodes = allocation->tables->at[pool].repair_nodes;
		}
		explain(allocation, pool, index,
			first_waiting(&allocation->tables->at[pool],
				      part_of(allocation, pool, index), g),
			arena, grant);
	}
	if (allocation)
		add_releases(allocation, index, arena, &terms);
	if (terms.grants.count + terms.releases.count == 0)
		return NULL;
	return ARENA_PUT(arena,
			 (struct pool_terms){ terms.grants.at, terms.grants.count,
					      terms.releases.at, terms.releases.count,
					      allocation ? allocation->shares[index].most : 0 });
}

const struct pool_terms *pool_terms_none(const struct pool_member *member, struct arena *arena)
{
	return make_terms(NULL, 0, member, false, arena);
}

const struct pool_terms *pool_terms_unknown(const struct ray_cluster *cluster, struct arena *arena)
{
	struct terms terms = { .grants = { 0 } };

	for (size_t g = 0; g < cluster->group_count; g++) {
		struct pool_grant *grant = VEC_ADD(arena, &terms.grants);

		*grant = no_grant(cluster->groups[g].name, arena);
		grant->collects = true;
	}
	return ARENA_PUT(arena, (struct pool_terms){ .grants = terms.grants.at,
						     .grant_count = terms.grants.count });
}

const struct pool_terms *pool_terms_make(const struct pool_allocation *allocation, size_t index,
					 bool spent, struct arena *arena)
{
	return make_terms(allocation, index, allocation->input->members[index], spent, arena);
}

const struct pool_drains *pool_drains_make(const struct pool_allocation *allocation, size_t index,
					   struct arena *arena)
{
	struct pool_drains *ret = ARENA_NEW(arena, struct pool_drains);
	struct terms terms = { .grants = { 0 } };

	add_releases(allocation, index, arena, &terms);
	VEC_EACH(const struct pool_release, release, &terms.releases)
		if (release->deadline != TIME_NONE)
			VEC_PUSH(arena, &ret->list, *release);
	return ret;
}

/* An entry with what the allocation changes of it. */
static struct pool_waiting after_grant(const struct pool_allocation *allocation, size_t index,
				       const struct pool_waiting *ask, int64_t granted, time_ms now)
{
	struct pool_waiting entry = *ask;

	entry.since = since_of(allocation->input, index, ask);
	entry.gpus = unit_gpus(allocation->input->members[index], ask);

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

/* Another RayCluster waits for GPUs of a pool of this member. */
static bool others_wait(const struct pool_allocation *allocation, size_t index)
{
	const struct pool_member *member = allocation->input->members[index];

	for (size_t g = 0; g < member->group_count; g++) {
		size_t pool = member->groups[g].pool;
		const struct pool_table *table;

		if (pool == POOL_NONE)
			continue;
		table = &allocation->tables->at[pool];
		if (table->waiters || (table->waiter != POOL_NONE &&
				       table->waiter != part_of(allocation, pool, index)->cluster))
			return true;
	}
	return false;
}

/* Of its workers now. */
static struct pool_asks with_use(const struct pool_allocation *allocation, size_t index)
{
	struct pool_asks asks = *allocation->input->asks[index];
	bool held = false, busy = false;

	VEC_EACH(const struct pool_worker, worker, &allocation->input->members[index]->workers) {
		held |= !worker->outside;
		busy |= worker->state == SHARE_BUSY && !worker->outside;
	}
	pool_asks_use(&asks, held, busy, others_wait(allocation, index), allocation->input->now);
	return asks;
}

const struct pool_asks *pool_asks_granted(const struct pool_allocation *allocation, size_t index,
					  struct arena *arena)
{
	const struct pool_asks *asks = allocation->input->asks[index];
	const struct pool_asks used = with_use(allocation, index);
	struct pool_asks *ret = NULL;
	bool rests = false;

	if (asks == &pool_asks_unknown)
		return asks;
	if (used.held_since != asks->held_since || used.wasted != asks->wasted)
		ret = field_copy(pool_asks_fields, &used, sizeof(used), arena);
	for (size_t e = 0; e < asks->list.count; e++) {
		const struct pool_waiting *ask = &asks->list.at[e];
		struct pool_waiting after = after_grant(allocation, index, ask,
							allocation->shares[index].granted[e],
							allocation->input->now);

		bool unused = ask->granted_since != TIME_NONE && after.granted_since == TIME_NONE &&
			      allocation->shares[index].granted[e] > 0;

		if (!ret && (after.since != ask->since ||
			     after.granted_since != ask->granted_since || after.gpus != ask->gpus))
			ret = field_copy(pool_asks_fields, asks, sizeof(*asks), arena);
		if (!ret)
			continue;
		ret->list.at[e].since = after.since;
		ret->list.at[e].granted_since = after.granted_since;
		ret->list.at[e].gpus = after.gpus;
		if (unused && !rests)
			pool_asks_unused(ret, allocation->input->now);
		rests |= unused;
	}
	return ret ? ret : asks;
}

/* ---- figures ---- */

static int by_since(const void *left, const void *right)
{
	const struct gpu_pool_waiting *a = left;
	const struct gpu_pool_waiting *b = right;

	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return strcmp(a->cluster, b->cluster);
}

static int compare_key(const void *key, const void *member)
{
	return strcmp(key, (*(const struct pool_member *const *)member)->key);
}

/* The cluster exists, and nothing is known yet of what it asks for. */
static bool keeps_place(const struct pool_input *input, const char *cluster)
{
	const struct pool_member *const *found =
		SORT_FIND(cluster, input->members, input->member_count, compare_key);

	return found && input->asks[found - input->members] == &pool_asks_unknown;
}

/* The queue of a member in the pool; the last one: that of no queue, or not a member any more. */
static size_t queue_in(const struct pool_input *input, size_t pool, const char *cluster)
{
	const struct pool_member *const *found =
		SORT_FIND(cluster, input->members, input->member_count, compare_key);

	if (!found)
		return input->pools[pool]->queue_count;
	return pool_match_queue(input->pools[pool],
				&input->namespace_labels[found - input->members]);
}

/* Each queue has an equal share of the entries, so that no tenant can use all of them. */
static void bound_waiting(const struct pool_allocation *allocation, size_t pool,
			  struct arena *arena, struct gpu_pool_status *status)
{
	size_t queues = allocation->input->pools[pool]->queue_count + 1, kept = 0;
	size_t *counts = arena_array(arena, queues, sizeof(*counts));
	struct gpu_pool_waiting *list = arena_array(arena, GPU_POOL_WAITING_MAX, sizeof(*list));

	ARRAY_EACH(const struct gpu_pool_waiting, unit, status->waiting_units,
		   status->waiting_unit_count) {
		size_t queue = queue_in(allocation->input, pool, unit->cluster);

		if (counts[queue]++ < GPU_POOL_WAITING_MAX / queues)
			list[kept++] = *unit;
	}
	status->waiting_units = list;
	status->waiting_unit_count = kept;
}

/* The asks of all members in this pool, also those that will be launched; of members of which nothing is
 * known yet those of the last status, so that a restart before their first decision loses no place. */
static void list_waiting(const struct pool_allocation *allocation, size_t pool,
			 const struct gpu_pool_status *old, struct arena *arena,
			 struct gpu_pool_status *status)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	VEC(struct gpu_pool_waiting) list = { 0 };

	VEC_EACH(const struct pool_run, run, &table->runs)
		VEC_PUSH(arena, &list,
			 ((struct gpu_pool_waiting){ .cluster =
							     table->clusters.at[run->cluster].name,
						     .groups = run->ask->groups,
						     .gpus = table->units.at[run->first].amount,
						     .count = run->ask->count,
						     .since = run->ask->since }));
	if (old)
		ARRAY_EACH(const struct gpu_pool_waiting, unit, old->waiting_units,
			   old->waiting_unit_count)
			if (keeps_place(allocation->input, unit->cluster))
				VEC_PUSH(arena, &list, *unit);
	sort_stable(list.at, list.count, sizeof(*list.at), by_since);
	status->waiting_units = list.at;
	status->waiting_unit_count = list.count;
	if (list.count > GPU_POOL_WAITING_MAX)
		bound_waiting(allocation, pool, arena, status);
}

static struct condition make_condition(const char *type, const char *status, const char *reason,
				       const char *message)
{
	return (struct condition){
		.type = type, .status = status, .reason = reason, .message = message
	};
}

/* A worker group draws from the pool. */
static bool has_groups(const struct pool_input *input, size_t pool)
{
	for (size_t m = 0; m < input->member_count; m++)
		for (size_t g = 0; g < input->members[m]->group_count; g++)
			if (input->members[m]->groups[g].pool == pool)
				return true;
	return false;
}

/* Why the pool cannot do all that its spec says. */
static struct condition make_ready(const struct pool_allocation *allocation, size_t pool,
				   struct arena *arena)
{
	const char *const *empty = allocation->input->empty_queues;
	const struct gpu_pool *spec = allocation->input->pools[pool];
	const char *held = allocation->input->stopped[pool];
	int64_t capacity = allocation->input->capacities[pool], guaranteed = 0;

	for (size_t q = 0; q < spec->queue_count; q++)
		guaranteed = resource_sum(guaranteed, spec->queues[q].guaranteed);
	if (held)
		return make_condition("Ready", "False", "NotShared", arena_strdup(arena, held));
	if (capacity == 0)
		return make_condition(
			"Ready", "False", "NoGPUs",
			spec->has_gpus ?
				"spec.gpus is 0: raise it, or remove it to count the "
				"GPUs of Nodes" :
				"no Node has GPUs that match spec.groups: correct it, or set "
				"spec.gpus to what a node autoscaler may add");
	if (guaranteed > capacity)
		return make_condition(
			"Ready", "False", "GuaranteesAboveSize",
			arena_printf(
				arena,
				"the guarantees are %s GPUs and the pool has %s, so each counts "
				"in proportion: lower them",
				resource_amount_text(arena, guaranteed),
				resource_amount_text(arena, capacity)));
	if (empty && empty[pool])
		return make_condition(
			"Ready", "False", "EmptyQueue",
			arena_printf(arena,
				     "queue %s selects no namespace: correct its namespaceSelector, "
				     "or label the namespaces of the team",
				     empty[pool]));
	if (spec->kueue_outside && allocation->input->kueue_refused)
		return make_condition("Ready", "False", "WorkloadsUnknown",
				      "kueueOutside has no effect: Workloads of Kueue cannot be "
				      "read: install the chart with kueue.readWorkloads=true, or "
				      "remove kueueOutside");
	if (allocation->tables->at[pool].clusters.count == 0 &&
	    !has_groups(allocation->input, pool))
		return make_condition("Ready", "False", "NoGroups",
				      "no worker group of a RayCluster matches spec.groups: "
				      "correct it, or create the first RayCluster");
	return make_condition("Ready", "True", "Shared", "its GPUs are shared");
}

static void add_conditions(const struct pool_allocation *allocation, size_t pool,
			   const struct gpu_pool_status *old, struct arena *arena,
			   struct gpu_pool_status *status)
{
	time_ms now = allocation->input->now;
	const struct pool_table *table = &allocation->tables->at[pool];
	const char *unused = unused_text(table, now, arena);
	const char *above = above_maximum_text(table, arena);
	struct condition *list = arena_array(arena, GPU_POOL_CONDITIONS_MAX, sizeof(*list));

	const struct condition *ready =
		old ? condition_find(old->conditions.at, old->conditions.count, "Ready") : NULL;

	bool kept = allocation->input->settling && ready;

	status->conditions.at = list;
	status->stopped = !kept && (allocation->input->stopped[pool] ||
				    allocation->input->capacities[pool] == 0);
	list[status->conditions.count++] = kept ? *ready : make_ready(allocation, pool, arena);
	if (*unused)
		list[status->conditions.count++] =
			make_condition(GPU_POOL_UNUSED, "True", "NotLaunched", unused);
	if (*above)
		list[status->conditions.count++] =
			make_condition(GPU_POOL_ABOVE_MAXIMUM, "True", "MinReplicas", above);
	ARRAY_EACH(struct condition, own, list, status->conditions.count) {
		const struct condition *before =
			old ? condition_find(old->conditions.at, old->conditions.count, own->type) :
			      NULL;

		own->last_transition = before && strcmp(before->status, own->status) == 0 ?
					       before->last_transition :
					       now;
	}
}

/* A unit waits that the queue would have within its guarantee. */
static bool is_below_guarantee(const struct pool_table *table, size_t queue)
{
	const QUEUE_STATUS *figures = &table->figures[queue];

	VEC_EACH(const struct pool_run, run, &table->runs)
		if (table->clusters.at[run->cluster].queue == queue &&
		    run->granted < run->ask->count &&
		    resource_sum(figures->held, table->units.at[run->first].amount) <=
			    figures->guaranteed)
			return true;
	return false;
}

/* For a new leader. */
static void add_past(const struct pool_past *past, size_t queue, QUEUE_STATUS *status)
{
	int64_t second = RESOURCE_UNIT * MS_PER_SECOND;

	if (queue > GPU_POOL_QUEUES_MAX)
		return;
	status->unused_seconds =
		past->queues[queue].owed / second + (past->queues[queue].owed % second > 0);
	if (past->reserved_since > 0 && past->saved_for == queue)
		status->saved_since = past->reserved_since;
	if (pool_past_granted(past, queue))
		status->granted_since = past->queues[queue].granted_since;
}

void pool_status_make(const struct pool_allocation *allocation, size_t pool,
		      const struct gpu_pool_status *old, struct arena *arena,
		      struct gpu_pool_status *ret_status)
{
	const struct pool_table *table = &allocation->tables->at[pool];
	const struct pool_past *past = &allocation->pasts[pool];
	size_t reserved = table->result.reserved;

	*ret_status = (struct gpu_pool_status){
		.observed_generation = table->pool->generation,
		.gpus = allocation->input->capacities[pool],
		.held = table->used,
		.queues = table->figures,
		.queue_count = table->queues.count,
		.reserved_for = "",
		.reserve_again = past->reserve_again > past->at ? past->reserve_again : TIME_NONE,
		.failures = past->failures,
		.updated = allocation->input->now,
	};
	if (reserved != SHARE_NONE)
		ret_status->reserved_for = arena_printf(
			arena, "%s: %s", table->clusters.at[table->units.at[reserved].cluster].name,
			table->asks.at[reserved]->groups);
	add_conditions(allocation, pool, old, arena, ret_status);
	list_waiting(allocation, pool, old, arena, ret_status);
	ARRAY_EACH(QUEUE_STATUS, queue, table->figures, table->queues.count) {
		const QUEUE_STATUS *before =
			old ? ARRAY_FIND(old->queues, old->queue_count, name, queue->name) : NULL;

		ret_status->waiting = resource_sum(ret_status->waiting, queue->waiting);
		add_past(past, (size_t)(queue - table->figures), queue);
		if (!is_below_guarantee(table, (size_t)(queue - table->figures)))
			continue;
		queue->below_guarantee_since = before ? before->below_guarantee_since : TIME_NONE;
		if (queue->below_guarantee_since == TIME_NONE)
			queue->below_guarantee_since = allocation->input->now;
	}
}
