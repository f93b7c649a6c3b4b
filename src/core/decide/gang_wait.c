#include "core/decide/gang_wait.h"

#include "base/int64.h"
#include "core/decide/backoff.h"
#include "core/decide/mark.h"
#include "core/decide/replica.h"
#include "core/model/reason.h"
#include "core/schedule/schedule.h"

/* Of a gang of the problem: bundles on workers that are not registered. */
struct rest {
	bool waits, over;
	time_ms since; /* the first of their Pods was created; now: there is none */
};

/* A replica of which some or all hosts have registered, and wait. */
struct part {
	const struct group *group;
	const struct replica *replica;
	time_ms since;   /* of the host that waits longest */
	bool incomplete; /* for other hosts */
	bool over;
};

struct search {
	struct packing *packing;
	struct rest *rests; /* by gang of the problem */
	VEC(struct part) parts;
	size_t *nodes;  /* by worker: its node of the result, or SCHEDULE_NO_INDEX */
	int64_t *spare; /* by group: replicas above the minimum */
};

static const struct worker *worker_of(const struct packing *packing,
				      const struct schedule_node_result *node)
{
	return node->worker < packing->facts->worker_count ?
		       &packing->facts->workers[node->worker] :
		       NULL;
}

/* Of a Pod that does not exist yet: now. */
static time_ms created(const struct packing *packing, const struct worker *worker)
{
	return worker && worker->pod && worker->pod->created != TIME_NONE ?
		       int64_min(worker->pod->created, packing->snapshot->now) :
		       packing->snapshot->now;
}

static bool is_rest(const struct packing *packing, const struct schedule_node_result *node)
{
	const struct worker *worker = worker_of(packing, node);

	return node->worker == SCHEDULE_NO_INDEX || (worker && !worker->registered);
}

static void find_rests(struct search *search)
{
	const struct packing *packing = search->packing;

	for (size_t i = 0; i < packing->result->node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];
		const struct worker *worker = worker_of(packing, node);

		if (worker)
			search->nodes[worker->index] = i;
		if (!is_rest(packing, node))
			continue;
		for (size_t p = 0; p < node->placement_count; p++) {
			struct rest *rest;

			if (node->placements[p].phase != SCHEDULE_PHASE_GANG)
				continue;
			rest = &search->rests[node->placements[p].index];
			rest->since = rest->waits ?
					      int64_min(rest->since, created(packing, worker)) :
					      created(packing, worker);
			rest->waits = true;
		}
	}
}

/* ---- the parts ---- */

/* Each gang with a bundle on the worker waits for its rest; false: or other demand is placed there.
 * ret_since: since when the oldest rest waits. */
static bool only_waits(const struct search *search, const struct worker *worker, bool *ret_any,
		       time_ms *ret_since)
{
	const struct schedule_node_result *node;

	if (search->nodes[worker->index] == SCHEDULE_NO_INDEX)
		return false;
	node = &search->packing->result->nodes[search->nodes[worker->index]];
	for (size_t p = 0; p < node->placement_count; p++) {
		const struct schedule_placement *placement = &node->placements[p];

		if (placement->phase != SCHEDULE_PHASE_GANG ||
		    !search->rests[placement->index].waits)
			return false;
		*ret_since = int64_min(*ret_since, search->rests[placement->index].since);
		*ret_any = true;
	}
	return true;
}

static time_ms part_since(const struct packing *packing, const struct worker *worker, time_ms rest)
{
	const struct facts *facts = packing->facts;
	time_ms idle = packing->snapshot->now - worker->node->idle_duration_ms;
	time_ms since = mark_find(facts, MARK_GANG_PART, worker->pod_name) ?
				mark_since(facts, MARK_GANG_PART, worker->pod_name) :
				rest;

	return since > idle ? since : idle;
}

