/* The nodes that a run terminates: those above a maximum and those idle for too long. Follows Ray's
 * _enforce_max_workers_per_type, _enforce_max_workers_global and _enforce_idle_termination
 * (autoscaler/v2/scheduler.py, ray 2.60); a multi-host replica is terminated as a whole. */
#include <string.h>

#include "base/sort.h"
#include "core/schedule/schedule_run.h"

/* By node: the next one of its replica, in a circle; a node alone is its own next. The nodes of one
 * launch, which are consecutive, also form replicas. */
static uint32_t *find_replicas(struct schedule_run *run)
{
	size_t types = run->problem->type_count;
	size_t *new_nodes = arena_array(run->scratch, types + 1, sizeof(*new_nodes));
	uint32_t *next = arena_array(run->scratch, run->nodes.count + 1, sizeof(*next));
	struct schedule_intern keys = { .arena = run->scratch };
	uint32_t *first = arena_array(run->scratch, run->nodes.count + 1, sizeof(*first));
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->nodes.count; i++) {
		const struct schedule_node *given = schedule_run_given(run, i);
		size_t type = run->nodes.at[i].result.type;
		size_t key[3] = { type, given ? given->replica : 0, !given };
		uint32_t id;

		next[i] = i;
		if (!given)
			key[1] = new_nodes[type]++ / (size_t)run->problem->types[type].hosts;
		if (given ? given->replica == SCHEDULE_NO_INDEX :
			    run->problem->types[type].hosts == 1)
			continue;
		id = schedule_intern_add(&keys, key, sizeof(key));
		if (id == count)
			first[count++] = i;
		next[i] = next[first[id]];
		next[first[id]] = i;
	}
	return next;
}

/* ---- Ray's order of termination ---- */

struct rank {
	bool registered;
	int64_t idle_ms;
	double used; /* mean share over the resources */
	uint32_t node;
};

static double used_share(const struct schedule_node *node)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < node->total.count; i++) {
		int64_t total = node->total.at[i].amount;

		if (total <= 0)
			continue;
		sum += schedule_share(total, total - resources_amount(&node->available,
								      node->total.at[i].name, 0));
		count++;
	}
	return count ? sum / (double)count : 0;
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

/* With head_last the first head moves to the end: it is never chosen. */
static void sort_nodes(struct schedule_run *run, uint32_t *nodes, size_t count, bool head_last)
{
	struct rank *ranks = arena_array(run->scratch, count + 1, sizeof(*ranks));
	uint32_t head = SCHEDULE_ID_NONE;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct schedule_node *node = schedule_run_given(run, nodes[i]);

		ranks[i].node = nodes[i];
		if (!node)
			continue;
		ranks[i].registered = node->registered;
		ranks[i].idle_ms = node->idle_ms;
		ranks[i].used = used_share(node);
	}
	sort_stable(ranks, count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < count; i++) {
		const struct schedule_node *node = schedule_run_given(run, ranks[i].node);

		if (head_last && head == SCHEDULE_ID_NONE && node && node->head)
			head = ranks[i].node;
		else
			nodes[kept++] = ranks[i].node;
	}
	if (head != SCHEDULE_ID_NONE)
		nodes[kept] = head;
}

/* ---- one replica ---- */

/* Whether the node rules out that its replica is terminated: as idle, or above a maximum, where a node
 * that this run would launch is dropped from the run instead. */
static bool must_stay(const struct schedule_run *run, uint32_t node, bool idle)
{
	const struct schedule_work *work = &run->nodes.at[node];
	const struct schedule_node *given = schedule_run_given(run, node);

	if (work->result.status == SCHEDULE_TERMINATE)
		return false;
	if (!given)
		return idle;
	return given->head || !given->may_terminate ||
	       (idle && (given->idle_ms <= given->idle_timeout_ms || work->placements.count));
}

/* The number of its nodes that are not terminated yet; 0: some node must stay. */
static int64_t removable(const struct schedule_run *run, const uint32_t *replicas, uint32_t first,
			 bool idle)
{
	int64_t count = 0;
	uint32_t node = first;

	do {
		if (must_stay(run, node, idle))
			return 0;
		count += run->nodes.at[node].result.status != SCHEDULE_TERMINATE;
		node = replicas[node];
	} while (node != first);
	return count;
}

/* Terminates all nodes of the replica; returns how many were not terminated yet. */
static int64_t terminate(struct schedule_run *run, const uint32_t *replicas, uint32_t first,
			 enum schedule_cause cause)
{
	int64_t count = 0;
	uint32_t node = first;

	do {
		struct schedule_work *work = &run->nodes.at[node];

		if (work->result.status != SCHEDULE_TERMINATE) {
			work->result.status = SCHEDULE_TERMINATE;
			work->result.cause = cause;
			work->cancelled = !schedule_run_given(run, node);
			if (work->cancelled)
				schedule_run_count(run, work->result.type, -1);
			count++;
		}
		node = replicas[node];
	} while (node != first);
	return count;
}

