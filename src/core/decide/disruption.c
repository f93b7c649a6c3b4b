#include "core/decide/disruption.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "core/decide/mark.h"
#include "core/model/pod_status.h"
#include "core/nodes/disruption_taint.h"
#include "core/nodes/node_match.h"

#define TEXT_MAX 256

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

/* A Node with its final taints, found once for all of its Pods. */
struct tainted {
	const struct node *node;
	VEC(const struct taint *) finals;
};

/* Kubernetes disrupts the Pod, for its condition or its Node (NULL when unknown). A taint that the Pod
 * tolerates is ignored: its replacement could be scheduled to such a Node as well, and would be
 * replaced in turn. */
static void assess(struct arena *arena, const struct tainted *node, struct worker *worker)
{
	const struct pod *pod = worker->pod;
	const struct condition *target = target_condition(pod);

	if (target)
		worker->disruption_why = arena_printf(
			arena, "the Pod is about to be terminated (%s)%s%.*s",
			target->reason[0] != '\0' ? target->reason : target->type,
			target->message[0] != '\0' ? ": " : "", TEXT_MAX, target->message);
	if (node)
		for (size_t i = 0; i < node->finals.count; i++) {
			const struct taint *taint = node->finals.at[i];

			if (node_match_tolerates(&pod->spec, taint))
				continue;
			worker->ends = earlier(worker->ends, disruption_taint_end(taint));
			if (!worker->disruption_why)
				worker->disruption_why = arena_printf(
					arena, "Node %s is about to be removed (taint %s)",
					node->node->name, taint->key);
		}
	worker->disrupted = worker->disruption_why != NULL;
}

static int compare_planned(const void *name, const void *planned)
{
	return strcmp(name, ((const struct planned_end *)planned)->node);
}

/* By Ray, after memory is lost; a longer one is a drain of others, and does not count. TIME_NONE: unknown. */
static time_ms ray_deadline(const struct facts *facts, const struct worker *worker)
{
	const struct ray_node *node = worker->node;

	if (!node || node->status != RAY_NODE_DRAINING || node->drain_deadline_ms <= 0 ||
	    node->drain_deadline_ms > facts->snapshot->now + worker->planned->drain_ms)
		return TIME_NONE;
	return node->drain_deadline_ms;
}

/* The drain has begun when Ray has accepted it: from then on the end is known. */
static void apply_planned(const struct facts *facts, struct worker *worker)
{
	const struct planned_end *planned = SORT_FIND(worker->pod->spec.node_name,
						      facts->planned_ends.at,
						      facts->planned_ends.count, compare_planned);
	const struct memory_mark *notified;

	if (!planned || worker->do_not_disrupt ||
	    (planned->pods && !name_set_contains(planned->pods, worker->pod_name)))
		return;
	notified = mark_find(facts, MARK_NOTIFIED, worker->pod_name);
	worker->planned = planned;
	worker->disrupted = true;
	worker->disruption_why = planned->why;
	if (notified && notified->count > 0)
		worker->ends = notified->count * MS_PER_SECOND;
	else
		worker->ends = ray_deadline(facts, worker);
}

static int compare_nodes(const void *left, const void *right)
{
	return strcmp(((const struct tainted *)left)->node->name,
		      ((const struct tainted *)right)->node->name);
}

static int compare_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct tainted *)node)->node->name);
}

/* By name. */
static const struct tainted *find_tainted(const struct snapshot *snapshot, struct arena *arena)
{
	struct tainted *nodes = arena_array(arena, snapshot->node_count, sizeof(*nodes));

	for (size_t i = 0; i < snapshot->node_count; i++) {
		const struct node *node = &snapshot->nodes[i];

		nodes[i].node = node;
		ARRAY_EACH(const struct taint, taint, node->taints, node->taint_count)
			if (disruption_taint_is_final(taint))
				VEC_PUSH(arena, &nodes[i].finals, taint);
	}
	qsort(nodes, snapshot->node_count, sizeof(*nodes), compare_nodes);
	return nodes;
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
	const struct tainted *nodes;

	if (facts->termination_forbidden)
		return;
	nodes = find_tainted(snapshot, facts->arena);
	ARRAY_EACH(struct worker, worker, workers, count) {
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
		/* A multi-host replica is lost when one of its hosts is deleted; one that stays is there
		 * for KubeRay, and of no use. */
		if (!worker->deleting || group->hosts == 1 || is_stuck(worker)) {
			assess(facts->arena,
			       SORT_FIND(worker->pod->spec.node_name, nodes, snapshot->node_count,
					 compare_name),
			       worker);
			if (is_stuck(worker) && !worker->disrupted) {
				worker->disrupted = true;
				worker->disruption_why =
					pod_deletion_text(worker->pod, facts->arena);
			}
			if (!worker->disrupted)
				apply_planned(facts, worker);
		}
		worker->announced = worker->disrupted || worker->pod->deleting;
	}
}

/* The end of a replica by its hosts. */
struct replica_end {
	bool by_kubernetes, kept; /* do-not-disrupt of a host keeps it from a planned end */
	time_ms ends;
	const struct planned_end *planned;
};

static void add_host(struct replica_end *replica, const struct worker *host)
{
	replica->kept |= host->do_not_disrupt;
	if (!host->disrupted)
		return;
	replica->by_kubernetes |= !host->planned;
	if (host->planned)
		replica->planned = host->planned;
	replica->ends = earlier(replica->ends, host->ends);
}

static void apply_to_host(const struct replica_end *replica, struct worker *host)
{
	if (!replica->by_kubernetes && (!replica->planned || replica->kept)) {
		if (host->planned) {
			host->disrupted = false;
			host->disruption_why = NULL;
			host->planned = NULL;
			host->announced = host->pod->deleting;
		}
		return;
	}
	host->ends = earlier(host->ends, replica->ends);
	host->planned = replica->by_kubernetes ? NULL : replica->planned;
	if (host->disrupted)
		return;
	host->disrupted = true;
	host->announced = !host->deleting || host->pod->deleting;
	host->disruption_why = "another host of its replica is about to be terminated";
}

void disruption_spread(const struct facts *facts, const struct group *group, struct worker *workers)
{
	struct worker *first = &workers[group->first_worker];
	size_t lowest = FACTS_NO_INDEX;
	/* The replicas of a group are numbered one after the other. */
	struct replica_end *replicas =
		arena_array(facts->arena, group->worker_count + 1, sizeof(*replicas));

	for (size_t i = 0; i < group->worker_count; i++) {
		replicas[i].ends = TIME_NONE;
		if (first[i].replica < lowest)
			lowest = first[i].replica;
	}
	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].replica != FACTS_NO_INDEX)
			add_host(&replicas[first[i].replica - lowest], &first[i]);
	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].replica != FACTS_NO_INDEX)
			apply_to_host(&replicas[first[i].replica - lowest], &first[i]);
}
