#include "core/schedule/schedule_fewest.h"

#include <string.h>

#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_exact.h"
#include "core/schedule/schedule_phases.h"
#include "core/schedule/schedule_search.h"

#define EXACT_TYPES_MAX 64
#define EXACT_SPARE_REPLICAS 4

/* Packs as Ray does, under a policy, with at most search->caps launches of each type. */
static bool pack_within_caps(struct schedule_search *search, const struct schedule_policy *policy)
{
	struct schedule_problem problem = *search->problem;
	struct arena arena = ARENA_INIT;
	struct schedule_type *types;
	const struct schedule_result *result;
	bool better;

	if (!search->runs_left)
		return false;
	search->runs_left--;
	cpu_budget_own(problem.cpu_budget, &arena);
	types = arena_array(&arena, problem.type_count + 1, sizeof(*types));
	memcpy(types, problem.types, problem.type_count * sizeof(*types));
	for (size_t i = 1; i < problem.type_count; i++)
		if (search->caps[i] < search->most[i])
			types[i].max_nodes = search->trial.given[i] + search->caps[i];
	problem.types = types;
	result = schedule_phases(&problem, policy, &arena);
	better = schedule_search_serves(&problem, result, search->ray) &&
		 schedule_search_is_better(search, schedule_search_gpus(&problem, result->launches),
					   schedule_search_left(&problem, result)) &&
		 schedule_search_confirm(search, result->launches);
	cpu_budget_done(problem.cpu_budget, &arena);
	return better;
}

/* As many nodes as the caps allow, of those without GPUs a few more than now. */
static bool place_within_caps(struct schedule_search *search, const struct schedule_policy *policy)
{
	const struct schedule_problem *problem = search->problem;
	int64_t launches[EXACT_TYPES_MAX], sum = 0;

	if (problem->type_count > EXACT_TYPES_MAX || problem->node_count > SCHEDULE_EXACT_NODES_MAX)
		return false;
	for (size_t i = 0; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t few = search->best.launches[i] + EXACT_SPARE_REPLICAS * type->hosts;

		launches[i] = search->caps[i];
		if (type->gpu_amount <= 0 && launches[i] > few)
			launches[i] = few;
		sum += launches[i];
		if (sum > SCHEDULE_EXACT_NODES_MAX)
			return false;
	}
	return schedule_search_confirm_policy(search, launches, policy);
}

static bool consider_caps(struct schedule_search *search)
{
	for (size_t i = 0; i < schedule_search_policies(search->problem->node_count); i++)
		if (SCHEDULE_SEARCH_POLICIES[i].exact ?
			    place_within_caps(search, &SCHEDULE_SEARCH_POLICIES[i]) :
			    pack_within_caps(search, &SCHEDULE_SEARCH_POLICIES[i]))
			return true;
	return false;
}

static void reset_caps(struct schedule_search *search)
{
	memcpy(search->caps, search->most, search->problem->type_count * sizeof(*search->caps));
}

/* The best with at most `launches` nodes of the type. */
static bool consider_fewer(struct schedule_search *search, size_t type, int64_t launches)
{
	int64_t hosts = search->problem->types[type].hosts;

	launches -= launches % hosts;
	if (launches < search->trial.minimum[type])
		return false;
	reset_caps(search);
	search->caps[type] = launches;
	return consider_caps(search);
}

/* Tries the best choice without one type, with half of its nodes, and with one replica less. */
static bool improve(struct schedule_search *search)
{
	const struct schedule_problem *problem = search->problem;

	for (size_t type = 1; type < problem->type_count; type++) {
		int64_t launches = search->best.launches[type], hosts = problem->types[type].hosts;

		if (launches <= search->trial.minimum[type] || problem->types[type].gpu_amount <= 0)
			continue;
		if (consider_fewer(search, type, 0) ||
		    (launches > 2 * hosts && consider_fewer(search, type, launches / 2)) ||
		    (launches > hosts && consider_fewer(search, type, launches - hosts)))
			return true;
	}
	return false;
}

/* ---- all that is cheaper ---- */

static __int128 replica_gpus(const struct schedule_search *search, size_t type)
{
	const struct schedule_type *kind = &search->problem->types[type];

	return (__int128)kind->gpu_amount * kind->hosts;
}

/* Whether some cap could be raised while the total stays below the best's. */
static bool could_be_raised(const struct schedule_search *search, __int128 room)
{
	for (size_t i = 1; i < search->problem->type_count; i++) {
		__int128 gpus = replica_gpus(search, i);

		if (gpus > 0 && gpus < room &&
		    search->caps[i] + search->problem->types[i].hosts <= search->most[i])
			return true;
	}
	return false;
}

