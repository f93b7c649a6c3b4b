/* The phases of Ray's policy; the choice of policy, Ray's or a search for cheaper launches that serve
 * as much; and whether any node could ever serve a request. */
#include "core/schedule/schedule.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_cheapest.h"
#include "core/schedule/schedule_try.h"

/* ---- phase: minimum per type ---- */

/* Launches the nodes that each worker type lacks to min_nodes, in whole replicas within the limits.
 * Nodes to be terminated do not count. The new nodes are inserted at the front of the list. */
static void launch_minimum(struct schedule_run *run)
{
	const struct schedule_problem *problem = run->problem;
	int64_t *missing = arena_array(run->scratch, problem->type_count + 1, sizeof(*missing));
	size_t given = run->order.count, added;
	enum schedule_limit limit;

	for (size_t i = 0; i < problem->type_count; i++)
		missing[i] = problem->types[i].min_nodes;
	for (size_t i = 0; i < given; i++) {
		const struct schedule_work *work = &run->nodes.at[i];

		if (work->result.type != SCHEDULE_NO_INDEX &&
		    work->result.status != SCHEDULE_TERMINATE)
			missing[work->result.type]--;
	}
	for (size_t type = 1; type < problem->type_count; type++) {
		int64_t hosts = problem->types[type].hosts, replicas, permits;

		if (missing[type] <= 0)
			continue;
		replicas = missing[type] / hosts + (missing[type] % hosts != 0);
		permits = schedule_run_permits(run, type, true, &limit);
		replicas = replicas < permits ? replicas : permits;
		for (int64_t i = 0; i < replicas * hosts; i++)
			schedule_run_launch(run, type, SCHEDULE_PHASE_MIN);
	}
	added = run->nodes.count - given;
	for (size_t i = 0; i < added; i++)
		VEC_PUSH(run->scratch, &run->order, 0);
	if (added == 0)
		return;
	memmove(&run->order.at[added], run->order.at, given * sizeof(*run->order.at));
	for (size_t i = 0; i < added; i++)
		run->order.at[i] = (uint32_t)(given + i);
}

/* ---- phases that place ---- */

/* Assigns the rest of a shape to the last of its entries. */
static void share_left(struct schedule_leftover *leftovers, const struct schedule_list *list,
		       const struct schedule_leftover *left)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];
		int64_t units = left[i].count;

		for (size_t j = shape->entries.count; j-- > 0 && units > 0;) {
			const struct schedule_entry *entry = &shape->entries.at[j];
			struct schedule_leftover *leftover = &leftovers[entry->index];

			*leftover = left[i];
			leftover->count = units < entry->count ? units : entry->count;
			units -= leftover->count;
		}
	}
}

static struct schedule_leftover *leftovers_new(struct schedule_run *run, size_t count)
{
	struct schedule_leftover *leftovers =
		arena_array(run->arena, count + 1, sizeof(*leftovers));

	for (size_t i = 0; i < count; i++)
		leftovers[i].limit_type = SCHEDULE_NO_INDEX;
	return leftovers;
}

struct gang {
	const struct ray_gang *gang;
	size_t index;
	struct schedule_requests **choices; /* in their order */
};

/* All requests of the problem, read before anything is placed. */
struct lists {
	struct schedule_requests **constraints;
	struct gang *gangs; /* in the order in which they are placed */
	struct schedule_requests *demands;
};

/* One list, from Ray's order to Ray's order. */
static void try_alone(struct schedule_run *run, struct schedule_requests *requests,
		      struct schedule_leftover *ret_leftovers)
{
	const struct schedule_leftover *left;

	if (!requests->list.count)
		return;
	schedule_classes_make(run, &requests, 1);
	left = schedule_try(run, requests);
	if (left)
		share_left(ret_leftovers, &requests->list, left);
}

static void place_constraints(struct schedule_run *run, const struct lists *lists,
			      struct schedule_result *result)
{
	const struct schedule_problem *problem = run->problem;

