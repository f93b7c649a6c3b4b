#include "core/schedule/schedule_phases.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_try.h"

/* ---- phase: minimum per type ---- */

/* Launches the nodes that each worker type lacks to min_nodes, in whole replicas within the limits.
 * Nodes to be terminated do not count. The new nodes are inserted at the front of the list. */
static void launch_minimum(struct schedule_run *run)
{
	const struct schedule_problem *problem = run->problem;
	int64_t *missing = arena_array(run->scratch, problem->type_count + 1, sizeof(*missing));
	__typeof__(run->order) given = run->order;
	enum schedule_limit limit;

	for (size_t i = 0; i < problem->type_count; i++)
		missing[i] = problem->types[i].min_nodes;
	VEC_EACH(const struct schedule_work, work, &run->nodes)
		if (work->result.type != SCHEDULE_NO_INDEX &&
		    work->result.status != SCHEDULE_TERMINATE)
			missing[work->result.type]--;
	run->order.at = NULL;
	run->order.count = run->order.capacity = 0;
	for (size_t type = 1; type < problem->type_count; type++) {
		int64_t hosts = problem->types[type].hosts, replicas, permits;

		if (missing[type] <= 0)
			continue;
		replicas = missing[type] / hosts + (missing[type] % hosts != 0);
		permits = schedule_run_permits(run, type, SCHEDULE_PHASE_MIN, &limit);
		replicas = replicas < permits ? replicas : permits;
		for (int64_t i = 0; i < replicas * hosts; i++)
			VEC_PUSH(run->scratch, &run->order,
				 schedule_run_launch(run, type, SCHEDULE_PHASE_MIN));
	}
	for (size_t i = 0; i < given.count; i++)
		VEC_PUSH(run->scratch, &run->order, given.at[i]);
}

/* ---- phases that place ---- */

/* Assigns the rest of a shape to the last of its entries. */
static void share_left(struct schedule_leftover *leftovers, const struct schedule_list *list,
		       const struct schedule_leftover *left)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];
		int64_t units = left[i].count;

		for (size_t j = shape->entries.count; j > 0 && units > 0; j--) {
			const struct schedule_entry *entry = &shape->entries.at[j - 1];
			struct schedule_leftover *leftover = &leftovers[entry->index];

			*leftover = left[i];
			leftover->count = units < entry->count ? units : entry->count;
			units -= leftover->count;
		}
	}
}

static void make_leftovers(struct schedule_run *run, struct schedule_result *result)
{
	const struct schedule_problem *problem = run->problem;
	struct schedule_leftover *next;

	result->leftover_count = problem->gang_count + problem->demand_count;
	for (size_t i = 0; i < problem->constraint_count; i++)
		result->leftover_count += problem->constraints[i].count;
	next = arena_array(run->arena, result->leftover_count + 1, sizeof(*next));
	result->leftovers = next;
	for (size_t i = 0; i < result->leftover_count; i++)
		next[i].limit_type = SCHEDULE_NO_INDEX;
	result->constraints = arena_array(run->arena, problem->constraint_count + 1,
					  sizeof(*result->constraints));
	for (size_t i = 0; i < problem->constraint_count; i++) {
		result->constraints[i] = next;
		next += problem->constraints[i].count;
	}
	result->gangs = next;
	result->demands = next + problem->gang_count;
}

/* The requests of the problem, read before anything is placed. */
struct lists {
	struct schedule_requests **constraints;
	const size_t *order; /* in which the gangs are placed */
	struct schedule_requests *
		*gangs; /* in that order; NULL: it has several choices, read when they are tried */
	struct schedule_requests *demands;
};

/* In the order of the policy; Ray's breaks ties. */
static int compare_ordered(const void *a, const void *b)
{
	const struct schedule_shape *first = a, *second = b;

	if (first->gpus != second->gpus)
		return first->gpus < second->gpus ? 1 : -1;
	return (first->shuffled > second->shuffled) - (first->shuffled < second->shuffled);
}

static struct schedule_requests *read_list(struct schedule_run *run, struct arena *arena,
					   struct schedule_list list, enum schedule_phase phase,
					   bool atomic)
{
	const struct schedule_policy *policy = &run->policy;
	struct schedule_requests *requests;

	for (size_t i = 0; i < list.count; i++) {
		if (policy->shuffle)
			list.shapes[i].shuffled = schedule_shuffled(policy->shuffle, i);
		if (policy->gpus_first)
			list.shapes[i].gpus = ray_request_gpus(list.shapes[i].request);
	}
	sort_stable(list.shapes, list.count, sizeof(*list.shapes), compare_ordered);
	requests = schedule_requests_new(run, arena, list);
	requests->phase = phase;
	requests->atomic = atomic;
	return requests;
}

