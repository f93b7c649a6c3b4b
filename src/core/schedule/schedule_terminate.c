#include "core/schedule/schedule_terminate.h"

#include <string.h>

#include "base/sort.h"

/* Nodes that are terminated together. */
struct replica {
	VEC(uint32_t) nodes;
};

struct replicas {
	struct schedule_intern keys; /* of (type, replica): id is the index */
	VEC(struct replica) at;
	uint32_t *of_node; /* index + 1; 0: alone */
};

struct rank {
	bool registered;
	int64_t idle_ms;
	double used; /* mean share over the resources */
	uint32_t node;
};

static const struct schedule_node *given_node(const struct schedule_run *run, uint32_t node)
{
	size_t given = run->nodes.at[node].given;

	return given == SCHEDULE_NO_INDEX ? NULL : &run->problem->nodes[given];
}

static bool is_head(const struct schedule_run *run, uint32_t node)
{
	const struct schedule_node *given = given_node(run, node);

	return given && given->head;
}

/* The nodes of one launch, which are consecutive, also form replicas. */
static bool replica_key(const struct schedule_run *run, uint32_t node, size_t *new_nodes,
			size_t *ret_key)
{
	const struct schedule_work *work = &run->nodes.at[node];
	const struct schedule_node *given = given_node(run, node);

	ret_key[0] = work->type;
	ret_key[1] = given ? given->replica : 0;
	ret_key[2] = !given;
	if (given)
		return given->replica != SCHEDULE_NO_INDEX;
	ret_key[1] = new_nodes[work->type]++ / (size_t)run->problem->types[work->type].hosts;
	return run->problem->types[work->type].hosts > 1;
}

static void find_replicas(struct schedule_run *run, struct replicas *replicas)
{
	size_t *new_nodes =
		arena_array(run->scratch, run->problem->type_count + 1, sizeof(*new_nodes));

	*replicas = (struct replicas){ .of_node = NULL };
	schedule_intern_init(&replicas->keys, run->scratch);
	replicas->of_node =
		arena_array(run->scratch, run->nodes.count + 1, sizeof(*replicas->of_node));
	for (uint32_t i = 0; i < run->nodes.count; i++) {
		size_t key[3];
		uint32_t id;

		if (!replica_key(run, i, new_nodes, key))
			continue;
		id = schedule_intern_add(&replicas->keys, key, sizeof(key));
		if (id == replicas->at.count)
			VEC_ADD(run->scratch, &replicas->at);
		VEC_PUSH(run->scratch, &replicas->at.at[id].nodes, i);
		replicas->of_node[i] = id + 1;
	}
}

/* The nodes that are terminated with this one, itself included. `alone` is storage for one. */
static const uint32_t *group_of(const struct replicas *replicas, uint32_t node, uint32_t *alone,
				size_t *ret_count)
{
	uint32_t id = replicas->of_node[node];

	*alone = node;
	*ret_count = 1;
	if (!id)
		return alone;
	*ret_count = replicas->at.at[id - 1].nodes.count;
	return replicas->at.at[id - 1].nodes.at;
}

/* ---- Ray's order of termination ---- */

static double used_share(const struct schedule_node *node)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < node->total.count; i++) {
		int64_t total = node->total.at[i].amount;
		int64_t free = resources_amount(&node->available, node->total.at[i].name, 0);

		if (total <= 0)
			continue;
		if (total % RESOURCE_UNIT == 0 && free % RESOURCE_UNIT == 0)
			sum += (double)((total - free) / RESOURCE_UNIT) /
			       (double)(total / RESOURCE_UNIT);
		else
			sum += (double)(total - free) / (double)total;
		count++;
	}
	return count ? sum / (double)count : 0;
}

static struct rank rank_of(const struct schedule_run *run, uint32_t index)
{
	const struct schedule_node *node = given_node(run, index);
	struct rank rank = { .node = index };

	if (node) {
		rank.registered = node->registered;
		rank.idle_ms = node->idle_ms;
		rank.used = used_share(node);
	}
	return rank;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *first = a, *second = b;

	if (first->registered != second->registered)
		return first->registered ? 1 : -1;
	if (first->idle_ms != second->idle_ms)
		return first->idle_ms < second->idle_ms ? 1 : -1;
	return (first->used > second->used) - (first->used < second->used);
}

/* The first head moves to the end: it is never chosen. */
static void sort_nodes(struct schedule_run *run, uint32_t *nodes, size_t count, bool head_last)
{
	struct rank *ranks = arena_array(run->scratch, count + 1, sizeof(*ranks));
	uint32_t head = SCHEDULE_ID_NONE;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		ranks[i] = rank_of(run, nodes[i]);
	sort_stable(ranks, count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < count; i++) {
		if (head_last && head == SCHEDULE_ID_NONE && is_head(run, ranks[i].node))
			head = ranks[i].node;
		else
			nodes[kept++] = ranks[i].node;
	}
	if (head != SCHEDULE_ID_NONE)
		nodes[kept] = head;
}