	result->constraints = arena_array(run->arena, problem->constraint_count + 1,
					  sizeof(*result->constraints));
	for (size_t i = 0; i < problem->constraint_count; i++) {
		result->constraints[i] = leftovers_new(run, problem->constraints[i].count);
		if (lists->constraints[i]->list.count)
			schedule_run_set_source(run, true);
		try_alone(run, lists->constraints[i], result->constraints[i]);
	}
}

static void note_first_limit(const struct schedule_leftover *left, size_t count,
			     struct schedule_leftover *leftover)
{
	for (size_t i = 0; i < count; i++) {
		if (left[i].limit == SCHEDULE_LIMIT_NONE)
			continue;
		*leftover = left[i];
		return;
	}
}

/* The first choice that fits. Of those that do not, the limit of the first that has one is
 * reported. */
static void place_gang(struct schedule_run *run, const struct gang *gang,
		       struct schedule_leftover *leftover)
{
	if (!gang->choices[0]->list.count)
		return;
	for (size_t i = 0; i < schedule_gang_choices(gang->gang); i++) {
		const struct schedule_leftover *left;

		if (!gang->choices[i]->list.count)
			continue;
		if (run->resizable) /* the order of equal nodes changes with each try */
			schedule_classes_make(run, &gang->choices[i], 1);
		left = schedule_try(run, gang->choices[i]);
		if (!left) {
			*leftover = (struct schedule_leftover){ .limit_type = SCHEDULE_NO_INDEX };
			return;
		}
		if (leftover->limit == SCHEDULE_LIMIT_NONE)
			note_first_limit(left, gang->choices[i]->list.count, leftover);
		leftover->count = 1;
	}
}

/* The classes are made once, for the lists of all gangs together. */
static void place_gangs(struct schedule_run *run, const struct lists *lists,
			struct schedule_result *result)
{
	VEC(struct schedule_requests *) all = { .at = NULL };
	size_t count = run->problem->gang_count;

	result->gangs = leftovers_new(run, count);
	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct gang *gang = &lists->gangs[i];

		for (size_t j = 0; j < schedule_gang_choices(gang->gang); j++)
			VEC_PUSH(run->scratch, &all, gang->choices[j]);
	}
	if (!run->resizable)
		schedule_classes_make(run, all.at, all.count);
	for (size_t i = 0; i < count; i++)
		place_gang(run, &lists->gangs[i], &result->gangs[lists->gangs[i].index]);
}

static void place_demands(struct schedule_run *run, const struct lists *lists,
			  struct schedule_result *result)
{
	result->demands = leftovers_new(run, run->problem->demand_count);
	try_alone(run, lists->demands, result->demands);
}

/* ---- reading the requests ---- */

struct gang_rank {
	size_t placements, requests; /* of the deprecated list, as Ray counts */
	size_t index;
};

/* Ray's _sort_gang_resource_requests, descending; equal ones keep their order, as in Ray. */
static int compare_ranks(const void *a, const void *b)
{
	const struct gang_rank *first = a, *second = b;

	if (first->placements != second->placements)
		return first->placements < second->placements ? 1 : -1;
	return (first->requests < second->requests) - (first->requests > second->requests);
}

const size_t *schedule_gang_order(const struct schedule_problem *problem, struct arena *arena)
{
	struct gang_rank *ranks = arena_array(arena, problem->gang_count + 1, sizeof(*ranks));
	size_t *order = arena_array(arena, problem->gang_count + 1, sizeof(*order));

	for (size_t i = 0; i < problem->gang_count; i++) {
		const struct ray_gang *gang = &problem->gangs[i];

		cpu_budget_step(problem->cpu_budget);
		ranks[i] = (struct gang_rank){ .requests = gang->request_count, .index = i };
		for (size_t j = 0; j < gang->request_count; j++)
			ranks[i].placements += gang->requests[j].placement_count;
	}
	sort_stable(ranks, problem->gang_count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < problem->gang_count; i++)
		order[i] = ranks[i].index;
	return order;
}

struct ordered_shape {
	int64_t gpus;
	uint32_t place;
	struct schedule_shape shape;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered_shape *first = a, *second = b;

