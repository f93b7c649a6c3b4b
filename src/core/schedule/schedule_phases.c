#include "core/schedule/schedule_phases.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_requests.h"
#include "core/schedule/schedule_run.h"
#include "core/schedule/schedule_terminate.h"
#include "core/schedule/schedule_try.h"

/* ---- phase: minimum per type ---- */

/* Launches the nodes that each worker type lacks to min_nodes, in whole replicas within the limits.
 * Nodes to be terminated do not count. The new nodes are inserted at the front of the list. */
static void launch_minimum(struct schedule_run *run)
{
	const struct schedule_problem *problem = run->problem;
	int64_t *missing = arena_array(run->scratch, problem->type_count + 1, sizeof(*missing));
	size_t given = run->order.count, added;

	for (size_t i = 0; i < problem->type_count; i++)
		missing[i] = problem->types[i].min_nodes;
	for (size_t i = 0; i < given; i++) {
		const struct schedule_work *work = &run->nodes.at[i];

		if (work->type != SCHEDULE_NO_INDEX && work->status != SCHEDULE_TERMINATE)
			missing[work->type]--;
	}
	for (size_t type = 1; type < problem->type_count; type++) {
		int64_t hosts = problem->types[type].hosts, replicas, permits;

		if (missing[type] <= 0)
			continue;
		replicas = missing[type] / hosts + (missing[type] % hosts != 0);
		permits = schedule_run_permits_minimum(run, type);
		replicas = replicas < permits ? replicas : permits;
		schedule_run_count(run, type, replicas);
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
		       const struct schedule_try_left *left)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];
		int64_t units = left->counts[i];

		for (size_t j = shape->entries.count; j-- > 0 && units > 0;) {
			const struct schedule_entry *entry = &shape->entries.at[j];
			struct schedule_leftover *leftover = &leftovers[entry->index];

			leftover->count = units < entry->count ? units : entry->count;
			leftover->limit = left->limits[i];
			leftover->limit_type = left->limit_types[i];
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

/* All requests of the problem, read before anything is placed. */
struct lists {
	struct schedule_list *constraints;
	struct gang *gangs; /* in the order in which they are placed */
	struct schedule_list demands;
};

/* One list, from Ray's order to Ray's order. */
static struct schedule_try_left try_alone(struct schedule_run *run,
					  const struct schedule_list *list,
					  const struct schedule_try_source *source)
{
	const struct schedule_requests *requests = schedule_requests_new(run, list);
	struct schedule_try_left left;

	schedule_order_settle(run);
	schedule_classes_make(run, &requests, 1);
	left = schedule_try(run, requests, source);
	schedule_order_settle(run);
	return left;
}

static void place_constraints(struct schedule_run *run, const struct lists *lists,
			      struct schedule_result *result)
{
	const struct schedule_problem *problem = run->problem;

	result->constraints = arena_array(run->arena, problem->constraint_count + 1,
					  sizeof(*result->constraints));
	for (size_t i = 0; i < problem->constraint_count; i++) {
		const struct schedule_constraint *constraint = &problem->constraints[i];
		struct schedule_try_source source = {
			.phase = SCHEDULE_PHASE_CONSTRAINT,
			.list_index = i,
			.atomic = constraint->atomic,
		};
		const struct schedule_list *list = &lists->constraints[i];
		struct schedule_try_left left;

		result->constraints[i] = leftovers_new(run, constraint->count);
		if (!list->count)
			continue;
		schedule_run_set_source(run, true);
		left = try_alone(run, list, &source);
		share_left(result->constraints[i], list, &left);
	}
}

struct gang {
	const struct ray_gang *gang;
	size_t index;
	size_t placement_count;                    /* of the deprecated list, as Ray counts */
	struct schedule_list *lists;               /* one for each choice, in their order */
	const struct schedule_requests **requests; /* the same; set by place_gangs */
};

/* Ray's _sort_gang_resource_requests, descending; equal ones keep their order, as in Ray. */
static int compare_gangs(const void *a, const void *b)
{
	const struct gang *first = a, *second = b;

	if (first->placement_count != second->placement_count)
		return first->placement_count < second->placement_count ? 1 : -1;
	return (first->gang->request_count < second->gang->request_count) -
	       (first->gang->request_count > second->gang->request_count);
}

static struct schedule_list *lists_of_gang(struct schedule_run *run, size_t index)
{
	size_t count = schedule_gang_choices(&run->problem->gangs[index]);
	struct schedule_list *lists = arena_array(run->scratch, count, sizeof(*lists));

	for (size_t i = 0; i < count; i++)
		lists[i] = schedule_list_of_gang(&run->words, index, i);
	return lists;
}

static struct gang *sort_gangs(struct schedule_run *run)
{
	const struct schedule_problem *problem = run->problem;
	struct gang *gangs = arena_array(run->scratch, problem->gang_count + 1, sizeof(*gangs));

	for (size_t i = 0; i < problem->gang_count; i++) {
		const struct ray_gang *gang = &problem->gangs[i];

		cpu_budget_step(problem->cpu_budget);
		gangs[i].gang = gang;
		gangs[i].index = i;
		gangs[i].lists = lists_of_gang(run, i);
		for (size_t j = 0; j < gang->request_count; j++)
			gangs[i].placement_count += gang->requests[j].placement_count;
	}
	sort_stable(gangs, problem->gang_count, sizeof(*gangs), compare_gangs);
	return gangs;
}

/* Reports the limit of the first choice that has one. */
static void note_gang_left(struct schedule_leftover *leftover, const struct schedule_list *list,
			   const struct schedule_try_left *left)
{
	leftover->count = 1;
	for (size_t i = 0; i < list->count && leftover->limit == SCHEDULE_LIMIT_NONE; i++) {
		if (left->limits[i] == SCHEDULE_LIMIT_NONE)
			continue;
		leftover->limit = left->limits[i];
		leftover->limit_type = left->limit_types[i];
	}
}

static void place_gang(struct schedule_run *run, const struct gang *gang,
		       struct schedule_leftover *leftover)
{
	const struct schedule_try_source source = { .phase = SCHEDULE_PHASE_GANG, .atomic = true };

	if (!gang->lists[0].count)
		return;
	for (size_t i = 0; i < schedule_gang_choices(gang->gang); i++) {
		struct schedule_try_left left;

		if (!gang->lists[i].count)
			continue;
		left = schedule_try(run, gang->requests[i], &source);
		if (!left.any) {
			*leftover = (struct schedule_leftover){ .limit_type = SCHEDULE_NO_INDEX };
			return;
		}
		note_gang_left(leftover, &gang->lists[i], &left);
	}
}

/* Makes the classes for the lists of all gangs together. */
static void make_classes(struct schedule_run *run, struct gang *gangs)
{
	size_t count = run->problem->gang_count;
	VEC(const struct schedule_requests *) all = { .at = NULL };

	for (size_t i = 0; i < count; i++) {
		size_t choices = schedule_gang_choices(gangs[i].gang);

		gangs[i].requests = arena_array(run->scratch, choices, sizeof(*gangs[i].requests));
		for (size_t j = 0; j < choices; j++) {
			gangs[i].requests[j] = schedule_requests_new(run, &gangs[i].lists[j]);
			VEC_PUSH(run->scratch, &all, gangs[i].requests[j]);
		}
	}
	schedule_classes_make(run, all.at, all.count);
}

static void place_gangs(struct schedule_run *run, const struct lists *lists,
			struct schedule_result *result)
{
	struct gang *gangs = lists->gangs;

	result->gangs = leftovers_new(run, run->problem->gang_count);
	if (!run->problem->gang_count)
		return;
	schedule_order_settle(run);
	make_classes(run, gangs);
	for (size_t i = 0; i < run->problem->gang_count; i++)
		place_gang(run, &gangs[i], &result->gangs[gangs[i].index]);
	schedule_order_settle(run);
}

static void place_demands(struct schedule_run *run, const struct lists *lists,
			  struct schedule_result *result)
{
	const struct schedule_try_source source = { .phase = SCHEDULE_PHASE_DEMAND };
	struct schedule_try_left left;

	result->demands = leftovers_new(run, run->problem->demand_count);
	if (!lists->demands.count)
		return;
	left = try_alone(run, &lists->demands, &source);
	share_left(result->demands, &lists->demands, &left);
}

static int64_t shape_gpus(const struct schedule_shape *shape)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < shape->piece_count; i++)
		sum += shape->pieces[i].amount * shape->pieces[i].count;
	return sum;
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

