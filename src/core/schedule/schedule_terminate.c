/* The nodes that a run terminates: those above a maximum and those idle for too long. Follows Ray's
 * _enforce_max_workers_per_type, _enforce_max_workers_global and _enforce_idle_termination
 * (autoscaler/v2/scheduler.py, ray 2.60); a multi-host replica is terminated as a whole. */
#include <string.h>

#include "base/sort.h"
#include "core/schedule/schedule_run.h"

static const struct schedule_node *given_node(const struct schedule_run *run, uint32_t node)
{
	size_t given = run->nodes.at[node].given;

	return given == SCHEDULE_NO_INDEX ? NULL : &run->problem->nodes[given];
}

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
		const struct schedule_node *given = given_node(run, i);
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
		const struct schedule_node *node = given_node(run, nodes[i]);

		ranks[i].node = nodes[i];
		if (!node)
			continue;
		ranks[i].registered = node->registered;
		ranks[i].idle_ms = node->idle_ms;
		ranks[i].used = used_share(node);
	}
	sort_stable(ranks, count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < count; i++) {
		const struct schedule_node *node = given_node(run, ranks[i].node);

		if (head_last && head == SCHEDULE_ID_NONE && node && node->head)
			head = ranks[i].node;
		else
			nodes[kept++] = ranks[i].node;
	}
	if (head != SCHEDULE_ID_NONE)
		nodes[kept] = head;
}

/* ---- above a maximum ---- */

static bool may_terminate(const struct schedule_run *run, const uint32_t *replicas, uint32_t first)
{
	uint32_t node = first;

	do {
		const struct schedule_node *given = given_node(run, node);

		if (run->nodes.at[node].result.status != SCHEDULE_TERMINATE && given &&
		    (!given->may_terminate || given->head))
			return false;
		node = replicas[node];
	} while (node != first);
	return true;
}

/* Terminates the other nodes of the replica as well; a node that this run would launch is dropped
 * from the run. Returns their number. */
static int64_t terminate(struct schedule_run *run, const uint32_t *replicas, uint32_t first,
			 enum schedule_cause cause)
{
	int64_t count = 0;
	uint32_t node = first;

	do {
		struct schedule_work *work = &run->nodes.at[node];

		node = replicas[node];
		if (work->result.status == SCHEDULE_TERMINATE)
			continue;
		work->result.status = SCHEDULE_TERMINATE;
		work->result.cause = cause;
		count++;
		if (work->given != SCHEDULE_NO_INDEX)
			continue;
		work->cancelled = true;
		schedule_run_cancel(run, work->result.type);
	} while (node != first);
	return count;
}

/* Terminates at least `extra` of the nodes where that is allowed, in Ray's order. */
static void enforce(struct schedule_run *run, const uint32_t *replicas, uint32_t *nodes,
		    size_t count, int64_t extra, enum schedule_cause cause)
{
	if (extra <= 0 || !run->problem->terminate_over_max)
		return;
	sort_nodes(run, nodes, count, true);
	for (size_t i = 0; i < count && extra > 0; i++)
		if (run->nodes.at[nodes[i]].result.status != SCHEDULE_TERMINATE &&
		    may_terminate(run, replicas, nodes[i]))
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

static bool is_idle(const struct schedule_run *run, uint32_t index)
{
	const struct schedule_work *work = &run->nodes.at[index];
	const struct schedule_node *node = given_node(run, index);

	if (work->result.status == SCHEDULE_TERMINATE)
		return true;
	return node && work->result.status == SCHEDULE_KEEP && !node->head && node->may_terminate &&
	       node->idle_ms > node->idle_timeout_ms && !work->result.placement_count;
}

void schedule_terminate_idle(struct schedule_run *run)
{
	size_t types = run->problem->type_count, count = 0;
	uint32_t *nodes = arena_array(run->scratch, run->order.count + 1, sizeof(*nodes));
	/* Kept nodes of each type; the last cell is for removed types. */
	int64_t *kept = arena_array(run->scratch, types + 1, sizeof(*kept));
	uint32_t *replicas = find_replicas(run);

	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t node = run->order.at[i];
		const struct schedule_work *work = &run->nodes.at[node];

		if (work->result.status != SCHEDULE_TERMINATE)
			kept[work->result.type == SCHEDULE_NO_INDEX ? types : work->result.type]++;
		if (work->result.status == SCHEDULE_KEEP && is_idle(run, node))
			nodes[count++] = node;
	}
	schedule_order_sort(run, nodes, count);
	sort_nodes(run, nodes, count, false);
	for (size_t i = 0; i < count; i++) {
		size_t type = run->nodes.at[nodes[i]].result.type;
		int64_t minimum = 0, going = 0;
		uint32_t node = nodes[i];
		bool idle = run->nodes.at[node].result.status != SCHEDULE_TERMINATE;

		do {
			idle = idle && is_idle(run, node);
			going += run->nodes.at[node].result.status != SCHEDULE_TERMINATE;
			node = replicas[node];
		} while (node != nodes[i]);
		if (type == SCHEDULE_NO_INDEX)
			type = types;
		else
			minimum = run->problem->types[type].min_nodes;
		if (idle && kept[type] - going >= minimum)
			kept[type] -= terminate(run, replicas, nodes[i], SCHEDULE_CAUSE_IDLE);
	}
}
