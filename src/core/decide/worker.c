#include "core/decide/worker.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "core/decide/disruption.h"
#include "core/model/pod_status.h"
#include "core/model/reason.h"

/* Of several nodes of one Pod, the first in this order counts: nodes that may be busy come first,
 * so that an idle or dead one never hides them. */
static int node_rank(const struct ray_node *node)
{
	switch (node->status) {
	case RAY_NODE_RUNNING:
		return 0;
	case RAY_NODE_UNSPECIFIED:
		return 1;
	case RAY_NODE_IDLE:
		return 2;
	case RAY_NODE_DRAINING:
		return ray_node_is_unused(node) ? 3 : 1;
	case RAY_NODE_DEAD:
		return 4;
	}
	return 1;
}

static int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_nodes(const void *left, const void *right)
{
	const struct ray_node *a = *(const struct ray_node *const *)left;
	const struct ray_node *b = *(const struct ray_node *const *)right;
	int order = strcmp(a->instance_id, b->instance_id);
	if (order == 0)
		order = node_rank(a) - node_rank(b);
	if (order == 0)
		order = compare_i64(a->idle_duration_ms, b->idle_duration_ms);
	return order != 0 ? order : strcmp(a->id, b->id);
}

/* Nodes by instance id, and those without one by their address. */
struct node_index {
	const struct ray_node **by_id;
	size_t count;
	const struct ray_node **by_address;
	size_t address_count;
};

static int compare_addresses(const void *left, const void *right)
{
	const struct ray_node *a = *(const struct ray_node *const *)left;
	const struct ray_node *b = *(const struct ray_node *const *)right;
	int order = strcmp(a->ip_address, b->ip_address);
	return order != 0 ? order : compare_nodes(left, right);
}

static void index_nodes(const struct facts *facts, struct node_index *ret_index)
{
	*ret_index = (struct node_index){ 0 };
	if (!facts->ray_reachable)
		return;
	const struct ray_state *state = facts->snapshot->ray_state;
	ret_index->by_id = arena_array(facts->arena, state->node_count, sizeof(*ret_index->by_id));
	ret_index->by_address =
		arena_array(facts->arena, state->node_count, sizeof(*ret_index->by_address));
	ARRAY_EACH(const struct ray_node, node, state->nodes, state->node_count) {
		if (node->instance_id[0] != '\0')
			ret_index->by_id[ret_index->count++] = node;
		else if (node->ip_address[0] != '\0' && node->status != RAY_NODE_DEAD)
			ret_index->by_address[ret_index->address_count++] = node;
	}
	qsort(ret_index->by_id, ret_index->count, sizeof(*ret_index->by_id), compare_nodes);
	qsort(ret_index->by_address, ret_index->address_count, sizeof(*ret_index->by_address),
	      compare_addresses);
}

static int compare_id(const void *instance_id, const void *node)
{
	return strcmp(instance_id, (*(const struct ray_node *const *)node)->instance_id);
}

static int compare_address(const void *address, const void *node)
{
	return strcmp(address, (*(const struct ray_node *const *)node)->ip_address);
}

/* By the id of the instance, else by the address. */
static const struct ray_node *find_node(const struct node_index *index, const char *instance_id,
					const char *address)
{
	const struct ray_node **found =
		SORT_FIND(instance_id, index->by_id, index->count, compare_id);

	if (!found)
		found = SORT_FIND(address, index->by_address, index->address_count,
				  compare_address);
	return found ? *found : NULL;
}

/* The Ray container of the Pod has not run, by its status or by the Pod's phase. */
static bool worker_pod_never_started(const struct pod *pod)
{
	if (pod_has_ended(pod))
		return false;
	const struct container_status *status = pod_ray_container_status(pod);
	if (status)
		return status->state == CONTAINER_WAITING && !container_has_run(status);
	return strcmp(pod->phase, "Pending") == 0;
}

