#include <string.h>

#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_cheapest.h"

/* A launch that would wait costs so many times as much. */
#define SCARCE_COST 1000

static void find_limits(struct schedule_trial *trial)
{
	const struct schedule_problem *problem = trial->problem;

	for (size_t i = 1; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t most = type->has_pool && type->pool_nodes < type->max_nodes ?
				       type->pool_nodes :
				       type->max_nodes;
		int64_t room = type->launch_held ? 0 : most - trial->given[i];

		room = room > SCHEDULE_NEW_NODES_MAX ? SCHEDULE_NEW_NODES_MAX : room;
		trial->most[i] = room > 0 ? room / type->hosts * type->hosts : 0;
		/* The minimum is held against no maximum. */
		if (trial->most[i] < trial->minimum[i])
			trial->most[i] = trial->minimum[i];
	}
}

void schedule_trial_init(struct schedule_trial *trial, const struct schedule_problem *problem,
			 const struct schedule_result *ray, struct arena *arena)
{
	size_t types = problem->type_count + 1;

	*trial = (struct schedule_trial){ .problem = problem };
	trial->given = arena_array(arena, types, sizeof(*trial->given));
	trial->minimum = arena_array(arena, types, sizeof(*trial->minimum));
	trial->most = arena_array(arena, types, sizeof(*trial->most));
	for (size_t i = 0; i < problem->node_count; i++) {
		size_t type = problem->nodes[i].type;

		if (type != SCHEDULE_NO_INDEX)
			trial->given[type]++;
	}
	for (size_t i = problem->node_count; i < ray->node_count; i++)
		if (ray->nodes[i].launch_phase == SCHEDULE_PHASE_MIN)
			trial->minimum[ray->nodes[i].type]++;
	find_limits(trial);
}

bool schedule_trial_allows(const struct schedule_trial *trial, const int64_t *launches)
{
	const struct schedule_problem *problem = trial->problem;
	__int128 nodes = 0, gpus = 0;

	for (size_t i = 0; i < problem->type_count; i++) {
		if (launches[i] > trial->most[i])
			return false;
		nodes += launches[i];
		gpus += (__int128)launches[i] * problem->types[i].gpu_amount;
	}
	if (nodes > SCHEDULE_NEW_NODES_MAX)
		return false;
	if (problem->has_gpu_budget && gpus > problem->gpu_budget)
		return false;
	return !problem->has_max_nodes ||
	       nodes + (__int128)problem->node_count <= problem->max_nodes || nodes == 0;
}

/* Sets the nodes of ret_problem: by type, each type followed by its launches, then those of unknown
 * type: the order in which a decision lists workers. Returns the sources: index of the given node;
 * NO_INDEX: a launch. */
static size_t *list_nodes(const struct schedule_trial *trial, const int64_t *launches,
			  struct schedule_problem *ret_problem, struct arena *arena)
{
	const struct schedule_problem *problem = trial->problem;
	size_t *next = arena_array(arena, problem->type_count + 1, sizeof(*next));
	size_t count = problem->node_count, *sources;
	struct schedule_node *nodes;

	for (size_t i = 0; i < problem->type_count; i++)
		count += (size_t)launches[i];
	nodes = arena_array(arena, count + 1, sizeof(*nodes));
	sources = arena_array(arena, count + 1, sizeof(*sources));
	ret_problem->nodes = nodes;
	ret_problem->node_count = count;
	count = 0;
	for (size_t type = 0; type < problem->type_count; type++) {
		const struct schedule_type *kind = &problem->types[type];

		next[type] = count;
		count += (size_t)trial->given[type];
		for (int64_t i = 0; i < launches[type]; i++) {
			sources[count] = SCHEDULE_NO_INDEX;
			nodes[count++] = (struct schedule_node){
				.type = type,
				.worker = SCHEDULE_NO_INDEX,
				.total = kind->resources,
				.available = kind->resources,
				.labels = kind->labels,
				/* Replicas of the problem are numbered from 0. */
				.replica = SCHEDULE_NO_INDEX -
					   (kind->hosts > 1 ? 1 + (size_t)(i / kind->hosts) : 0),
			};
		}
	}
	next[problem->type_count] = count;
	for (size_t i = 0; i < problem->node_count; i++) {
		size_t type = problem->nodes[i].type;
		size_t at = next[type == SCHEDULE_NO_INDEX ? problem->type_count : type]++;

		sources[at] = i;
		nodes[at] = problem->nodes[i];
	}
	return sources;
}

