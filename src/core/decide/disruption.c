#include "core/decide/disruption.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/limits.h"
#include "core/decide/mark.h"
#include "core/decide/replica.h"
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
	if (target != NULL && strcmp(target->status, "True") == 0)
		return arena_printf(arena, "the Pod is about to be terminated (%s)%s%.*s",
				    target->reason[0] != '\0' ? target->reason : "DisruptionTarget",
				    target->message[0] != '\0' ? ": " : "", TEXT_MAX,
				    target->message);
	for (size_t i = 0; node != NULL && i < node->taint_count; i++)
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
	for (size_t i = 0; i < count; i++) {
		struct worker *worker = &workers[i];
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

/* A worker that has just registered or finished its work is briefly RUNNING without being in
 * use. */
static bool is_in_use(const struct worker *worker)
{
	return worker->registered && worker->node->status != RAY_NODE_IDLE &&
	       !ray_node_is_unused(worker->node);
}

/* Disrupted Pods of the group that are in use, counted in whole replicas. */
static int64_t count_in_use(const struct packing *packing, const struct group *group)
{
	const struct group_offer *own = &packing->offer->groups[group->index];
	int64_t pods = 0;
	if (group->hosts == 1) {
		for (size_t i = 0; i < group->worker_count; i++) {
			const struct worker *worker =
				&packing->facts->workers[group->first_worker + i];
			pods += worker->disrupted && is_in_use(worker);
		}
		return pods;
	}
	for (size_t i = 0; i < own->replica_count; i++) {
		const struct replica *replica = &own->replicas[i];
		bool used = false;
		for (size_t m = 0; replica->disrupted && m < replica->count; m++)
			used = used || is_in_use(&packing->facts->workers[replica->members[m]]);
		pods += used ? group->hosts : 0;
	}
	return pods;
}

/* No work runs on the worker, and no demand was placed on it. */
static bool is_free(const struct packing *packing, const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++)
		if (node->placements[i].phase == SCHEDULE_PHASE_GANG ||
		    node->placements[i].phase == SCHEDULE_PHASE_DEMAND)
			return false;
	if (node->status == SCHEDULE_TERMINATE && node->cause != SCHEDULE_CAUSE_IDLE)
		return false;
	if (node->worker == SCHEDULE_NO_INDEX)
		return true;
	return !is_in_use(&packing->facts->workers[node->worker]);
}

static bool is_of(const struct schedule_node_result *node, const struct group *group)
{
	return node->type == group->index + 1;
}

/* Keeps up to `wanted` free workers, first those that are not chosen for termination. Returns the
 * number of Pods that it found. */
static int64_t keep_free(struct packing *packing, const struct group *group, int64_t wanted)
{
	int64_t found = 0;
	for (int chosen = 0; chosen <= 1; chosen++)
		for (size_t i = 0; i < packing->result->node_count && found < wanted; i++) {
			const struct schedule_node_result *node = &packing->result->nodes[i];
			if (!is_of(node, group) || !is_free(packing, node) ||
			    (node->status == SCHEDULE_TERMINATE) != (chosen == 1))
				continue;
			found++;
			if (node->worker == SCHEDULE_NO_INDEX)
				continue;
			packing->workers[node->worker].needed_by_disruption = true;
		}
	return found / group->hosts * group->hosts;
}

/* Pods that may be added below maxReplicas; disrupted ones count as present. */
static int64_t room_below_max(const struct packing *packing, const struct group *group)
{
	int64_t room = packing->problem.types[group->index + 1].max_nodes;
	for (size_t i = 0; i < packing->result->node_count; i++)
		room -= is_of(&packing->result->nodes[i], group) &&
			packing->result->nodes[i].status != SCHEDULE_TERMINATE;
	return room > 0 ? room : 0;
}

/* Pods that may still be launched in the group. */
static int64_t room_of(const struct packing *packing, const struct group *group, int64_t room)
{
	int64_t budget = packing->problem.gpu_budget;
	if (packing->problem.types[group->index + 1].launch_held)
		return 0;
	if (!packing->problem.has_gpu_budget || limits_gpus_of_launch(packing->offer, group) <= 0)
		return room;
	for (size_t g = 0; g < packing->facts->group_count; g++)
		budget -=
			(packing->groups[g].launches + packing->groups[g].launches_for_disruption *
							       packing->facts->groups[g].hosts) *
			limits_gpus_of_launch(packing->offer, &packing->facts->groups[g]);
	budget = budget > 0 ? budget / limits_gpus_of_launch(packing->offer, group) : 0;
	return room < budget ? room : budget;
}

/* Ray takes some seconds to detect a lost worker and to restart its work. Until then the
 * replacement is kept even when it is idle. Returns the number of Pods to replace, including those
 * in use now. */
static int64_t remember(struct packing *packing, const struct group *group, int64_t in_use)
{
	const struct memory_mark *old =
		mark_find(packing->facts, MARK_DISRUPTED, group->spec->name);
	time_ms now = packing->snapshot->now;
	struct memory_mark mark = { MARK_DISRUPTED, group->spec->name, now, in_use, NULL };

	if (old != NULL && old->count > in_use && old->since <= now && now - old->since < KEEP_MS)
		mark = *old;
	if (mark.count > 0)
		VEC_PUSH(packing->arena, &packing->memory.marks, mark);
	return mark.count;
}

void disruption_replace(struct packing *packing)
{
	if (packing->facts->termination_forbidden)
		return;
	for (size_t g = 0; g < packing->facts->group_count; g++) {
		const struct group *group = &packing->facts->groups[g];
		struct group_packing *own = &packing->groups[group->index];
		int64_t in_use = group->disrupted > 0 ? count_in_use(packing, group) : 0;
		int64_t wanted = remember(packing, group, in_use);
		int64_t found = wanted > 0 ? keep_free(packing, group, wanted) : 0;
		int64_t lack = in_use - found;
		if (lack <= 0)
			continue;
		int64_t below_max = room_below_max(packing, group);
		int64_t room = room_of(packing, group, below_max);
		int64_t launch = (lack < room ? lack : room) / group->hosts * group->hosts;
		own->launches_for_disruption = launch / group->hosts;
		own->replacements_waiting = (lack - launch) / group->hosts;
		own->replacements_at_max = lack > below_max;
	}
}