enum reason worker_gone_reason(const struct worker *worker)
{
	return worker->finished ? REASON_POD_FINISHED : REASON_RAYLET_GONE;
}

const char *worker_count_text(struct arena *arena, int64_t count, const char *singular)
{
	return arena_printf(arena, "%lld %s%s", (long long)count, singular, count == 1 ? "" : "s");
}

static enum worker_state state_of(const struct facts *facts, const struct worker *worker)
{
	if (worker->pod->deleting)
		return WORKER_GONE;
	if (worker->pod->unreadable)
		return WORKER_RUNNING; /* an unknown state counts as busy */
	if (worker->finished || worker->raylet_gone)
		return WORKER_GONE;
	if (worker->registered) {
		if (worker->node->status == RAY_NODE_IDLE)
			return WORKER_IDLE;
		if (worker->node->status == RAY_NODE_DRAINING)
			return WORKER_DRAINING;
		return WORKER_RUNNING;
	}
	if (worker->never_started)
		return WORKER_PENDING;
	/* Without Ray, it is unknown whether it has registered; it certainly runs. */
	return facts->ray_reachable ? WORKER_STARTING : WORKER_RUNNING;
}

/* KubeRay 1.7, reconcilePods: it deletes the Pods in workersToDelete, those that have ended and those whose
 * Ray container cannot be started again. After that it waits for the end of the Pod, without a limit, and
 * creates no other Pod of the group. */
static bool is_deleted_by_operator(const struct facts *facts, const struct worker *worker)
{
	const struct container_status *ray = pod_ray_container_status(worker->pod);

	if (worker->group == FACTS_NO_INDEX)
		return false;
	return worker->finished ||
	       name_set_contains(&facts->groups[worker->group].disruption_names,
				 worker->pod_name) ||
	       (ray && ray->state == CONTAINER_TERMINATED &&
		strcmp(worker->pod->spec.restart_policy, "Never") == 0);
}

static void fill_worker(const struct facts *facts, const struct node_index *index,
			const struct pod *pod, struct worker *worker)
{
	worker->pod = pod;
	worker->pod_name = pod->name;
	worker->replica = FACTS_NO_INDEX;
	worker->ends = TIME_NONE;
	worker->finished = pod_has_ended(pod);
	worker->never_started = worker_pod_never_started(pod);
	worker->node = find_node(index, pod->name, pod->pod_ip);
	worker->registered = worker->node && worker->node->status != RAY_NODE_DEAD;
	worker->raylet_gone = worker->node && worker->node->status == RAY_NODE_DEAD;
	worker->do_not_disrupt = pod_is_protected(pod);
	worker->deleting = pod->deleting;
	if (worker->group != FACTS_NO_INDEX &&
	    name_set_contains(&facts->groups[worker->group].disruption_names, pod->name))
		worker->deleting = true;
	worker->state = state_of(facts, worker);
	worker->overdue = pod->deleting &&
			  due_passed(facts->due, pod_deletion_asked(pod), WORKER_DELETION_MS);
	worker->holds_group = worker->overdue && is_deleted_by_operator(facts, worker);
}

static int compare_workers(const void *left, const void *right)
{
	const struct worker *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	int order = strcmp(a->group_name, b->group_name);
	return order != 0 ? order : strcmp(a->pod_name, b->pod_name);
}

/* The Pods of this cluster's workers, sorted, without the head Pod. */
static void collect_pods(struct facts *facts, struct worker **ret_workers, size_t *ret_count)
{
	const struct snapshot *snapshot = facts->snapshot;
	struct worker *workers =
		arena_array(facts->arena, snapshot->pod_count, sizeof(struct worker));
	struct node_index index;
	size_t count = 0;
	index_nodes(facts, &index);
	for (size_t i = 0; i < snapshot->pod_count; i++) {
		const struct pod *pod = snapshot->pods[i];
		const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);
		if (cluster && strcmp(cluster, snapshot->cluster.name) != 0)
			continue;
		if (!pod_is_worker(pod))
			continue;
		const char *group = labels_value(&pod->labels, LABEL_GROUP);
		struct worker *worker = &workers[count++];
		worker->group_name = group ? group : "";
		const struct group *own = ARRAY_FIND(facts->groups, facts->group_count, spec->name,
						     worker->group_name);
		worker->group = own ? (size_t)(own - facts->groups) : FACTS_NO_INDEX;
		fill_worker(facts, &index, pod, worker);
	}
	qsort(workers, count, sizeof(*workers), compare_workers);
	*ret_workers = workers;
	*ret_count = count;
}

