#include "core/decide/gang_hold.h"

#include <string.h>

#include "core/decide/demand.h"
#include "core/decide/mark.h"
#include "core/decide/worker.h"
#include "core/model/reason.h"
#include "core/schedule/schedule.h"

/* Ray places a group in at most some 100 ms, and its nodes report that up to a second later; longer under load. */
#define PLACING_MS (5 * MS_PER_SECOND)
/* Packings that look for a gang that fits; the waiting gangs behind them keep nothing. */
#define TRIALS_MAX 4

/* The order in which the gang prefers nodes: unused workers that stay anyway, those that are idle for
 * too long, those that start, those in use, and those on which something is placed. */
enum rank { RANK_UNUSED, RANK_IDLE, RANK_STARTING, RANK_IN_USE, RANK_PLACED, RANK_COUNT };

/* The nodes of the problem by rank, without those above maxReplicas and released ones. */
struct node_list {
	struct schedule_node *nodes;
	size_t ends[RANK_COUNT];
};

static bool is_idle_for_too_long(const struct schedule_node_result *node)
{
	return node->status == SCHEDULE_TERMINATE && node->cause == SCHEDULE_CAUSE_IDLE;
}

static bool is_gang_waiting(const struct packing *packing)
{
	for (size_t i = 0; i < packing->problem.gang_count; i++)
		if (packing->result->gangs[i].count > 0)
			return true;
	return false;
}

static bool is_anything_to_keep(const struct packing *packing)
{
	if (!is_gang_waiting(packing))
		return false;
	for (size_t i = 0; i < packing->problem.node_count; i++)
		if (is_idle_for_too_long(&packing->result->nodes[i]))
			return true;
	return false;
}

/* ---- the nodes ---- */

static enum rank rank_of(const struct packing *packing, size_t index)
{
	const struct schedule_node_result *node = &packing->result->nodes[index];
	const struct schedule_node *given = &packing->problem.nodes[index];

	if (given->released)
		return RANK_COUNT;
	if (is_idle_for_too_long(node))
		return RANK_IDLE;
	if (node->status == SCHEDULE_TERMINATE)
		return RANK_COUNT;
	for (size_t i = 0; i < node->placement_count; i++)
		if (node->placements[i].phase != SCHEDULE_PHASE_CONSTRAINT)
			return RANK_PLACED;
	if (!given->running)
		return RANK_STARTING;
	return resources_equal(&given->total, &given->available) ? RANK_UNUSED : RANK_IN_USE;
}

static struct node_list list_nodes(const struct packing *packing)
{
	struct node_list list = { .nodes = arena_array(packing->arena, packing->problem.node_count,
						       sizeof(*list.nodes)) };
	size_t count = 0;

	for (enum rank rank = RANK_UNUSED; rank < RANK_COUNT; rank++) {
		for (size_t i = 0; i < packing->problem.node_count; i++)
			if (rank_of(packing, i) == rank)
				list.nodes[count++] = packing->problem.nodes[i];
		list.ends[rank] = count;
	}
	return list;
}

/* ---- packings ---- */

/* The problem without demand, with types and nodes that may be changed. */
static struct schedule_problem copy_problem(const struct packing *packing,
					    struct schedule_type **ret_types)
{
	struct schedule_problem problem = packing->problem;

	problem.types = *ret_types = ARENA_COPY(packing->arena, problem.types, problem.type_count);
	problem.gang_count = problem.demand_count = 0;
	problem.gangs_new_only = NULL;
	problem.terminate_over_max = problem.cheapest = problem.may_be_cut = false;
	return problem;
}

/* Places the gang as if all work had ended, also that of others in a pool that collects GPUs for it, within
 * maxReplicas and all other limits. Pods that drain make room below maxReplicas by then. NULL: it does not fit. */