/* Puts the shapes into the order of the policy; Ray's breaks ties. */
static void sort_by_policy(struct schedule_run *run, const struct schedule_list *list)
{
	const struct schedule_policy *policy = &run->policy;
	struct ordered_shape *ordered =
		arena_array(run->scratch, list->count + 1, sizeof(*ordered));

	for (size_t i = 0; i < list->count; i++)
		ordered[i] = (struct ordered_shape){
			.gpus = policy->gpus_first ? shape_gpus(&list->shapes[i]) : 0,
			.place = policy->shuffle ? schedule_shuffled(policy->shuffle, i) : 0,
			.shape = list->shapes[i],
		};
	sort_stable(ordered, list->count, sizeof(*ordered), compare_ordered);
	for (size_t i = 0; i < list->count; i++)
		list->shapes[i] = ordered[i].shape;
}

static void read_lists(struct schedule_run *run, struct lists *lists)
{
	const struct schedule_problem *problem = run->problem;

	lists->constraints = arena_array(run->scratch, problem->constraint_count + 1,
					 sizeof(*lists->constraints));
	for (size_t i = 0; i < problem->constraint_count; i++)
		lists->constraints[i] = schedule_list_of_demands(&run->words,
								 problem->constraints[i].demands,
								 problem->constraints[i].count);
	lists->gangs = sort_gangs(run);
	lists->demands =
		schedule_list_of_demands(&run->words, problem->demands, problem->demand_count);
	if (!run->policy.gpus_first && !run->policy.shuffle)
		return;
	for (size_t i = 0; i < problem->constraint_count; i++)
		sort_by_policy(run, &lists->constraints[i]);
	for (size_t i = 0; i < problem->gang_count; i++)
		for (size_t j = 0; j < schedule_gang_choices(lists->gangs[i].gang); j++)
			sort_by_policy(run, &lists->gangs[i].lists[j]);
	sort_by_policy(run, &lists->demands);
}

