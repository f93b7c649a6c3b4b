#include "core/decide/spare.h"

#include "core/decide/limits.h"
#include "core/model/reason.h"

/* A worker that has just registered or finished its work is briefly RUNNING without being in
 * use. */
static bool is_in_use(const struct worker *worker)
{
	return worker->registered && worker->node->status != RAY_NODE_IDLE &&
	       !ray_node_is_unused(worker->node);
}

/* Of a planned end Ray is notified when the replacement is there. */
static bool is_of_kind(const struct worker *worker, enum spare_of of)
{
	bool drained = worker->planned && worker->state == WORKER_DRAINING;

	if (of == SPARE_OF_ALL)
		return worker->disrupted || !worker->deleting;
	return worker->disrupted && drained == (of == SPARE_OF_DRAINED);
}

/* The replicas of a group are numbered one after the other: the lowest number. */
static size_t first_replica(const struct facts *facts, const struct group *group)
{
	size_t lowest = FACTS_NO_INDEX;

	for (size_t i = 0; i < group->worker_count; i++)
		if (facts->workers[group->first_worker + i].replica < lowest)
			lowest = facts->workers[group->first_worker + i].replica;
	return lowest;
}

int64_t spare_pods_in_use(const struct packing *packing, const struct group *group,
			  enum spare_of of)
{
	bool *counted = arena_array(packing->arena, group->worker_count, sizeof(*counted));
	size_t lowest = first_replica(packing->facts, group);
	int64_t pods = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &packing->facts->workers[group->first_worker + i];

		if (!is_in_use(worker) || !is_of_kind(worker, of))
			continue;
		if (worker->replica != FACTS_NO_INDEX && counted[worker->replica - lowest])
			continue;
		if (worker->replica != FACTS_NO_INDEX)
			counted[worker->replica - lowest] = true;
		pods += group->hosts;
	}
	return pods;
}

static bool is_of(const struct schedule_node_result *node, const struct group *group)
{
	return node->type == group->index + 1;
}

/* No work runs on the node, no demand was placed on it, and it is neither kept already nor released. */
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
	return !is_in_use(&packing->facts->workers[node->worker]) &&
	       !packing->facts->workers[node->worker].release &&
	       !packing->workers[node->worker].replaces_disrupted;
}

/* By node of the result that is of the group: the number of its replica, below *ret_count. Nodes
 * without a Pod follow each other. */
static size_t *number_replicas(const struct packing *packing, const struct group *group,
			       size_t *ret_count)
{
	const struct schedule_result *result = packing->result;
	size_t *numbers = arena_array(packing->arena, result->node_count, sizeof(*numbers));
	size_t lowest = first_replica(packing->facts, group), new_nodes = 0;

	for (size_t i = 0; i < result->node_count; i++) {
		const struct schedule_node_result *node = &result->nodes[i];
		size_t replica;

		if (!is_of(node, group))
			continue;
		if (node->worker == SCHEDULE_NO_INDEX ||
		    !packing->facts->workers[node->worker].pod) {
			numbers[i] = 2 * group->worker_count + new_nodes++ / (size_t)group->hosts;
			continue;
		}
		replica = packing->facts->workers[node->worker].replica;
		numbers[i] = replica != FACTS_NO_INDEX ?
				     replica - lowest :
				     group->worker_count + node->worker - group->first_worker;
	}
	*ret_count = 2 * group->worker_count + new_nodes;
	return numbers;
}

/* The replicas of a group while some of them are chosen. */
struct keeping {
	const struct group *group;
	enum spare_use use;
	const size_t *replica; /* by node of the result */
	bool *used, *kept;     /* by replica */
	int64_t wanted, found; /* Pods */
};

/* The order in which free workers are kept: first those that stay anyway. A warm worker is ready
 * rather than starting. */
#define RANKS 3

static int rank_of(const struct packing *packing, const struct schedule_node_result *node,
		   enum spare_use use)
{
	if (use == SPARE_FOR_WARM && (node->worker == SCHEDULE_NO_INDEX ||
				      !packing->facts->workers[node->worker].registered))
		return 2;
	return node->status == SCHEDULE_TERMINATE ? 1 : 0;
}

static void keep_worker(struct packing *packing, const struct keeping *keeping,
			struct worker_packing *worker)
{
	const struct plan_schedule *schedule = packing->groups[keeping->group->index].warm_schedule;

