#include "core/decide/disruption.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/mark.h"
#include "core/decide/spare.h"
#include "core/nodes/disruption_taint.h"
#include "core/nodes/node_match.h"

#define TEXT_MAX 256
#define KEEP_MS (30 * MS_PER_SECOND)

/* The reason why Kubernetes disrupts the Pod; NULL: it does not. `node`: its Node, NULL when
 * unknown. A taint that the Pod tolerates is ignored: its replacement could be scheduled to such a
 * Node as well, and would be replaced in turn. */
static const char *disruption_why(struct arena *arena, const struct pod *pod,
				  const struct node *node)
{
	const struct condition *target =
		condition_find(pod->conditions, pod->condition_count, "DisruptionTarget");
	if (target && strcmp(target->status, "True") == 0)
		return arena_printf(arena, "the Pod is about to be terminated (%s)%s%.*s",
				    target->reason[0] != '\0' ? target->reason : "DisruptionTarget",
				    target->message[0] != '\0' ? ": " : "", TEXT_MAX,
				    target->message);
	if (!node)
		return NULL;
	for (size_t i = 0; i < node->taint_count; i++)
		if (disruption_taint_is_final(&node->taints[i]) &&
		    !node_match_tolerates(&pod->spec, &node->taints[i]))
			return arena_printf(arena, "Node %s is about to be removed (taint %s)",
					    node->name, node->taints[i].key);
	return NULL;
}

static int compare_nodes(const void *left, const void *right)
{
	return strcmp((*(const struct node *const *)left)->name,
		      (*(const struct node *const *)right)->name);
}

static int compare_name(const void *name, const void *node)
{
	return strcmp(name, (*(const struct node *const *)node)->name);
}

void disruption_mark(struct facts *facts, struct worker *workers, size_t count)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct node **nodes =
		arena_array(facts->arena, snapshot->node_count, sizeof(struct node *));
	if (facts->termination_forbidden)
		return;
	for (size_t i = 0; i < snapshot->node_count; i++)
		nodes[i] = &snapshot->nodes[i];
	qsort(nodes, snapshot->node_count, sizeof(struct node *), compare_nodes);
	ARRAY_EACH(struct worker, worker, workers, count) {
		const struct node *const *node;
		const struct group *group;
		if (worker->group == FACTS_NO_INDEX || worker->finished || worker->raylet_gone)
			continue;
		group = &facts->groups[worker->group];
		/* A Pod in workersToDelete is being deleted already, and a multi-host replica is
		 * lost when one of its hosts is deleted. */
		if (group->frozen ||
		    name_set_contains(&group->disruption_names, worker->pod_name) ||
		    (worker->deleting && group->hosts > 1))
			continue;
		node = bsearch(worker->pod->spec.node_name, nodes, snapshot->node_count,
			       sizeof(struct node *), compare_name);
		worker->disruption_why =
			disruption_why(facts->arena, worker->pod, node ? *node : NULL);
		worker->disrupted = worker->disruption_why != NULL;
	}
}

void disruption_spread(const struct facts *facts, const struct group *group, struct worker *workers)
{
	struct worker *first = &workers[group->first_worker];
	size_t lowest = FACTS_NO_INDEX;
	/* The replicas of a group are numbered one after the other. */
	bool *leaves = arena_array(facts->arena, group->worker_count + 1, sizeof(*leaves));
	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].replica < lowest)
			lowest = first[i].replica;
	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].disrupted && first[i].replica != FACTS_NO_INDEX)
			leaves[first[i].replica - lowest] = true;
	for (size_t i = 0; i < group->worker_count; i++) {
		if (first[i].replica == FACTS_NO_INDEX || first[i].disrupted ||
		    !leaves[first[i].replica - lowest])
			continue;
		first[i].disrupted = true;
		first[i].disruption_why = "another host of its replica is about to be terminated";
	}
}

/* --- replacements --- */

/* Ray takes some seconds to detect a lost worker and to restart its work. Until then the
 * replacement is kept even when it is idle. Returns the number of Pods to replace, including those
 * in use now. */
static int64_t remember(struct packing *packing, const struct group *group, int64_t in_use)
{
	const struct memory_mark *old =
		mark_find(packing->facts, MARK_DISRUPTED, group->spec->name);
	time_ms now = packing->snapshot->now;
	struct memory_mark mark = { MARK_DISRUPTED, group->spec->name, now, in_use, NULL };

	if (old && old->count > in_use && due_reached(packing->facts->due, old->since) &&
	    !due_passed(packing->facts->due, old->since, KEEP_MS))
		mark = *old;
	if (mark.count > 0)
		VEC_PUSH(packing->arena, &packing->memory.marks, mark);
	return mark.count;
}

void disruption_replace(struct packing *packing)
{
	if (packing->termination_forbidden)
		return;
	ARRAY_EACH(const struct group, group, packing->facts->groups, packing->facts->group_count) {
		struct group_packing *own = &packing->groups[group->index];
		int64_t in_use = group->disrupted > 0 ? spare_pods_in_use(packing, group, true) : 0;
		int64_t wanted = remember(packing, group, in_use);
		int64_t found = spare_keep(packing, group, wanted, SPARE_FOR_DISRUPTION);
		int64_t lack = in_use - found;
		if (lack <= 0)
			continue;
		int64_t below_max = spare_room_below_max(packing, group);
		int64_t launch = spare_launches(packing, group, lack);
		own->launches_for_disruption = launch / group->hosts;
		own->replacements_waiting = (lack - launch) / group->hosts;
		own->replacements_at_max = lack > below_max;
	}
}