/* Something else than a gang has its place there. */
static bool serves_others(const struct search *search, const struct worker *worker)
{
	size_t index = search->nodes[worker->index];
	const struct schedule_node_result *node;

	if (index == SCHEDULE_NO_INDEX)
		return false;
	node = &search->packing->result->nodes[index];
	for (size_t p = 0; p < node->placement_count; p++)
		if (node->placements[p].phase != SCHEDULE_PHASE_GANG)
			return true;
	return false;
}

static bool fits_one(const struct worker *worker, const struct schedule_demand *demands,
		     size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (schedule_fits_empty(demands[i].request, &worker->node->total,
					&worker->node->labels))
			return true;
	return false;
}

/* A bundle that waits, or is requested, fits the host alone. */
static bool may_serve(const struct packing *packing, const struct worker *worker)
{
	const struct schedule_problem *problem = &packing->problem;

	if (!worker->registered)
		return false;
	for (size_t c = 0; c < problem->constraint_count; c++)
		if (fits_one(worker, problem->constraints[c].demands,
			     problem->constraints[c].count))
			return true;
	return fits_one(worker, problem->demands, problem->demand_count);
}

/* False: a host is in use, or nothing is waited for. */
static bool look(const struct search *search, struct part *part)
{
	const struct packing *packing = search->packing;
	const struct replica *replica = part->replica;
	const struct worker *workers = packing->facts->workers;
	time_ms rest = packing->snapshot->now;
	bool waits = false;

	part->incomplete = workers[replica->members[0]].replica != FACTS_NO_INDEX &&
			   (int64_t)replica->count < part->group->hosts;
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &workers[replica->members[i]];

		if (serves_others(search, worker))
			return false;
		if (!worker->registered) {
			part->incomplete = true;
			rest = int64_min(rest, created(packing, worker));
		} else if (packing->offer->workers[worker->index].removal != REMOVAL_DRAIN ||
			   worker->release || !only_waits(search, worker, &waits, &rest)) {
			return false;
		}
	}
	for (size_t i = 0; i < replica->count; i++)
		if (!waits && may_serve(packing, &workers[replica->members[i]]))
			return false;
	part->since = packing->snapshot->now;
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &workers[replica->members[i]];

		if (worker->registered)
			part->since = int64_min(part->since, part_since(packing, worker, rest));
	}
	return waits || part->incomplete;
}

static void add_part(struct search *search, const struct group *group,
		     const struct replica *replica)
{
	struct part part = { .group = group, .replica = replica };

	if (!replica->not_registered && !replica->broken && !replica->disrupted &&
	    look(search, &part))
		VEC_PUSH(search->packing->arena, &search->parts, part);
}

static void find_parts(struct search *search)
{
	const struct packing *packing = search->packing;

	ARRAY_EACH(const struct group, group, packing->facts->groups, packing->facts->group_count) {
		const struct group_offer *own = &packing->offer->groups[group->index];

		search->spare[group->index] =
			(group->kept + group->missing) / group->hosts - group->min_replicas;
		if (group->frozen)
			continue;
		for (size_t i = 0; i < own->replica_count; i++)
			add_part(search, group, &own->replicas[i]);
	}
}

/* ---- the end of a wait ---- */

/* Whether the wait of one of its gangs has ended; end: ends them all. */
static bool is_over(const struct search *search, const struct part *part, bool end)
{
	bool over = end;

	for (size_t i = 0; i < part->replica->count; i++) {
		size_t index = search->nodes[part->replica->members[i]];
		const struct schedule_node_result *node;

		if (index == SCHEDULE_NO_INDEX)
			continue;
		node = &search->packing->result->nodes[index];
		for (size_t p = 0; p < node->placement_count; p++) {
			struct rest *rest;

			if (node->placements[p].phase != SCHEDULE_PHASE_GANG)
				continue;
			rest = &search->rests[node->placements[p].index];
			rest->over = rest->over || end;
			over = over || rest->over;
		}
	}
	return over;
}