/* ---- above a maximum ---- */

/* The list of nodes after one phase: chosen ones, then the rest. */
struct sorting {
	struct schedule_run *run;
	struct replicas replicas;
	uint32_t *going, *staying;
	size_t going_count, staying_count;
};

static void sorting_init(struct sorting *sorting, struct schedule_run *run)
{
	*sorting = (struct sorting){ .run = run };
	find_replicas(run, &sorting->replicas);
	sorting->going = arena_array(run->scratch, run->order.count + 1, sizeof(uint32_t));
	sorting->staying = arena_array(run->scratch, run->order.count + 1, sizeof(uint32_t));
}

static void sorting_keep(const struct sorting *sorting)
{
	struct schedule_run *run = sorting->run;

	run->order.count = 0;
	for (size_t i = 0; i < sorting->going_count; i++)
		run->order.at[run->order.count++] = sorting->going[i];
	for (size_t i = 0; i < sorting->staying_count; i++)
		run->order.at[run->order.count++] = sorting->staying[i];
}

static bool may_go(const struct schedule_run *run, uint32_t node)
{
	const struct schedule_node *given = given_node(run, node);

	if (run->nodes.at[node].status == SCHEDULE_TERMINATE)
		return true;
	return !given || (given->may_terminate && !given->head);
}

static bool group_may_go(const struct schedule_run *run, const uint32_t *group, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!may_go(run, group[i]))
			return false;
	return true;
}

static void take_back(struct schedule_run *run, struct schedule_work *work)
{
	work->cancelled = true;
	run->launches[work->type]--;
	run->type_nodes[work->type]--;
	run->list_nodes--;
	run->new_nodes--;
	if (run->problem->has_gpu_budget)
		run->budget += run->problem->types[work->type].gpu_amount;
}

/* Chooses at least `extra` of the nodes, in their order, where that is allowed. */
static void choose(struct sorting *sorting, const uint32_t *nodes, size_t count, int64_t extra,
		   enum schedule_cause cause)
{
	struct schedule_run *run = sorting->run;

	for (size_t i = 0; i < count && extra > 0; i++) {
		uint32_t alone;
		size_t group_count;
		const uint32_t *group =
			group_of(&sorting->replicas, nodes[i], &alone, &group_count);

		if (run->nodes.at[nodes[i]].status == SCHEDULE_TERMINATE ||
		    !group_may_go(run, group, group_count))
			continue;
		for (size_t j = 0; j < group_count; j++) {
			struct schedule_work *work = &run->nodes.at[group[j]];

			if (work->status == SCHEDULE_TERMINATE)
				continue;
			if (work->given == SCHEDULE_NO_INDEX)
				take_back(run, work);
			work->status = SCHEDULE_TERMINATE;
			work->cause = cause;
			extra--;
		}
	}
}

/* Separates the nodes that were chosen from the rest; drops cancelled ones. */
static void sort_out(struct sorting *sorting, const uint32_t *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct schedule_work *work = &sorting->run->nodes.at[nodes[i]];

		if (work->cancelled)
			continue;
		if (work->status == SCHEDULE_TERMINATE)
			sorting->going[sorting->going_count++] = nodes[i];
		else
			sorting->staying[sorting->staying_count++] = nodes[i];
	}
}

static void enforce_type(struct sorting *sorting, size_t type, const uint32_t *order,
			 size_t order_count)
{
	struct schedule_run *run = sorting->run;
	uint32_t *nodes = arena_array(run->scratch, order_count + 1, sizeof(*nodes));
	size_t count = 0;
	int64_t extra = 0;

	for (size_t i = 0; i < order_count; i++) {
		const struct schedule_work *work = &run->nodes.at[order[i]];

		if (work->type == type && !work->sorted)
			nodes[count++] = order[i];
	}
	if (type != SCHEDULE_NO_INDEX)
		extra = (int64_t)count - run->problem->types[type].max_nodes;
	if (extra > 0 && run->problem->terminate_over_max) {
		sort_nodes(run, nodes, count, true);
		choose(sorting, nodes, count, extra, SCHEDULE_CAUSE_MAX_PER_TYPE);
	}
	for (size_t i = 0; i < count; i++)
		run->nodes.at[nodes[i]].sorted = true;
	sort_out(sorting, nodes, count);
}

void schedule_terminate_over_type_max(struct schedule_run *run)
{
	struct sorting sorting;
	size_t count = run->order.count;
	uint32_t *order = arena_array(run->scratch, count + 1, sizeof(*order));

	if (count)
		memcpy(order, run->order.at, count * sizeof(*order));
	sorting_init(&sorting, run);
	for (size_t i = 0; i < count; i++)
		if (run->nodes.at[order[i]].status == SCHEDULE_TERMINATE) {
			run->nodes.at[order[i]].sorted = true;
			sorting.going[sorting.going_count++] = order[i];
		}
	for (size_t i = 0; i < count; i++)
		if (!run->nodes.at[order[i]].sorted)
			enforce_type(&sorting, run->nodes.at[order[i]].type, &order[i], count - i);
	sorting_keep(&sorting);
}