/* Pods that this program has launched, at least so many of which the operator has not created yet. */
static int64_t count_uncreated(const struct facts *facts, const struct group *group)
{
	const struct memory_state *memory = facts->snapshot->memory;
	const struct memory_launch *launch =
		memory ? VEC_FIND(&memory->launches, group, group->spec->name) : NULL;
	int64_t pods =
		launch ? launch->replicas * group->hosts - (group->kept - group->registered) : 0;

	return pods > 0 ? pods : 0;
}

/* KubeRay up to 1.7 counts Pods that are being deleted; from kuberay#5239 on it does not, and has created another one for
 * each of these: then there are more Pods than replicas ask for, without those that it is about to create. Without
 * the memory of a launch, as after a restart, they are taken for counted until its Pods exist. */
static int64_t count_uncounted(const struct facts *facts, const struct group *group, int64_t asked,
			       int64_t ending)
{
	int64_t there = group->kept + group->disrupted;
	int64_t surplus = there - asked + count_uncreated(facts, group);
	int64_t uncounted = surplus < ending ? surplus : ending;

	return uncounted > 0 ? uncounted / group->hosts * group->hosts : 0;
}

static void count_group(const struct facts *facts, struct group *group,
			const struct worker *workers)
{
	int64_t ending = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &workers[group->first_worker + i];
		if (worker->disrupted)
			group->disrupted++;
		ending += worker->disrupted && worker->pod->deleting;
		if (worker->holds_group && !group->held_by)
			group->held_by = worker;
		if (worker->disrupted || worker->deleting)
			continue;
		group->kept++;
		if (worker->registered)
			group->registered++;
	}
	/* The operator creates at most maxReplicas Pods whatever replicas is. */
	int64_t replicas = group->spec->replicas;
	if (replicas > group->spec->max_replicas)
		replicas = group->spec->max_replicas;
	int64_t asked = replicas * group->hosts;
	group->uncounted = count_uncounted(facts, group, asked, ending);
	/* Lost hosts of a disrupted replica are requested as well, but are of no use. */
	int64_t disrupted = (group->disrupted + group->hosts - 1) / group->hosts * group->hosts;
	int64_t there = group->kept + disrupted - group->uncounted;
	group->missing = asked > there ? asked - there : 0;
}

/* The name of the multi-host replica of a Pod; NULL when the operator does not set it. */
static const char *replica_name(const struct pod *pod)
{
	const char *name = labels_value(&pod->labels, LABEL_REPLICA_NAME);
	if (!name)
		name = labels_value(&pod->labels, LABEL_REPLICA_INDEX);
	return name;
}

struct named_pod {
	const char *name;
	size_t index;
};

static int compare_named(const void *left, const void *right)
{
	const struct named_pod *a = left;
	const struct named_pod *b = right;
	int order = strcmp(a->name, b->name);
	return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Older operators do not label the hosts of a replica; they are then assigned in the order of their
 * names. */
static void number_replicas(struct facts *facts, struct worker *workers, size_t count,
			    int64_t hosts, size_t *next)
{
	struct named_pod *named = arena_array(facts->arena, count, sizeof(*named));
	size_t named_count = 0;
	int64_t unnamed = 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = replica_name(workers[i].pod);
		if (workers[i].deleting)
			continue;
		if (name)
			named[named_count++] = (struct named_pod){ name, i };
		else if (unnamed++ % hosts == 0)
			workers[i].replica = (*next)++;
		else
			workers[i].replica = *next - 1;
	}
	qsort(named, named_count, sizeof(*named), compare_named);
	for (size_t i = 0; i < named_count; i++) {
		if (i == 0 || strcmp(named[i].name, named[i - 1].name) != 0)
			(*next)++;
		workers[named[i].index].replica = *next - 1;
	}
}