	if (first->gpus != second->gpus)
		return first->gpus < second->gpus ? 1 : -1;
	return (first->place > second->place) - (first->place < second->place);
}

static int64_t gpus_of(const struct schedule_shape *shape)
{
	int64_t gpus = 0;

	for (uint32_t i = 0; i < shape->piece_count; i++)
		gpus += shape->pieces[i].amount * shape->pieces[i].count;
	return gpus;
}

/* Puts the shapes into the order of the policy; Ray's breaks ties. */
static struct schedule_requests *read_list(struct schedule_run *run, struct schedule_list list,
					   enum schedule_phase phase, bool atomic)
{
	const struct schedule_policy *policy = &run->policy;
	struct schedule_requests *requests;
	struct ordered_shape *ordered;

	if (policy->gpus_first || policy->shuffle) {
		ordered = arena_array(run->scratch, list.count + 1, sizeof(*ordered));
		for (size_t i = 0; i < list.count; i++) {
			const struct schedule_shape *shape = &list.shapes[i];

			ordered[i].shape = *shape;
			if (policy->shuffle)
				ordered[i].place = schedule_shuffled(policy->shuffle, i);
			if (policy->gpus_first)
				ordered[i].gpus = gpus_of(shape);
		}
		sort_stable(ordered, list.count, sizeof(*ordered), compare_ordered);
		for (size_t i = 0; i < list.count; i++)
			list.shapes[i] = ordered[i].shape;
	}
	requests = schedule_requests_new(run, list);
	requests->phase = phase;
	requests->atomic = atomic;
	return requests;
}

static void read_lists(struct schedule_run *run, struct lists *lists)
{
	const struct schedule_problem *problem = run->problem;
	const size_t *order = schedule_gang_order(problem, run->scratch);

	lists->constraints = arena_array(run->scratch, problem->constraint_count + 1,
					 sizeof(*lists->constraints));
	for (size_t i = 0; i < problem->constraint_count; i++) {
		const struct schedule_constraint *own = &problem->constraints[i];

		lists->constraints[i] = read_list(
			run, schedule_list_of_demands(&run->words, own->demands, own->count),
			SCHEDULE_PHASE_CONSTRAINT, own->atomic);
		lists->constraints[i]->list_index = i;
	}
	lists->gangs = arena_array(run->scratch, problem->gang_count + 1, sizeof(*lists->gangs));
	for (size_t i = 0; i < problem->gang_count; i++) {
		struct gang *gang = &lists->gangs[i];

		cpu_budget_step(problem->cpu_budget);
		gang->gang = &problem->gangs[gang->index = order[i]];
		gang->choices = arena_array(run->scratch, schedule_gang_choices(gang->gang),
					    sizeof(*gang->choices));
		for (size_t j = 0; j < schedule_gang_choices(gang->gang); j++)
			gang->choices[j] =
				read_list(run, schedule_list_of_gang(&run->words, order[i], j),
					  SCHEDULE_PHASE_GANG, true);
	}
	lists->demands = read_list(
		run, schedule_list_of_demands(&run->words, problem->demands, problem->demand_count),
		SCHEDULE_PHASE_DEMAND, false);
}

/* ---- the result ---- */

static void fill_result(struct schedule_run *run, struct schedule_result *result)
{
	size_t given = run->problem->node_count;

	result->nodes = arena_array(run->arena, run->nodes.count + 1, sizeof(*result->nodes));
	for (size_t i = 0; i < given; i++)
		result->nodes[i] = run->nodes.at[i].result;
	result->node_count = given;
	for (size_t type = 0; type < run->problem->type_count; type++) {
		if (!run->launches[type])
			continue;
		for (size_t i = given; i < run->nodes.count; i++)
			if (run->nodes.at[i].result.type == type && !run->nodes.at[i].cancelled)
				result->nodes[result->node_count++] = run->nodes.at[i].result;
	}
	result->launches = run->launches;
}