static struct schedule_requests *read_choice(struct schedule_run *run, struct arena *arena,
					     size_t gang, size_t choice)
{
	return read_list(run, arena, schedule_list_of_gang(&run->words, arena, gang, choice),
			 SCHEDULE_PHASE_GANG, true);
}

/* One list, from Ray's order to Ray's order. */
static void try_list(struct schedule_run *run, struct schedule_requests *requests,
		     struct schedule_leftover *ret_leftovers)
{
	const struct schedule_leftover *left = schedule_try(run, requests);

	if (left)
		share_left(ret_leftovers, &requests->list, left);
}

static void place_demands(struct schedule_run *run, const struct lists *lists,
			  struct schedule_result *result)
{
	if (!lists->demands->list.count)
		return;
	schedule_classes_begin(run, false);
	schedule_classes_need(run, lists->demands);
	schedule_classes_make(run);
	try_list(run, lists->demands, result->demands);
}

/* Of the nodes by their totals, for all constraints that count the same ones. */
static void make_constraint_classes(struct schedule_run *run, const struct lists *lists)
{
	const struct schedule_problem *problem = run->problem;

	schedule_run_set_source(run, true);
	schedule_classes_begin(run, problem->constraint_count > 1);
	for (size_t i = 0; i < problem->constraint_count; i++)
		if (problem->constraints[i].within_use == run->within_use)
			schedule_classes_need(run, lists->constraints[i]);
	schedule_classes_make(run);
}

/* They do not add up: each begins with the nodes without those before it. */
static void place_constraints(struct schedule_run *run, const struct lists *lists,
			      struct schedule_result *result)
{
	bool any = false;

	for (size_t i = 0; i < run->problem->constraint_count; i++) {
		bool within_use = run->problem->constraints[i].within_use;

		if (!lists->constraints[i]->list.count)
			continue;
		if (any && within_use == run->within_use) {
			schedule_classes_restore(run);
		} else {
			run->within_use = within_use;
			make_constraint_classes(run, lists);
		}
		any = true;
		try_list(run, lists->constraints[i], result->constraints[i]);
	}
	run->within_use = false;
}

/* Whether no node accepts any of the bundles by its labels, so that the choice need not be read. */
static bool is_refused(struct schedule_run *run, const struct ray_gang *gang, size_t choice)
{
	size_t count;
	const struct ray_request *requests = schedule_gang_requests(gang, choice, &count);

	for (size_t i = 0; i < count; i++)
		if ((!i || requests[i].selectors != requests[i - 1].selectors) &&
		    !schedule_classes_refuse(run, &requests[i]))
			return false;
	return count && !cpu_budget_is_cut(run->problem->cpu_budget);
}

static bool may_grow(const struct schedule_run *run, uint32_t name)
{
	const char *text = run->words.names.entries.at[name].bytes;

	return run->resizable && (strcmp(text, "CPU") == 0 || strcmp(text, "memory") == 0);
}

/* Whether each shape needs more of a name than any node has, or a new one: a gang of a name that nothing has is not
 * tried. */
static bool is_nowhere(const struct schedule_run *run, const struct schedule_list *list)
{
	ARRAY_EACH(const struct schedule_shape, shape, list->shapes, list->count) {
		bool exceeds = shape->impossible;

		for (uint32_t i = 0; i < shape->need_count; i++) {
			uint32_t name = shape->needs[i].name;

			exceeds = exceeds ||
				  (shape->needs[i].amount > run->states.most[name] &&
				   !run->words.is_implicit[name] && !may_grow(run, name));
		}
		if (!exceeds)
			return false;
	}
	return !cpu_budget_is_cut(run->problem->cpu_budget);
}

/* True: it is placed. Else the limit of the first choice that has one is reported. */
static bool place_choice(struct schedule_run *run, struct schedule_requests *requests,
			 struct schedule_leftover *leftover)
{
	size_t count = requests->list.count;
	const struct schedule_leftover *left;

	if (is_nowhere(run, &requests->list))
		return false;
	left = schedule_try(run, requests);
	if (!left)
		return true;
	for (size_t i = 0; i < count; i++)
		if (!leftover->limit && left[i].limit)
			*leftover = left[i];
	return false;
}

/* The first choice that fits. Of several each is read when it is tried, and again into memory of the run
 * when it is placed. */
static void place_gang(struct schedule_run *run, size_t index, struct schedule_requests *only,
		       struct schedule_leftover *leftover)
{
	const struct ray_gang *gang = &run->problem->gangs[index];

