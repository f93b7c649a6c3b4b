#include "feature/repair/core/node_failures.h"

#include <string.h>

#include "base/map.h"
#include "base/sort.h"
#include "feature/repair/core/repair_signal.h"
#include "feature/repair/model/repair.h"

/* By group, then by Node. */
static int compare_failures(const void *left, const void *right)
{
	const struct worker_failure *a = *(const struct worker_failure *const *)left;
	const struct worker_failure *b = *(const struct worker_failure *const *)right;
	int order = strcmp(a->group, b->group);

	return order != 0 ? order : strcmp(a->node, b->node);
}

struct failures {
	const struct worker_failure **at;
	size_t count;
};

/* Workers that crash while the head is away say nothing of their Node. */
static struct failures recent_failures(const struct health *health)
{
	const struct snapshot *snapshot = health->snapshot;
	const struct container_status *head =
		health->facts->head_pod ? pod_ray_container_status(health->facts->head_pod) : NULL;
	struct failures recent = { .at = arena_array(health->arena, snapshot->worker_failure_count,
						     sizeof(*recent.at)) };

	ARRAY_EACH(const struct worker_failure, failure, snapshot->worker_failures,
		   snapshot->worker_failure_count)
		if ((!head || failure->at > head->started_at) &&
		    due_reached(health->facts->due, failure->at) &&
		    !due_passed(health->facts->due, failure->at, NODE_FAILURES_MS))
			recent.at[recent.count++] = failure;
	sort_stable(recent.at, recent.count, sizeof(*recent.at), compare_failures);
	return recent;
}

/* The failures of one group on one of its Nodes. */
struct on_node {
	size_t count;
	const struct worker_failure *last; /* NULL: there is none */
};

/* The Node with the most of them. */
static struct on_node most_of(const struct worker_failure *const *failures, size_t count)
{
	struct on_node most = { 0, NULL }, next = most;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(failures[i]->node, next.last->node) != 0)
			next = (struct on_node){ 0, failures[i] };
		next.count++;
		if (failures[i]->at > next.last->at)
			next.last = failures[i];
		if (next.count > most.count)
			most = next;
	}
	return most;
}

/* ", which has condition SysLogsXIDError: Xid 79", or "". */
static const char *sign_text(const struct health *health, const struct map *nodes, const char *name)
{
	const struct node *node = map_get(nodes, name);
	struct repair_signal signal;
	const char *text;

	if (!node || !repair_signal_of(&health->snapshot->settings, node, health->arena, &signal))
		return "";
	text = repair_signal_text(&signal, health->arena);
	return arena_printf(health->arena, ", which %s %s",
			    signal.source == REPAIR_BY_CORDON ? "is" : "has", text);
}

/* On another Node a worker of the group has registered with Ray. */
static bool runs_elsewhere(const struct facts *facts, const struct group *group, const char *node)
{
	ARRAY_EACH(const struct worker, worker, &facts->workers[group->first_worker],
		   group->worker_count)
		if (worker->registered && worker->pod &&
		    strcmp(worker->pod->spec.node_name, node) != 0)
			return true;
	return false;
}

static void judge(struct health *health, const struct map *nodes, const struct group *group,
		  const struct worker_failure *const *failures, size_t count)
{
	struct group_health *own = &health->groups[group->index];
	struct on_node most = most_of(failures, count);
	const char *sign;

	if (most.count < NODE_FAILURES_NAMED || 2 * most.count <= count)
		return;
	sign = sign_text(health, nodes, most.last->node);
	if (sign[0] == '\0' && !runs_elsewhere(health->facts, group, most.last->node))
		return;
	own->failing_node = arena_printf(health->arena,
					 "%zu of %zu workers that failed in 24 h ran on Node %s%s",
					 most.count, count, most.last->node, sign);
	if (most.count < NODE_FAILURES_BACK_OFF)
		return;
	own->cause = REASON_NODE_FAILS;
	own->cause_message = own->failing_node;
	if (*most.last->message)
		own->cause_message = arena_printf(health->arena, "%s; the last one: Pod %s: %s",
						  own->failing_node, most.last->pod,
						  most.last->message);
	own->caused_at = most.last->at;
}

static int compare_group(const void *name, const void *failure)
{
	return strcmp(name, (*(const struct worker_failure *const *)failure)->group);
}

void node_failures_assess(struct health *health)
{
	const struct failures recent = recent_failures(health);
	struct map nodes = MAP_IN(health->arena);

	if (recent.count < NODE_FAILURES_NAMED)
		return;
	ARRAY_EACH(const struct node, node, health->snapshot->nodes, health->snapshot->node_count)
		map_set(&nodes, node->name, (void *)(uintptr_t)node);
	ARRAY_EACH(const struct group, group, health->facts->groups, health->facts->group_count) {
		const struct worker_failure **first =
			SORT_FIND(group->spec->name, recent.at, recent.count, compare_group);
		const struct worker_failure **end = recent.at + recent.count, **next = first;

		while (next && next < end && compare_group(group->spec->name, next) == 0)
			next++;
		if (first)
			judge(health, &nodes, group, first, (size_t)(next - first));
	}
}
