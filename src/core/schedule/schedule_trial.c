#include "core/schedule/schedule_trial.h"

#include <string.h>

#include "core/schedule/schedule_phases.h"

void schedule_trial_init(struct schedule_trial *trial, const struct schedule_problem *problem,
			 const struct schedule_result *ray, struct arena *arena)
{
	size_t types = problem->type_count + 1;

	*trial = (struct schedule_trial){ .problem = problem };
	trial->given = arena_array(arena, types, sizeof(*trial->given));
	trial->minimum = arena_array(arena, types, sizeof(*trial->minimum));
	for (size_t i = 0; i < problem->node_count; i++) {
		size_t type = problem->nodes[i].type;

		if (type != SCHEDULE_NO_INDEX)
			trial->given[type]++;
	}
	for (size_t i = problem->node_count; i < ray->node_count; i++)
		if (ray->nodes[i].launch_phase == SCHEDULE_PHASE_MIN)
			trial->minimum[ray->nodes[i].type]++;
}

static size_t count_all(const struct schedule_trial *trial, const int64_t *launches)
{
	size_t count = trial->problem->node_count;

	for (size_t i = 0; i < trial->problem->type_count; i++)
		count += (size_t)launches[i];
	return count;
}

static struct schedule_node starting_node(const struct schedule_problem *problem, size_t type,
					  int64_t number)
{
	const struct schedule_type *kind = &problem->types[type];
	int64_t replica = number / kind->hosts;

	return (struct schedule_node){
		.type = type,
		.worker = SCHEDULE_NO_INDEX,
		.total = kind->resources,
		.available = kind->resources,
		.labels = kind->labels,
		/* Replicas of the problem are numbered from 0. */
		.replica = SCHEDULE_NO_INDEX - (kind->hosts > 1 ? 1 + (size_t)replica : 0),
	};
}

/* The nodes by type, each type followed by its launches, then those of unknown type: the order in
 * which a decision lists workers. sources: index of the given node; NO_INDEX: a launch. */
static size_t list_nodes(const struct schedule_trial *trial, const int64_t *launches,
			 struct schedule_node *nodes, size_t *sources, struct arena *arena)
{
	const struct schedule_problem *problem = trial->problem;
	size_t *next = arena_array(arena, problem->type_count + 1, sizeof(*next));
	size_t count = 0;

	for (size_t type = 0; type < problem->type_count; type++) {
		next[type] = count;
		count += (size_t)trial->given[type];
		for (int64_t i = 0; i < launches[type]; i++) {
			sources[count] = SCHEDULE_NO_INDEX;
			nodes[count++] = starting_node(problem, type, i);
		}
	}
	next[problem->type_count] = count;
	for (size_t i = 0; i < problem->node_count; i++) {
		size_t type = problem->nodes[i].type;
		size_t at = next[type == SCHEDULE_NO_INDEX ? problem->type_count : type]++;

		sources[at] = i;
		nodes[at] = problem->nodes[i];
	}
	return next[problem->type_count];
}

void schedule_trial_next(const struct schedule_trial *trial, const int64_t *launches,
			 struct schedule_problem *ret_problem, struct arena *arena)
{
	size_t count = count_all(trial, launches);
	struct schedule_node *nodes = arena_array(arena, count + 1, sizeof(*nodes));
	size_t *sources = arena_array(arena, count + 1, sizeof(*sources));

	*ret_problem = *trial->problem;
	ret_problem->nodes = nodes;
	ret_problem->node_count = list_nodes(trial, launches, nodes, sources, arena);
	for (size_t i = 0; i < trial->problem->type_count; i++)
		ret_problem->gpu_budget -= launches[i] * trial->problem->types[i].gpu_amount;
}

static struct schedule_result *result_new(const struct schedule_trial *trial,
					  const struct schedule_result *packed, size_t count,
					  struct arena *arena)
{
	struct schedule_result *result = ARENA_NEW(arena, struct schedule_result);

	*result = *packed;
	result->nodes = arena_array(arena, count + 1, sizeof(*result->nodes));
	result->node_count = trial->problem->node_count;
	result->launches =
		arena_array(arena, trial->problem->type_count + 1, sizeof(*result->launches));
	return result;
}

static bool any_placed(const struct schedule_node_result *nodes, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (nodes[i].placement_count)
			return true;
	return false;
}

/* Adds one replica to launch, after the existing nodes. */
static void add_launches(const struct schedule_trial *trial, struct schedule_result *result,
			 const struct schedule_node_result *nodes, int64_t count)
{
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

static struct schedule_result *take_starting(const struct schedule_trial *trial,
					     const struct schedule_result *packed,
					     const size_t *sources, struct arena *arena)
{
	const struct schedule_problem *problem = trial->problem;
	struct schedule_result *result = result_new(trial, packed, packed->node_count, arena);

	for (size_t i = 0; i < packed->node_count;) {
		size_t type = packed->nodes[i].type;
		int64_t hosts;

		if (sources[i] != SCHEDULE_NO_INDEX) {
			result->nodes[sources[i]] = packed->nodes[i];
			i++;
			continue;
		}
		hosts = problem->types[type].hosts;
		if (result->launches[type] < trial->minimum[type] ||
		    any_placed(&packed->nodes[i], hosts))
			add_launches(trial, result, &packed->nodes[i], hosts);
		i += (size_t)hosts;
	}
	return result;
}

struct schedule_result *schedule_trial_run(const struct schedule_trial *trial,
					   const int64_t *launches,
					   const struct schedule_policy *policy,
					   struct arena *arena)
{
	struct schedule_problem problem = *trial->problem;
	size_t count = count_all(trial, launches);
	struct schedule_type *types = arena_array(arena, problem.type_count + 1, sizeof(*types));
	struct schedule_node *nodes = arena_array(arena, count + 1, sizeof(*nodes));
	size_t *sources = arena_array(arena, count + 1, sizeof(*sources));

	memcpy(types, problem.types, problem.type_count * sizeof(*types));
	for (size_t i = 0; i < problem.type_count; i++)
		types[i].launch_held = true;
	problem.types = types;
	problem.nodes = nodes;
	problem.node_count = list_nodes(trial, launches, nodes, sources, arena);
	return take_starting(trial, schedule_phases(&problem, policy, arena), sources, arena);
}

/* ---- comparing ---- */

__int128 schedule_trial_gpus(const struct schedule_problem *problem, const int64_t *launches)
{
	__int128 sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += (__int128)launches[i] * problem->types[i].gpu_amount;
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

int64_t schedule_trial_gpus_of(const struct ray_request *request)
{
	for (size_t i = 0; i < request->bundle_count; i++)
		if (!strcmp(request->bundle[i].name, "GPU"))
			return request->bundle[i].amount;
	return 0;
}

static __int128 gpus_left(const struct schedule_problem *problem,
			  const struct schedule_result *result)
{
	__int128 sum = 0;

	for (size_t i = 0; i < problem->demand_count; i++)
		sum += (__int128)result->demands[i].count *
		       schedule_trial_gpus_of(problem->demands[i].request);
	return sum;
}

bool schedule_trial_serves_as_many(const struct schedule_problem *problem,
				   const struct schedule_result *a, const struct schedule_result *b)
{
	return serves_held(problem, a, b) &&
	       sum_left(a->demands, problem->demand_count) <=
		       sum_left(b->demands, problem->demand_count) &&
	       gpus_left(problem, a) <= gpus_left(problem, b);
}