/* ---- above a maximum ---- */

/* Terminates at least `extra` of the nodes where that is allowed, in Ray's order. */
static void enforce(struct schedule_run *run, const uint32_t *replicas, uint32_t *nodes,
		    size_t count, int64_t extra, enum schedule_cause cause)
{
	if (extra <= 0 || !run->problem->terminate_over_max)
		return;
	sort_nodes(run, nodes, count, true);
	for (size_t i = 0; i < count && extra > 0; i++)
		if (run->nodes.at[nodes[i]].result.status != SCHEDULE_TERMINATE &&
		    removable(run, replicas, nodes[i], false))
			extra -= terminate(run, replicas, nodes[i], cause);
}

/* A node of Ray's list. Group 0: terminated. */
struct listed {
	size_t group;
	uint32_t node;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *first = a, *second = b;

	return (first->group > second->group) - (first->group < second->group);
}

/* Sorts the list: terminated nodes, then the others, with by_type type by type, in the order of the first
 * node of each. Cancelled launches leave it. Returns the number of terminated nodes. */
static size_t sort_groups(struct schedule_run *run, bool by_type)
{
	size_t types = run->problem->type_count, count = 0, terminated = 0;
	size_t *groups = arena_array(run->scratch, types + 1, sizeof(*groups));
	struct listed *list = arena_array(run->scratch, run->order.count + 1, sizeof(*list));

	for (size_t i = 0; i < run->order.count; i++) {
		const struct schedule_work *work = &run->nodes.at[run->order.at[i]];
		size_t type = work->result.type == SCHEDULE_NO_INDEX ? types : work->result.type;
		bool kept = work->result.status != SCHEDULE_TERMINATE;

		if (work->cancelled)
			continue;
		if (kept && !groups[type])
			groups[type] = by_type ? count + 1 : 1;
		list[count++] = (struct listed){ kept ? groups[type] : 0, run->order.at[i] };
		terminated += !kept;
	}
	sort_stable(list, count, sizeof(*list), compare_listed);
	run->order.count = count;
	for (size_t i = 0; i < count; i++)
		run->order.at[i] = list[i].node;
	return terminated;
}

void schedule_terminate_over_max(struct schedule_run *run, bool by_type)
{
	const struct schedule_problem *problem = run->problem;
	uint32_t *list = run->order.at, *replicas;
	size_t same;

	if (!by_type && (!problem->has_max_nodes || problem->max_nodes <= 0))
		return;
	replicas = find_replicas(run);
	for (size_t i = sort_groups(run, by_type); i < run->order.count; i += same) {
		size_t type = run->nodes.at[list[i]].result.type;
		int64_t most = by_type ? INT64_MAX : problem->max_nodes;

		for (same = 1; i + same < run->order.count; same++)
			if (by_type && run->nodes.at[list[i + same]].result.type != type)
				break;
		if (by_type && type != SCHEDULE_NO_INDEX)
			most = problem->types[type].max_nodes;
		enforce(run, replicas, &list[i], same, (int64_t)same - most,
			by_type ? SCHEDULE_CAUSE_MAX_PER_TYPE : SCHEDULE_CAUSE_MAX_GLOBAL);
	}
	sort_groups(run, by_type);
}

void schedule_terminate_set_aside(struct schedule_run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->order.count; i++)
		if (run->nodes.at[run->order.at[i]].result.status != SCHEDULE_TERMINATE)
			run->order.at[kept++] = run->order.at[i];
	run->order.count = kept;
}

/* ---- idle ---- */

void schedule_terminate_idle(struct schedule_run *run)
{
	size_t types = run->problem->type_count, count = 0;
	uint32_t *nodes = arena_array(run->scratch, run->order.count + 1, sizeof(*nodes));
	/* Kept nodes of each type; the last cell is for removed types. */
	int64_t *kept = arena_array(run->scratch, types + 1, sizeof(*kept));
	uint32_t *replicas = find_replicas(run);

	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t node = run->order.at[i];
		const struct schedule_node_result *result = &run->nodes.at[node].result;

		if (result->status == SCHEDULE_TERMINATE)
			continue;
		kept[result->type == SCHEDULE_NO_INDEX ? types : result->type]++;
		if (!must_stay(run, node, true))
			nodes[count++] = node;
	}
	schedule_order_sort(run, nodes, count);
	sort_nodes(run, nodes, count, false);
	for (size_t i = 0; i < count; i++) {
		size_t type = run->nodes.at[nodes[i]].result.type;
		int64_t minimum = 0, leaving;

		if (run->nodes.at[nodes[i]].result.status == SCHEDULE_TERMINATE)
			continue;
		leaving = removable(run, replicas, nodes[i], true);
		if (type == SCHEDULE_NO_INDEX)
			type = types;
		else
			minimum = run->problem->types[type].min_nodes;
		if (leaving && kept[type] - leaving >= minimum)
			kept[type] -= terminate(run, replicas, nodes[i], SCHEDULE_CAUSE_IDLE);
	}
}