static bool end_waits(struct search *search)
{
	bool any = false;

	VEC_EACH(struct part, part, &search->parts) {
		int64_t hold_ms = part->group->launch.hold_ms;

		if (hold_ms == 0 || search->spare[part->group->index] <= 0 ||
		    !due_passed(search->packing->facts->due, part->since, hold_ms))
			continue;
		part->over = any = is_over(search, part, true);
	}
	return any;
}

static void note(struct packing *packing, const struct part *part)
{
	for (size_t i = 0; i < part->replica->count; i++) {
		const struct worker *worker = &packing->facts->workers[part->replica->members[i]];

		if (worker->registered)
			VEC_PUSH(packing->arena, &packing->memory.marks,
				 ((struct memory_mark){ MARK_GANG_PART, worker->pod_name,
							part->since, 0, NULL }));
	}
}

/* Nothing is placed on its hosts any more. */
static void give_back(const struct search *search, const struct part *part,
		      struct schedule_node *nodes)
{
	struct packing *packing = search->packing;
	const char *message =
		arena_printf(packing->arena, "the rest of its %s has not come in %lld s",
			     part->incomplete ? "replica" : "placement group",
			     (long long)(part->group->launch.hold_ms / MS_PER_SECOND));

	for (size_t i = 0; i < part->replica->count; i++) {
		size_t worker = part->replica->members[i], node = search->nodes[worker];

		packing->workers[worker].returned = message;
		if (node == SCHEDULE_NO_INDEX)
			continue;
		nodes[node].released = true;
		nodes[node].available = (struct resources){ .count = 0 };
		nodes[node].resizing = nodes[node].resizable = NULL;
	}
}

static bool has_ended(const struct search *search, const struct schedule_node_result *node)
{
	for (size_t p = 0; p < node->placement_count; p++)
		if (node->placements[p].phase == SCHEDULE_PHASE_GANG &&
		    search->rests[node->placements[p].index].over)
			return true;
	return false;
}

/* Of the groups from which the rest of an ended gang would come; their Pods that cannot start do not count, whoever
 * was placed on them: this back-off cancels them in the next decision. */
static void back_off(const struct search *search, struct schedule_type *types,
		     struct schedule_node *nodes)
{
	struct packing *packing = search->packing;
	int64_t seconds = in_force_backoff_max_seconds(packing->snapshot), failed = 0;
	bool *backed_off = arena_array(packing->arena, packing->problem.type_count, sizeof(bool));

	for (size_t i = 0; i < packing->result->node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];

		if (node->type != SCHEDULE_NO_INDEX && is_rest(packing, node) &&
		    has_ended(search, node))
			backed_off[node->type] = true;
	}
	VEC_EACH(const struct part, part, &search->parts)
		if (part->over && part->incomplete)
			backed_off[part->group->index + 1] = true;
	for (size_t i = 0; i < packing->problem.node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];

		if (node->type != SCHEDULE_NO_INDEX && backed_off[node->type] &&
		    is_rest(packing, node) &&
		    packing->health->workers[node->worker].obstacle != OBSTACLE_NONE)
			nodes[i].available = (struct resources){ .count = 0 };
	}
	ARRAY_EACH(const struct group, group, packing->facts->groups, packing->facts->group_count) {
		const struct memory_backoff *old = packing->health->groups[group->index].backoff;

		failed += backed_off[group->index + 1] ||
			  (old && old->cause == REASON_GANG_INCOMPLETE);
	}
	ARRAY_EACH(const struct group, group, packing->facts->groups, packing->facts->group_count) {
		types[group->index + 1].gangs_held =
			backoff_holds_gangs(packing->health, group, failed) != TIME_NONE;
		if (!backed_off[group->index + 1])
			continue;
		types[group->index + 1].launch_held = true;
		VEC_PUSH(packing->arena, &packing->memory.backoffs,
			 ((struct memory_backoff){
				 .group = group->spec->name,
				 .until = packing->snapshot->now + seconds * MS_PER_SECOND,
				 .seconds = seconds,
				 .cause = REASON_GANG_INCOMPLETE,
				 .message = "parts of a placement group or replica have waited for "
					    "its workers for gangHoldSeconds",
			 }));
	}
}