	if (keeping->use == SPARE_FOR_DISRUPTION) {
		worker->replaces_disrupted = true;
		worker_keep(worker, REASON_NEEDED_BY_DEMAND,
			    "for the work on a worker that is about to be terminated");
	} else if (!worker->kept_reason) {
		worker_keep(worker, REASON_WARM_WORKER,
			    !schedule ? "warmWorkers keeps it ready" :
					arena_printf(packing->arena,
						     "warmWorkers of schedule %.64s keeps it ready",
						     schedule->name));
	}
}

static void keep_node(struct packing *packing, struct keeping *keeping, size_t index)
{
	const struct schedule_node_result *node = &packing->result->nodes[index];
	bool *kept = &keeping->kept[keeping->replica[index]];

	if (keeping->used[keeping->replica[index]] || (!*kept && keeping->found >= keeping->wanted))
		return;
	if (!*kept)
		keeping->found += keeping->group->hosts;
	*kept = true;
	if (node->worker != SCHEDULE_NO_INDEX)
		keep_worker(packing, keeping, &packing->workers[node->worker]);
}

int64_t spare_keep(struct packing *packing, const struct group *group, int64_t wanted,
		   enum spare_use use)
{
	const struct schedule_result *result = packing->result;
	struct keeping keeping = { .group = group, .use = use, .wanted = wanted };
	size_t count;

	if (wanted <= 0)
		return 0;
	keeping.replica = number_replicas(packing, group, &count);
	keeping.used = arena_array(packing->arena, count, sizeof(*keeping.used));
	keeping.kept = arena_array(packing->arena, count, sizeof(*keeping.kept));
	for (size_t i = 0; i < result->node_count; i++)
		if (is_of(&result->nodes[i], group) && !is_free(packing, &result->nodes[i]))
			keeping.used[keeping.replica[i]] = true;
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < result->node_count; i++)
			if (is_of(&result->nodes[i], group) &&
			    rank_of(packing, &result->nodes[i], use) == rank)
				keep_node(packing, &keeping, i);
	return keeping.found;
}

/* The node stays: not terminated, or kept in spite of that. */
static bool stays(const struct packing *packing, const struct schedule_node_result *node)
{
	return node->status != SCHEDULE_TERMINATE || (node->worker < packing->facts->worker_count &&
						      packing->workers[node->worker].kept_reason);
}

int64_t spare_room_below_max(const struct packing *packing, const struct group *group)
{
	int64_t room = packing->problem.types[group->index + 1].max_nodes;

	for (size_t i = 0; i < packing->result->node_count; i++)
		room -= is_of(&packing->result->nodes[i], group) &&
			stays(packing, &packing->result->nodes[i]);
	room -= packing->groups[group->index].launches_for_disruption * group->hosts;
	return room > 0 ? room : 0;
}

/* Pods that may be added within the grant of the group's pool. */
static int64_t room_in_pool(const struct packing *packing, const struct group *group)
{
	const struct schedule_type *type = &packing->problem.types[group->index + 1];
	const struct group_packing *own = &packing->groups[group->index];
	int64_t room = type->pool_nodes;

	if (!type->has_pool)
		return INT64_MAX;
	for (size_t i = 0; i < packing->result->node_count; i++)
		room -= is_of(&packing->result->nodes[i], group);
	return room - (own->launches_for_disruption + own->launches_for_warm) * group->hosts;
}

int64_t spare_launches(const struct packing *packing, const struct group *group, int64_t wanted)
{
	int64_t each = limits_gpus_of_launch(packing->offer, group);
	int64_t budget = packing->problem.gpu_budget;
	int64_t room = spare_room_below_max(packing, group);
	int64_t pool = room_in_pool(packing, group);

	room = room < pool ? room : pool;
	if (packing->problem.types[group->index + 1].launch_held)
		return 0;
	if (packing->problem.has_gpu_budget && each > 0) {
		for (size_t g = 0; g < packing->facts->group_count; g++) {
			const struct group_packing *own = &packing->groups[g];

			budget -= (own->launches +
				   (own->launches_for_disruption + own->launches_for_warm) *
					   packing->facts->groups[g].hosts) *
				  limits_gpus_of_launch(packing->offer, &packing->facts->groups[g]);
		}
		budget = budget > 0 ? budget / each : 0;
		room = room < budget ? room : budget;
	}
	room = wanted < room ? wanted : room;
	return room > 0 ? room / group->hosts * group->hosts : 0;
}