static const struct schedule_result *place_when_work_has_ended(const struct packing *packing,
							       const struct node_list *list,
							       const struct ray_gang *gang)
{
	struct schedule_type *types;
	struct schedule_problem problem = copy_problem(packing, &types);
	struct schedule_node *nodes =
		ARENA_COPY(packing->arena, list->nodes, list->ends[RANK_PLACED]);
	const struct schedule_result *result;

	for (size_t g = 0; g < packing->facts->group_count; g++) {
		types[g + 1].max_nodes = packing->facts->groups[g].spec->max_replicas *
					 packing->facts->groups[g].hosts;
		if (packing->facts->groups[g].grant && packing->facts->groups[g].grant->collects)
			types[g + 1].has_pool = false;
	}
	for (size_t i = 0; i < list->ends[RANK_PLACED]; i++)
		nodes[i].available = nodes[i].total;
	problem.nodes = nodes;
	problem.node_count = list->ends[RANK_PLACED];
	problem.gangs = gang;
	problem.gang_count = 1;
	result = schedule(&problem, packing->arena);
	return result->gangs[0].count == 0 ? result : NULL;
}

/* Places as many bundles as fit on what is free now, without launches. Bundles that need one
 * worker together (STRICT_PACK) would be there already if one were large enough; NULL then. */
static const struct schedule_result *
place_now(const struct packing *packing, const struct node_list *list, const struct ray_gang *gang)
{
	size_t count;
	const struct ray_request *bundles = demand_gang_bundles(gang, 0, &count);
	struct schedule_demand *demands = arena_array(packing->arena, count, sizeof(*demands));
	struct schedule_type *types;
	struct schedule_problem problem = copy_problem(packing, &types);

	for (size_t i = 0; i < count; i++) {
		if (bundles[i].placement_count > 0 && bundles[i].placements[0].has_affinity)
			return NULL;
		demands[i] = (struct schedule_demand){ .request = &bundles[i], .count = 1 };
	}
	for (size_t i = 0; i < problem.type_count; i++)
		types[i].launch_held = true;
	problem.nodes = list->nodes;
	problem.node_count = list->ends[RANK_IN_USE];
	problem.constraint_count = 0;
	problem.demands = demands;
	problem.demand_count = count;
	return schedule(&problem, packing->arena);
}

/* ---- the workers ---- */

static bool is_used(const struct schedule_node_result *node)
{
	for (size_t p = 0; p < node->placement_count; p++)
		if (node->placements[p].phase != SCHEDULE_PHASE_CONSTRAINT)
			return true;
	return false;
}

/* Marks the workers of too long idleness that the result uses, and their replicas. */
static void mark_used(const struct packing *packing, const struct node_list *list,
		      const struct schedule_result *result, bool *workers, bool *replicas)
{
	if (!result)
		return;
	for (size_t i = list->ends[RANK_UNUSED]; i < list->ends[RANK_IDLE]; i++) {
		size_t index = list->nodes[i].worker,
		       replica = packing->facts->workers[index].replica;

		if (!is_used(&result->nodes[i]))
			continue;
		workers[index] = true;
		if (replica != FACTS_NO_INDEX)
			replicas[replica] = true;
	}
}

/* It was kept for too long beyond the idle timeout. */
static bool has_waited(const struct packing *packing, const struct worker *worker)
{
	int64_t hold_ms = facts_launch(packing->facts, worker)->hold_ms;

	return hold_ms > 0 &&
	       worker_idle_passed(packing->facts, worker,
				  worker_idle_timeout_ms(packing->health, worker) + hold_ms);
}

/* Keeps what at least one of the results uses, unless one of them has waited for too long; a replica stays as a
 * whole. */
static void keep_used(struct packing *packing, const struct node_list *list,
		      const struct schedule_result *now, const struct schedule_result *ended,
		      const char *message)
{
	const struct facts *facts = packing->facts;
	bool *workers = arena_array(packing->arena, facts->worker_count, sizeof(*workers)),
	     *replicas;

	replicas = arena_array(packing->arena, facts->worker_count, sizeof(*replicas));
	mark_used(packing, list, now, workers, replicas);
	mark_used(packing, list, ended, workers, replicas);
	for (size_t i = 0; i < facts->worker_count; i++)
		if (workers[i] && has_waited(packing, &facts->workers[i]))
			return;
	for (size_t i = 0; i < facts->worker_count; i++) {
		size_t replica = facts->workers[i].replica;

		if (workers[i] || (replica != FACTS_NO_INDEX && replicas[replica]))
			worker_keep(&packing->workers[i], REASON_NEEDED_BY_PLACEMENT_GROUP,
				    message);
	}
}