void schedule_terminate_set_aside(struct schedule_run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->order.count; i++)
		if (run->nodes.at[run->order.at[i]].status != SCHEDULE_TERMINATE)
			run->order.at[kept++] = run->order.at[i];
	run->order.count = kept;
}

void schedule_terminate_over_max(struct schedule_run *run)
{
	const struct schedule_problem *problem = run->problem;
	size_t count = run->order.count, staying = 0;
	struct sorting sorting;
	uint32_t *nodes;
	int64_t extra;

	if (!problem->has_max_nodes || problem->max_nodes <= 0 || !problem->terminate_over_max)
		return;
	nodes = arena_array(run->scratch, count + 1, sizeof(*nodes));
	for (size_t i = 0; i < count; i++)
		if (run->nodes.at[run->order.at[i]].status != SCHEDULE_TERMINATE)
			nodes[staying++] = run->order.at[i];
	extra = (int64_t)staying - problem->max_nodes;
	if (extra <= 0)
		return;
	sorting_init(&sorting, run);
	for (size_t i = 0; i < count; i++)
		if (run->nodes.at[run->order.at[i]].status == SCHEDULE_TERMINATE)
			sorting.going[sorting.going_count++] = run->order.at[i];
	sort_nodes(run, nodes, staying, true);
	choose(&sorting, nodes, staying, extra, SCHEDULE_CAUSE_MAX_GLOBAL);
	sort_out(&sorting, nodes, staying);
	sorting_keep(&sorting);
}

/* ---- idle ---- */

static bool is_idle(const struct schedule_run *run, uint32_t index)
{
	const struct schedule_work *work = &run->nodes.at[index];
	const struct schedule_node *node = given_node(run, index);

	if (work->status == SCHEDULE_TERMINATE)
		return true;
	return node && work->status == SCHEDULE_KEEP && !node->head && node->may_terminate &&
	       node->idle_ms > node->idle_timeout_ms && !work->placements;
}

/* Kept nodes of each type; the last cell is for removed types. */
static int64_t *count_staying(const struct schedule_run *run)
{
	size_t types = run->problem->type_count;
	int64_t *counts = arena_array(run->scratch, types + 1, sizeof(*counts));

	for (size_t i = 0; i < run->order.count; i++) {
		const struct schedule_work *work = &run->nodes.at[run->order.at[i]];

		if (work->status != SCHEDULE_TERMINATE)
			counts[work->type == SCHEDULE_NO_INDEX ? types : work->type]++;
	}
	return counts;
}

static void terminate_group(struct schedule_run *run, const uint32_t *group, size_t count,
			    int64_t *staying)
{
	int64_t going = 0;
	size_t type = run->nodes.at[group[0]].type;
	int64_t minimum = type == SCHEDULE_NO_INDEX ? 0 : run->problem->types[type].min_nodes;

	for (size_t i = 0; i < count; i++) {
		if (!is_idle(run, group[i]))
			return;
		going += run->nodes.at[group[i]].status != SCHEDULE_TERMINATE;
	}
	if (*staying - going < minimum)
		return;
	*staying -= going;
	for (size_t i = 0; i < count; i++) {
		struct schedule_work *work = &run->nodes.at[group[i]];

		if (work->status == SCHEDULE_TERMINATE)
			continue;
		work->status = SCHEDULE_TERMINATE;
		work->cause = SCHEDULE_CAUSE_IDLE;
	}
}

void schedule_terminate_idle(struct schedule_run *run)
{
	size_t types = run->problem->type_count, count = 0;
	uint32_t *nodes = arena_array(run->scratch, run->order.count + 1, sizeof(*nodes));
	int64_t *staying = count_staying(run);
	struct replicas replicas;

	for (size_t i = 0; i < run->order.count; i++)
		if (run->nodes.at[run->order.at[i]].status == SCHEDULE_KEEP &&
		    is_idle(run, run->order.at[i]))
			nodes[count++] = run->order.at[i];
	find_replicas(run, &replicas);
	sort_nodes(run, nodes, count, false);
	for (size_t i = 0; i < count; i++) {
		const struct schedule_work *work = &run->nodes.at[nodes[i]];
		const uint32_t *group;
		uint32_t alone;
		size_t group_count;

		if (work->status == SCHEDULE_TERMINATE)
			continue;
		group = group_of(&replicas, nodes[i], &alone, &group_count);
		terminate_group(run, group, group_count,
				&staying[work->type == SCHEDULE_NO_INDEX ? types : work->type]);
	}
}
