#include "core/decide/disruption.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/mark.h"
#include "core/decide/spare.h"
#include "core/model/pod_status.h"
#include "core/nodes/disruption_taint.h"
#include "core/nodes/node_match.h"

#define TEXT_MAX 256
/* The GCS finds a lost raylet after 30 s (health_check_*), then starts its actors elsewhere. */
#define KEEP_MS (60 * MS_PER_SECOND)

static time_ms earlier(time_ms a, time_ms b)
{
	if (a == TIME_NONE || b == TIME_NONE)
		return a == TIME_NONE ? b : a;
	return a < b ? a : b;
}

/* Of Kubernetes; and of Kueue for Pods that are its jobs, pkg/controller/jobs/pod/pod_controller.go
 * (its RayClusters are suspended instead). */
static const struct condition *target_condition(const struct pod *pod)
{
	static const char *const types[] = { "DisruptionTarget", "TerminationTarget" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct condition *target =
			condition_find(pod->conditions, pod->condition_count, types[i]);

		if (target && strcmp(target->status, "True") == 0)
			return target;
	}
	return NULL;
}

/* Kubernetes disrupts the Pod, for its condition or its Node (NULL when unknown). A taint that the Pod
 * tolerates is ignored: its replacement could be scheduled to such a Node as well, and would be
 * replaced in turn. */
static void assess(struct arena *arena, const struct node *node, struct worker *worker)
{
	const struct pod *pod = worker->pod;
	const struct condition *target = target_condition(pod);

	if (target)
		worker->disruption_why = arena_printf(
			arena, "the Pod is about to be terminated (%s)%s%.*s",
			target->reason[0] != '\0' ? target->reason : target->type,
			target->message[0] != '\0' ? ": " : "", TEXT_MAX, target->message);
	if (node)
		for (size_t i = 0; i < node->taint_count; i++) {
			const struct taint *taint = &node->taints[i];

			if (!disruption_taint_is_final(taint) ||
			    node_match_tolerates(&pod->spec, taint))
				continue;
			worker->ends = earlier(worker->ends, disruption_taint_end(taint));
			if (!worker->disruption_why)
				worker->disruption_why = arena_printf(
					arena, "Node %s is about to be removed (taint %s)",
					node->name, taint->key);
		}
	worker->disrupted = worker->disruption_why != NULL;
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

/* Others have deleted its Pod, which does not end: a lost Node, a finalizer. KubeRay up to 1.7.0 counts it as
 * long as it exists. One that does not (kuberay#5239) has created another Pod by now, so nothing is lacking. */
static bool is_stuck(const struct worker *worker)
{
	return worker->overdue && !worker->holds_group;
}

static bool has_ended(const struct worker *worker)
{
	return (worker->finished || worker->raylet_gone) && !is_stuck(worker);
}

/* A raylet that Ray drains exits when its work has ended, and does not return. */
static bool was_notified(const struct facts *facts, const struct worker *worker)
{
	return mark_find(facts, MARK_NOTIFIED, worker->pod_name) != NULL;
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
		if (worker->group == FACTS_NO_INDEX ||
		    (has_ended(worker) && !was_notified(facts, worker)))
			continue;
		group = &facts->groups[worker->group];
		/* A Pod in workersToDelete is being deleted already, and not for Kubernetes. */
		if (group->frozen || name_set_contains(&group->disruption_names, worker->pod_name))
			continue;
		if (worker->pod->deleting)
			worker->ends = worker->pod->deletion_time;
		/* A multi-host replica is lost when one of its hosts is deleted. */
		if (!worker->deleting || group->hosts == 1) {
			node = bsearch(worker->pod->spec.node_name, nodes, snapshot->node_count,
				       sizeof(struct node *), compare_name);
			assess(facts->arena, node ? *node : NULL, worker);
			if (is_stuck(worker) && !worker->disrupted) {
				worker->disrupted = true;
				worker->disruption_why =
					pod_deletion_text(worker->pod, facts->arena);
			}
		}
		worker->announced = worker->disrupted || worker->pod->deleting;
	}
}

void disruption_spread(const struct facts *facts, const struct group *group, struct worker *workers)
{
	struct worker *first = &workers[group->first_worker];
	size_t lowest = FACTS_NO_INDEX;
	/* The replicas of a group are numbered one after the other. */
	struct {
		bool leaves;
		time_ms ends;
	} *replicas = arena_array(facts->arena, group->worker_count + 1, sizeof(*replicas));
	for (size_t i = 0; i < group->worker_count; i++) {
		replicas[i].ends = TIME_NONE;
		if (first[i].replica < lowest)
			lowest = first[i].replica;
	}
	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].disrupted && first[i].replica != FACTS_NO_INDEX) {
			size_t replica = first[i].replica - lowest;

			replicas[replica].leaves = true;
			replicas[replica].ends = earlier(replicas[replica].ends, first[i].ends);
		}
	for (size_t i = 0; i < group->worker_count; i++) {
		if (first[i].replica == FACTS_NO_INDEX ||
		    !replicas[first[i].replica - lowest].leaves)
			continue;
		first[i].ends = earlier(first[i].ends, replicas[first[i].replica - lowest].ends);
		if (first[i].disrupted)
			continue;
		first[i].disrupted = true;
		first[i].announced = !first[i].deleting || first[i].pod->deleting;
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