void schedule_trial_next(const struct schedule_trial *trial, const int64_t *launches,
			 struct schedule_problem *ret_problem, struct arena *arena)
{
	*ret_problem = *trial->problem;
	list_nodes(trial, launches, ret_problem, arena);
	for (size_t i = 0; i < trial->problem->type_count; i++)
		ret_problem->gpu_budget -= launches[i] * trial->problem->types[i].gpu_amount;
}

/* Adds one replica to launch, after the existing nodes, if it is needed. */
static void add_launches(const struct schedule_trial *trial, struct schedule_result *result,
			 const struct schedule_node_result *nodes, int64_t count)
{
	bool needed = result->launches[nodes->type] < trial->minimum[nodes->type];

	for (int64_t i = 0; i < count; i++)
		needed = needed || nodes[i].placement_count;
	if (!needed)
		return;
	for (int64_t i = 0; i < count; i++) {
		struct schedule_node_result *node = &result->nodes[result->node_count++];
		int64_t number = result->launches[nodes[i].type]++;

		*node = nodes[i];
		node->worker = SCHEDULE_NO_INDEX;
		node->status = SCHEDULE_LAUNCH;
		if (number < trial->minimum[node->type])
			node->launch_phase = SCHEDULE_PHASE_MIN;
		else
			node->launch_phase = node->placement_count ? node->placements[0].phase :
								     SCHEDULE_PHASE_DEMAND;
	}
}

struct schedule_result *schedule_trial_run(const struct schedule_trial *trial,
					   const int64_t *launches,
					   const struct schedule_policy *policy,
					   struct arena *arena)
{
	struct schedule_problem problem = *trial->problem;
	struct schedule_type *types = arena_array(arena, problem.type_count + 1, sizeof(*types));
	size_t *sources = list_nodes(trial, launches, &problem, arena);
	const struct schedule_result *packed;
	struct schedule_result *result = ARENA_NEW(arena, struct schedule_result);

	memcpy(types, problem.types, problem.type_count * sizeof(*types));
	for (size_t i = 0; i < problem.type_count; i++)
		types[i].launch_held = true;
	problem.types = types;
	packed = schedule_phases(&problem, policy, arena);
	*result = *packed;
	result->nodes = arena_array(arena, packed->node_count + 1, sizeof(*result->nodes));
	result->node_count = trial->problem->node_count;
	result->launches = arena_array(arena, problem.type_count + 1, sizeof(*result->launches));
	for (size_t i = 0; i < packed->node_count;) {
		int64_t hosts;

		if (sources[i] != SCHEDULE_NO_INDEX) {
			result->nodes[sources[i]] = packed->nodes[i];
			i++;
			continue;
		}
		hosts = types[packed->nodes[i].type].hosts;
		add_launches(trial, result, &packed->nodes[i], hosts);
		i += (size_t)hosts;
	}
	return result;
}

/* ---- comparing ---- */

bool schedule_trial_launches_any(const struct schedule_problem *problem, const int64_t *launches)
{
	for (size_t i = 0; i < problem->type_count; i++)
		if (launches[i])
			return true;
	return false;
}

bool schedule_trial_launches_fewer(const struct schedule_problem *problem, const int64_t *a,
				   const int64_t *b)
{
	bool fewer = false;

	for (size_t i = 0; i < problem->type_count; i++) {
		if (a[i] > b[i])
			return false;
		fewer = fewer || a[i] < b[i];
	}
	return fewer;
}

static __int128 cost_of_nodes(const struct schedule_type *type, int64_t nodes, int64_t supplied)
{
	int64_t over = type->scarce ? nodes - (supplied > 0 ? supplied : 0) : 0;

	return (__int128)type->cost * nodes +
	       (over > 0 ? (__int128)type->cost * (SCARCE_COST - 1) * over : 0);
}