static size_t next_gpu_type(const struct schedule_search *search, size_t type)
{
	while (type < search->problem->type_count && replica_gpus(search, type) <= 0)
		type++;
	return type;
}

/* The largest n with n * gpus < room. */
static int64_t below(__int128 room, __int128 gpus)
{
	if (room > INT64_MAX)
		room = INT64_MAX;
	return gpus < room ? ((int64_t)room - 1) / (int64_t)gpus : 0;
}

/* Enumerates the caps that cost fewer GPUs than the best and cannot be raised; smaller caps would
 * allow less. `room`: GPUs below the best's. */
static bool consider_cheaper(struct schedule_search *search, size_t type, __int128 room)
{
	const struct schedule_problem *problem = search->problem;
	size_t next = next_gpu_type(search, type + 1);
	int64_t hosts, most;
	__int128 gpus;

	if (type == problem->type_count)
		return !could_be_raised(search, room) && consider_caps(search);
	hosts = problem->types[type].hosts;
	gpus = replica_gpus(search, type);
	most = search->most[type] / hosts;
	if (most > below(room, gpus))
		most = below(room, gpus);
	for (int64_t i = most; i >= 0 && i * hosts >= search->trial.minimum[type]; i--) {
		if (!search->runs_left || !search->choices_left)
			return false;
		search->choices_left--;
		search->caps[type] = i * hosts;
		if (consider_cheaper(search, next, room - i * gpus))
			return true;
		/* Fewer of the last could be raised. */
		if (next == problem->type_count)
			return false;
	}
	return false;
}

static bool improve_by_all(struct schedule_search *search)
{
	reset_caps(search);
	return consider_cheaper(search, next_gpu_type(search, 1), search->best.gpus);
}

/* ---- the search ---- */

/* Confirms the minimum launches and those of Ray's policy in complete trials, without a limit of
 * runs, because the next decision must find the same result. */
static void confirm_without_ceiling(struct schedule_search *search, const int64_t *launches)
{
	size_t runs = search->runs_left;

	search->runs_left = SIZE_MAX;
	schedule_search_confirm(search, launches);
	search->runs_left = runs;
}

static void search_best(struct schedule_search *search)
{
	bool only_more = search->best.confirmed;

	if (only_more && !search->best.left)
		return;
	if (schedule_search_gpus(search->problem, search->trial.minimum) >= search->least_gpus ||
	    schedule_search_left(search->problem, search->ray))
		confirm_without_ceiling(search, search->trial.minimum);
	if (only_more)
		return;
	if (!search->best.confirmed)
		confirm_without_ceiling(search, search->ray->launches);
	if (search->best.gpus <= search->least_gpus && search->best.confirmed)
		return;
	do {
		reset_caps(search);
	} while (consider_caps(search));
	while (search->runs_left && search->best.gpus > search->least_gpus)
		if (!improve(search) && !improve_by_all(search))
			break;
}

/* A limit set by the search itself does not help a user, so the limits under Ray's policy are
 * reported. */
static void take_limits(struct schedule_leftover *leftovers, const struct schedule_leftover *ray,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		leftovers[i].limit = ray[i].limit;
		leftovers[i].limit_type = ray[i].limit_type;
	}
}

static struct schedule_result *result_of(struct schedule_search *search, struct arena *arena)
{
	const struct schedule_problem *problem = search->problem;
	const struct schedule_choice *best = &search->best;
	struct schedule_result *result;

	/* The trial that was chosen ends as it did, with as many steps or more. */
	search->steps_left = SIZE_MAX;
	result = schedule_search_trial(search, best->launches, best->policy, arena);

	for (size_t i = 0; i < problem->constraint_count; i++)
		take_limits(result->constraints[i], search->ray->constraints[i],
			    problem->constraints[i].count);
	take_limits(result->gangs, search->ray->gangs, problem->gang_count);
	take_limits(result->demands, search->ray->demands, problem->demand_count);
	return result;
}

struct schedule_result *schedule_fewest_gpus(const struct schedule_problem *problem,
					     struct arena *arena)
{
	struct arena scratch = ARENA_INIT;
	struct schedule_result *ray = schedule_phases(problem, &SCHEDULE_SEARCH_RAY, arena),
			       *result = ray;
	struct schedule_search search = { .problem = problem, .scratch = &scratch, .ray = ray };

	cpu_budget_own(problem->cpu_budget, &scratch);
	schedule_search_init(&search);
	search_best(&search);
	if (search.best.policy)
		result = result_of(&search, arena);
	cpu_budget_done(problem->cpu_budget, &scratch);
	return result;
}