/* ---- the result ---- */

static void set_placements(struct schedule_run *run, struct schedule_node_result *node,
			   const struct schedule_chunk *latest)
{
	struct schedule_placement *all;
	size_t at = 0;

	if (!latest)
		return;
	if (!latest->before) {
		node->placements = latest->at;
		node->placement_count = latest->count;
		return;
	}
	for (const struct schedule_chunk *chunk = latest; chunk; chunk = chunk->before)
		node->placement_count += chunk->count;
	all = arena_array(run->arena, node->placement_count, sizeof(*all));
	at = node->placement_count;
	for (const struct schedule_chunk *chunk = latest; chunk; chunk = chunk->before) {
		at -= chunk->count;
		memcpy(&all[at], chunk->at, chunk->count * sizeof(*all));
	}
	node->placements = all;
}

static void add_result(struct schedule_run *run, struct schedule_result *result,
		       const struct schedule_work *work)
{
	struct schedule_node_result *node = &result->nodes[result->node_count++];

	*node = (struct schedule_node_result){
		.type = work->type,
		.worker = SCHEDULE_NO_INDEX,
		.status = work->status,
		.cause = work->cause,
		.launch_phase = work->launch_phase,
		.needed = work->placements != NULL,
	};
	if (work->given != SCHEDULE_NO_INDEX)
		node->worker = run->problem->nodes[work->given].worker;
	set_placements(run, node, work->placements);
}

static void fill_result(struct schedule_run *run, struct schedule_result *result)
{
	size_t given = run->problem->node_count;

	result->nodes = arena_array(run->arena, run->nodes.count + 1, sizeof(*result->nodes));
	for (size_t i = 0; i < given; i++)
		add_result(run, result, &run->nodes.at[i]);
	for (size_t type = 0; type < run->problem->type_count; type++)
		for (size_t i = given; i < run->nodes.count && run->launches[type]; i++)
			if (run->nodes.at[i].type == type && !run->nodes.at[i].cancelled)
				add_result(run, result, &run->nodes.at[i]);
	result->launches = run->launches;
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
	for (size_t i = 0; i < problem->gang_count; i++)
		CHECK(result->gangs[i].count == 0 || result->gangs[i].count == 1);
	for (size_t i = 0; i < problem->demand_count; i++)
		CHECK(result->demands[i].count <=
		      (problem->demands[i].count > 0 ? problem->demands[i].count : 0));
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
	schedule_terminate_over_type_max(&run);
	schedule_terminate_over_max(&run);
	if (problem->disruption_takes_nothing)
		schedule_terminate_set_aside(&run);
	place_constraints(&run, &lists, result);
	schedule_run_set_source(&run, false);
	if (run.policy.demands_first)
		place_demands(&run, &lists, result);
	place_gangs(&run, &lists, result);
	if (!run.policy.demands_first)
		place_demands(&run, &lists, result);
	schedule_terminate_idle(&run);
	fill_result(&run, result);
	check_result(problem, result);
	cpu_budget_done(problem->cpu_budget, &attempt);
	cpu_budget_done(problem->cpu_budget, &scratch);
	return result;
}