static void check_node(const struct schedule_problem *problem,
		       const struct schedule_node_result *node, size_t given)
{
	CHECK(node->cause == SCHEDULE_CAUSE_NONE || node->status == SCHEDULE_TERMINATE);
	for (size_t i = 0; i < node->placement_count; i++)
		CHECK(node->placements[i].count > 0);
	if (given < problem->node_count) {
		CHECK(node->worker == problem->nodes[given].worker);
		CHECK(node->type == problem->nodes[given].type);
		CHECK(node->status != SCHEDULE_LAUNCH);
		CHECK(!node->resized || (node->needed && problem->nodes[given].resizable));
		return;
	}
	CHECK(node->worker == SCHEDULE_NO_INDEX && node->status == SCHEDULE_LAUNCH);
	CHECK(node->type > 0 && node->type < problem->type_count); /* heads are never launched */
}

static void check_leftover(const struct schedule_problem *problem,
			   const struct schedule_leftover *left, int64_t most)
{
	CHECK(left->count >= 0 && left->count <= (most > 0 ? most : 0));
	CHECK(left->limit_type == SCHEDULE_NO_INDEX || left->limit_type < problem->type_count);
}

/* Invariants of every result. */
static void check_result(const struct schedule_problem *problem,
			 const struct schedule_result *result)
{
	size_t nodes = problem->node_count;

	for (size_t i = 0; i < problem->type_count; i++) {
		CHECK(result->launches[i] >= 0);
		nodes += (size_t)result->launches[i];
	}
	CHECK(result->node_count == nodes);
	for (size_t i = 0; i < nodes; i++)
		check_node(problem, &result->nodes[i], i);
	for (size_t i = 0; i < problem->constraint_count; i++)
		for (size_t j = 0; j < problem->constraints[i].count; j++)
			check_leftover(problem, &result->constraints[i][j],
				       problem->constraints[i].demands[j].count);
	for (size_t i = 0; i < problem->gang_count; i++)
		check_leftover(problem, &result->gangs[i], 1);
	for (size_t i = 0; i < problem->demand_count; i++)
		check_leftover(problem, &result->demands[i], problem->demands[i].count);
}

/* The phases in Ray's order: minimum launches, maxima per type and in total, cluster constraints,
 * gangs, demands, idle termination. Constraints are packed on totals, and the source is then set to
 * available amounts for gangs and demands. */
struct schedule_result *schedule_phases(const struct schedule_problem *problem,
					const struct schedule_policy *policy, struct arena *arena)
{
	struct arena scratch = ARENA_INIT, attempt = ARENA_INIT;
	struct schedule_result *result = ARENA_NEW(arena, struct schedule_result);
	struct schedule_run run;
	struct lists lists;

	for (size_t i = 0; i < problem->type_count; i++)
		CHECK(problem->types[i].hosts >= 1);
	cpu_budget_own(problem->cpu_budget, &scratch);
	cpu_budget_own(problem->cpu_budget, &attempt);
	schedule_run_init(&run, problem, arena, &scratch, &attempt);
	run.policy = *policy;
	read_lists(&run, &lists);
	launch_minimum(&run);
	schedule_terminate_over_max(&run, true);
	schedule_terminate_over_max(&run, false);
	if (problem->disruption_takes_nothing)
		schedule_terminate_set_aside(&run);
	schedule_order_number(&run);
	if (problem->cpu_budget)
		problem->cpu_budget->placing = problem->may_be_cut;
	place_constraints(&run, &lists, result);
	if (lists.demands->list.count > 0 || problem->gang_count > 0)
		schedule_run_set_source(&run, false);
	if (run.policy.demands_first)
		place_demands(&run, &lists, result);
	place_gangs(&run, &lists, result);
	if (!run.policy.demands_first)
		place_demands(&run, &lists, result);
	if (problem->cpu_budget)
		problem->cpu_budget->placing = false;
	result->cut = problem->may_be_cut && cpu_budget_is_cut(problem->cpu_budget);
	if (!result->cut)
		schedule_terminate_idle(&run);
	fill_result(&run, result);
	check_result(problem, result);
	cpu_budget_done(problem->cpu_budget, &attempt);
	cpu_budget_done(problem->cpu_budget, &scratch);
	return result;
}