	for (size_t i = 0; i < schedule_gang_choices(gang); i++) {
		struct schedule_requests *requests = only;

		if (!only) {
			if (is_refused(run, gang, i)) {
				leftover->count = 1;
				continue;
			}
			requests = read_choice(run, run->attempt, index, i);
		}
		if (!requests->list.count) {
			if (!i)
				return; /* an empty one */
			continue;
		}
		if (place_choice(run, requests, leftover)) {
			*leftover = (struct schedule_leftover){ .limit_type = SCHEDULE_NO_INDEX };
			if (!only)
				run->kept.at[run->kept.count - 1] =
					read_choice(run, run->scratch, index, i);
			return;
		}
		leftover->count = 1;
	}
}

/* Of all gangs together. */
static void make_gang_classes(struct schedule_run *run, const struct lists *lists)
{
	size_t count = run->problem->gang_count;

	schedule_classes_begin(run, count > 1 || !lists->gangs[0]);
	for (size_t i = 0; i < count; i++) {
		const struct ray_gang *gang = &run->problem->gangs[lists->order[i]];

		if (lists->gangs[i]) {
			schedule_classes_need(run, lists->gangs[i]);
			continue;
		}
		for (size_t j = 0; j < schedule_gang_choices(gang); j++) {
			if (j && schedule_gang_same_amounts(gang, 0, j))
				continue;
			schedule_classes_need(run,
					      read_choice(run, run->attempt, lists->order[i], j));
			arena_reset(run->attempt);
		}
	}
	schedule_classes_make(run);
}

static void place_gangs(struct schedule_run *run, const struct lists *lists,
			struct schedule_result *result)
{
	size_t count = run->problem->gang_count;

	if (!count)
		return;
	make_gang_classes(run, lists);
	for (size_t i = 0; i < count; i++)
		place_gang(run, lists->order[i], lists->gangs[i], &result->gangs[lists->order[i]]);
}

/* ---- reading the requests ---- */

static void read_lists(struct schedule_run *run, struct lists *lists)
{
	const struct schedule_problem *problem = run->problem;

	*lists = (struct lists){ .order = schedule_gang_order(problem, run->scratch) };
	lists->constraints = arena_array(run->scratch, problem->constraint_count + 1,
					 sizeof(*lists->constraints));
	for (size_t i = 0; i < problem->constraint_count; i++) {
		const struct schedule_constraint *own = &problem->constraints[i];

		lists->constraints[i] =
			read_list(run, run->scratch,
				  schedule_list_of_demands(&run->words, own->demands, own->count),
				  SCHEDULE_PHASE_CONSTRAINT, own->atomic);
		lists->constraints[i]->list_index = i;
	}
	lists->gangs = arena_array(run->scratch, problem->gang_count + 1,
				   sizeof(struct schedule_requests *));
	for (size_t i = 0; i < problem->gang_count; i++)
		if (schedule_gang_choices(&problem->gangs[lists->order[i]]) == 1)
			lists->gangs[i] = read_choice(run, run->scratch, lists->order[i], 0);
	lists->demands = read_list(run, run->scratch,
				   schedule_list_of_demands(&run->words, problem->demands,
							    problem->demand_count),
				   SCHEDULE_PHASE_DEMAND, false);
}

/* ---- the result ---- */

static void fill_result(struct schedule_run *run, struct schedule_result *result)
{
	size_t given = run->problem->node_count;

	result->nodes = arena_array(run->arena, run->nodes.count + 1, sizeof(*result->nodes));
	VEC_EACH(struct schedule_work, work, &run->nodes) {
		work->result.placements = work->placements.at;
		work->result.placement_count = work->placements.count;
	}
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
	schedule_run_init(&run, problem, arena, &scratch, &attempt);
	run.policy = *policy;
	read_lists(&run, &lists);
	make_leftovers(&run, result);
	launch_minimum(&run);
	schedule_terminate_over_max(&run, true);
	schedule_terminate_over_max(&run, false);
	if (problem->disruption_takes_nothing)
		schedule_terminate_set_aside(&run);
	schedule_order_number(&run);
	cpu_budget_place(problem->cpu_budget, problem->may_be_cut);
	place_constraints(&run, &lists, result);
	if (lists.demands->list.count > 0 || problem->gang_count > 0)
		schedule_run_set_source(&run, false);
	if (run.policy.demands_first)
		place_demands(&run, &lists, result);
	place_gangs(&run, &lists, result);
	if (!run.policy.demands_first)
		place_demands(&run, &lists, result);
	cpu_budget_place(problem->cpu_budget, false);
	result->cut = problem->may_be_cut && cpu_budget_is_cut(problem->cpu_budget);
	if (!result->cut)
		schedule_terminate_idle(&run);
	fill_result(&run, result);
	check_result(problem, result);
	arena_done(&attempt);
	arena_done(&scratch);
	return result;
}