static bool is_placed(const struct search *search, const struct schedule_result *result)
{
	for (size_t i = 0; i < search->packing->problem.gang_count; i++)
		if (search->rests[i].over && result->gangs[i].count > 0)
			return false;
	return true;
}

/* A new worker for it in a group of which a part is given back. */
static bool launches_again(const struct search *search, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->node_count; i++) {
		const struct schedule_node_result *node = &result->nodes[i];

		if (node->worker != SCHEDULE_NO_INDEX || !has_ended(search, node))
			continue;
		VEC_EACH(const struct part, part, &search->parts)
			if (search->packing->workers[part->replica->members[0]].returned &&
			    part->group->index + 1 == node->type)
				return true;
	}
	return false;
}

/* Marks the parts that are not given back. */
static void note_parts(const struct search *search)
{
	VEC_EACH(const struct part, part, &search->parts)
		if (!search->packing->workers[part->replica->members[0]].returned)
			note(search->packing, part);
}

/* Those of the last packing. */
static void find(struct search *search)
{
	for (size_t i = 0; i < search->packing->facts->worker_count; i++)
		search->nodes[i] = SCHEDULE_NO_INDEX;
	for (size_t i = 0; i < search->packing->problem.gang_count; i++)
		search->rests[i].waits = false;
	search->parts.count = 0;
	find_rests(search);
	find_parts(search);
}

/* Those of the last packing: of an ended gang, which is tried again beside other workers, a new time begins for all. */
static void renew_parts(struct search *search)
{
	const struct packing *packing = search->packing;

	find(search);
	VEC_EACH(struct part, part, &search->parts)
		if (packing->workers[part->replica->members[0]].returned ||
		    is_over(search, part, false))
			part->since = packing->snapshot->now;
}

static void end_parts(struct search *search)
{
	struct packing *packing = search->packing;
	struct schedule_problem *problem = &packing->problem;
	struct schedule_type *types =
		ARENA_COPY(packing->arena, problem->types, problem->type_count);
	struct schedule_node *with =
		ARENA_COPY(packing->arena, problem->nodes, problem->node_count);
	struct schedule_node *without;
	struct schedule_result *result;

	back_off(search, types, with);
	without = ARENA_COPY(packing->arena, with, problem->node_count);
	VEC_EACH(struct part, part, &search->parts) {
		part->over = part->over || is_over(search, part, false);
		if (part->over && search->spare[part->group->index]-- > 0)
			give_back(search, part, without);
	}
	problem->types = types;
	problem->may_be_cut = false;
	problem->nodes = without;
	packing->result = schedule(problem, packing->arena);
	if (!is_placed(search, packing->result) || launches_again(search, packing->result)) {
		problem->nodes = with;
		result = schedule(problem, packing->arena);
		if (is_placed(search, result)) {
			packing->result = result;
			renew_parts(search);
			for (size_t i = 0; i < packing->facts->worker_count; i++)
				packing->workers[i].returned = NULL;
			note_parts(search);
			return;
		}
		problem->nodes = without;
	}
	renew_parts(search);
	note_parts(search);
}

void gang_wait(struct packing *packing)
{
	const struct facts *facts = packing->facts;
	struct search search = {
		.packing = packing,
		.rests = arena_array(packing->arena, packing->problem.gang_count,
				     sizeof(*search.rests)),
		.nodes = arena_array(packing->arena, facts->worker_count, sizeof(*search.nodes)),
		.spare = arena_array(packing->arena, facts->group_count, sizeof(*search.spare)),
	};

	if (packing->termination_forbidden)
		return;
	find(&search);
	packing->gang_ends = end_waits(&search);
	/* Pools are asked for what is packed while it waits. */
	if (packing->gang_ends && (!packing->snapshot->pools || packing->offer->within_pools)) {
		end_parts(&search);
		return;
	}
	note_parts(&search);
}