static size_t missing_to_list(const struct group *group, size_t *budget)
{
	size_t count = group->missing > (int64_t)*budget ? *budget : (size_t)group->missing;
	*budget -= count;
	return count;
}

static void copy_group(struct facts *facts, struct group *group, const struct worker *pods,
		       size_t count, size_t missing)
{
	group->first_worker = facts->worker_count;
	if (group->held_by)
		group->held_by =
			&facts->workers[facts->worker_count + (size_t)(group->held_by - pods)];
	for (size_t i = 0; i < count; i++)
		facts->workers[facts->worker_count++] = pods[i];
	group->worker_count = count;
	for (size_t i = 0; i < missing; i++) {
		facts->workers[facts->worker_count++] = (struct worker){
			.pod_name = "",
			.group_name = group->spec->name,
			.group = group->index,
			.replica = FACTS_NO_INDEX,
			.state = WORKER_PENDING,
			.never_started = true,
		};
	}
	group->worker_count += missing;
}

/* Builds the worker list in two steps. Pods are collected in canonical order and counted by group
 * first, because the number of missing replicas depends on these counts. Then each group's Pods are
 * copied, followed by its hosts without a Pod, at most SITUATION_MISSING_MAX in all. Pods of
 * removed groups are last. */
void worker_join(struct facts *facts)
{
	struct worker *pods;
	size_t pod_count, at = 0, next_replica = 0, budget = FACTS_MISSING_MAX;
	for (size_t g = 0; g < facts->group_count; g++)
		facts->groups[g].disruption_names = name_set_of_strings(
			facts->arena, &facts->groups[g].spec->workers_to_delete);
	facts->pod_names =
		name_set_of_pods(facts->arena, facts->snapshot->pods, facts->snapshot->pod_count);
	collect_pods(facts, &pods, &pod_count);
	disruption_mark(facts, pods, pod_count);
	/* First the counts by Pods, then space for the replicas without one. */
	for (size_t g = 0; g < facts->group_count; g++) {
		struct group *group = &facts->groups[g];
		group->first_worker = at;
		while (at < pod_count && pods[at].group == g)
			at++;
		group->worker_count = at - group->first_worker;
		if (group->hosts > 1) {
			number_replicas(facts, &pods[group->first_worker], group->worker_count,
					group->hosts, &next_replica);
			disruption_spread(facts, group, pods);
		}
		count_group(facts, group, pods);
	}
	size_t missing = 0;
	for (size_t g = 0; g < facts->group_count && missing < FACTS_MISSING_MAX; g++) {
		size_t room = FACTS_MISSING_MAX - missing;
		missing += missing_to_list(&facts->groups[g], &room);
	}
	facts->workers = arena_array(facts->arena, pod_count + missing, sizeof(struct worker));
	ARRAY_EACH(struct group, group, facts->groups, facts->group_count) {
		size_t first = group->first_worker, count = group->worker_count;
		copy_group(facts, group, &pods[first], count, missing_to_list(group, &budget));
	}
	for (; at < pod_count; at++)
		facts->workers[facts->worker_count++] = pods[at];
	for (size_t i = 0; i < facts->worker_count; i++)
		facts->workers[i].index = i;
}

bool worker_idle_passed(const struct facts *facts, const struct worker *worker, int64_t timeout_ms)
{
	time_ms since = facts->snapshot->now - worker->node->idle_duration_ms;

	return due_passed(facts->due, since, timeout_ms + 1);
}