__int128 schedule_trial_cost_of(const struct schedule_type *type, int64_t nodes)
{
	return cost_of_nodes(type, nodes, type->supplied_nodes - type->given_nodes);
}

__int128 schedule_trial_cost(const struct schedule_problem *problem, const int64_t *launches)
{
	__int128 sum = 0;

	for (size_t i = 0; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];

		sum += cost_of_nodes(type, launches[i],
				     schedule_supplied(problem, i, launches, true) -
					     type->given_nodes);
	}
	return sum;
}

static bool leaves_no_more(const struct schedule_leftover *a, const struct schedule_leftover *b,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i].count > b[i].count)
			return false;
	return true;
}

/* Gangs and constraints. */
static bool serves_held(const struct schedule_problem *problem, const struct schedule_result *a,
			const struct schedule_result *b)
{
	for (size_t i = 0; i < problem->constraint_count; i++)
		if (!leaves_no_more(a->constraints[i], b->constraints[i],
				    problem->constraints[i].count))
			return false;
	return leaves_no_more(a->gangs, b->gangs, problem->gang_count);
}

bool schedule_trial_serves(const struct schedule_problem *problem, const struct schedule_result *a,
			   const struct schedule_result *b)
{
	return serves_held(problem, a, b) &&
	       leaves_no_more(a->demands, b->demands, problem->demand_count);
}

static __int128 sum_left(const struct schedule_leftover *leftovers, size_t count)
{
	__int128 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += leftovers[i].count;
	return sum;
}

__int128 schedule_trial_left(const struct schedule_problem *problem,
			     const struct schedule_result *result)
{
	__int128 sum = sum_left(result->gangs, problem->gang_count) +
		       sum_left(result->demands, problem->demand_count);

	for (size_t i = 0; i < problem->constraint_count; i++)
		sum += sum_left(result->constraints[i], problem->constraints[i].count);
	return sum;
}

bool schedule_trial_serves_as_many(const struct schedule_problem *problem,
				   const struct schedule_result *a, const struct schedule_result *b)
{
	__int128 gpus = 0;

	for (size_t i = 0; i < problem->demand_count; i++)
		gpus += (__int128)(a->demands[i].count - b->demands[i].count) *
			ray_request_gpus(problem->demands[i].request);
	return serves_held(problem, a, b) && gpus <= 0 &&
	       sum_left(a->demands, problem->demand_count) <=
		       sum_left(b->demands, problem->demand_count);
}

/* The cost of so many GPUs where they cost least. Nodes without GPUs may cost nothing. */
static __int128 cost_of_gpus(const struct schedule_problem *problem, __int128 gpus)
{
	__int128 least = -1;

	for (size_t i = 1; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t each = resources_amount(&type->resources, "GPU", 0);
		__int128 cost = schedule_trial_cost_of(type, 1);

		if (type->launch_held || each <= 0 ||
		    (cost > 0 && gpus > ((__int128)1 << 126) / cost))
			continue;
		cost = gpus * cost / each;
		if (least < 0 || cost < least)
			least = cost;
	}
	return least;
}

__int128 schedule_trial_least_cost(const struct schedule_trial *trial,
				   const struct schedule_result *ray)
{
	const struct schedule_problem *problem = trial->problem;
	__int128 gpus = 0, cost, minimum = schedule_trial_cost(problem, trial->minimum);

	for (size_t i = 0; i < ray->node_count; i++) {
		const struct schedule_node_result *node = &ray->nodes[i];

		if (i < problem->node_count)
			gpus -= resources_amount(&problem->nodes[i].available, "GPU", 0);
		for (size_t j = 0; j < node->placement_count; j++)
			if (node->placements[j].phase != SCHEDULE_PHASE_CONSTRAINT)
				gpus += (__int128)node->placements[j].count *
					ray_request_gpus(node->placements[j].bundle);
	}
	cost = gpus > 0 ? cost_of_gpus(problem, gpus) : 0;
	return cost > minimum ? cost : minimum;
}