/* Keeps workers for the first choice of the gang that fits; false: none does. */
static bool keep_for(struct packing *packing, const struct node_list *list,
		     const struct ray_gang *gang, size_t *trials)
{
	size_t choices = gang->selector_count > 0 ? gang->selector_count : 1;

	for (size_t i = 0; i < choices && *trials < TRIALS_MAX; i++) {
		struct ray_gang choice = *gang;
		const struct schedule_result *ended;
		const char *message;
		size_t count;

		if (gang->selector_count > 0) {
			choice.selectors = &gang->selectors[i];
			choice.selector_count = 1;
		}
		++*trials;
		ended = place_when_work_has_ended(packing, list, &choice);
		if (!ended)
			continue;
		demand_gang_bundles(gang, 0, &count);
		message = arena_printf(packing->arena,
				       "a placement group with %zu bundles waits for running work "
				       "to end, and would use it",
				       count);
		keep_used(packing, list, place_now(packing, list, &choice), ended, message);
		return true;
	}
	return false;
}

/* A starved gang fits by the numbers on workers that are idle: keeping them does not help it. */
static bool is_starved(const struct packing *packing, size_t index)
{
	return packing->problem.gangs_new_only && packing->problem.gangs_new_only[index];
}

/* ---- gangs that Ray is placing ---- */

static bool has_gang(const struct schedule_node_result *node)
{
	for (size_t p = 0; p < node->placement_count; p++)
		if (node->placements[p].phase == SCHEDULE_PHASE_GANG)
			return true;
	return false;
}

static int64_t idle_before_ms(const struct packing *packing, const struct worker *worker)
{
	int64_t timeout_ms = worker_idle_timeout_ms(packing->health, worker);

	return timeout_ms > PLACING_MS ? timeout_ms - PLACING_MS : 0;
}

static void note_need(struct packing *packing, const struct worker *worker, time_ms since,
		      bool ended)
{
	VEC_PUSH(packing->arena, &packing->memory.marks,
		 ((struct memory_mark){ MARK_NEEDED_BY_GANG, worker->pod_name, since, ended,
					NULL }));
}

/* It is idle, and no gang has its place there now. */
static void keep_needed_before(struct packing *packing, const struct worker *worker)
{
	const struct facts *facts = packing->facts;
	const struct memory_mark *old = mark_find(facts, MARK_NEEDED_BY_GANG, worker->pod_name);
	time_ms since;

	if (!old)
		return;
	since = old->count == 0 ? packing->snapshot->now :
				  mark_since(facts, MARK_NEEDED_BY_GANG, worker->pod_name);
	if (due_passed(facts->due, since, PLACING_MS))
		return;
	note_need(packing, worker, since, true);
	worker_keep(&packing->workers[worker->index], REASON_NEEDED_BY_PLACEMENT_GROUP,
		    "a placement group needed it until now, and Ray may be placing it");
}

static void keep_for_placing(struct packing *packing)
{
	const struct facts *facts = packing->facts;

	for (size_t i = 0; i < packing->problem.node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];
		const struct worker *worker;

		if (node->worker >= facts->worker_count ||
		    packing->offer->workers[node->worker].removal != REMOVAL_DRAIN)
			continue;
		worker = &facts->workers[node->worker];
		if (!has_gang(node))
			keep_needed_before(packing, worker);
		else if (worker_idle_passed(facts, worker, idle_before_ms(packing, worker)))
			note_need(packing, worker,
				  mark_since(facts, MARK_NEEDED_BY_GANG, worker->pod_name), false);
	}
}

void gang_hold(struct packing *packing)
{
	const size_t *order;
	struct node_list list;
	size_t trials = 0;

	if (packing->termination_forbidden)
		return;
	keep_for_placing(packing);
	if (!packing->snapshot->settings.keep_for_placement_groups || !is_anything_to_keep(packing))
		return;
	list = list_nodes(packing);
	order = schedule_gang_order(&packing->problem, packing->arena);
	for (size_t i = 0; i < packing->problem.gang_count && trials < TRIALS_MAX; i++)
		if (packing->result->gangs[order[i]].count > 0 && !is_starved(packing, order[i]) &&
		    keep_for(packing, &list, &packing->problem.gangs[order[i]], &trials))
			return;
}
