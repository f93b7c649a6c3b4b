#include "core/schedule/schedule_search.h"

#include <string.h>

#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_phases.h"

/* Limit of the cost of all packings of one search, in nodes times kinds of requests, to which the
 * time of a packing is proportional. */
#define SEARCH_WORK_MAX ((size_t)200000)
#define SEARCH_RUNS_MIN 4
/* The same for steps of schedule_exact, and for enumerated choices of launches. */
#define SEARCH_STEPS_MAX ((size_t)200000)
#define SEARCH_CHOICES_MAX ((size_t)20000)
#define CONFIRM_ROUNDS 6

const struct schedule_policy SCHEDULE_SEARCH_RAY = { .spare_gpus = false };
const struct schedule_policy SCHEDULE_SEARCH_POLICIES[] = {
	{ .spare_gpus = false },
	{ .spare_gpus = true },
	{ .gpus_first = true },
	{ .spare_gpus = true, .gpus_first = true },
	{ .starting_last = true },
	{ .starting_last = true, .spare_gpus = true, .gpus_first = true },
	{ .exact = true, .gpus_first = true },
	{ .exact = true, .gpus_first = true, .spare_gpus = true },
	{ .fill_gpus = true },
	{ .fill_gpus = true, .gpus_first = true },
	{ .fill_gpus = true, .spare_gpus = true, .gpus_first = true },
	{ .shuffle = 1 },
	{ .shuffle = 2 },
	{ .shuffle = 3 },
	{ .shuffle = 4 },
	{ .shuffle = 5 },
	{ .shuffle = 6 },
	{ .shuffle = 7 },
	{ .shuffle = 8 },
	{ .shuffle = 9, .gpus_first = true },
	{ .shuffle = 10, .gpus_first = true },
	{ .shuffle = 11, .gpus_first = true },
	{ .shuffle = 12, .gpus_first = true },
	{ .demands_first = true },
	{ .demands_first = true, .gpus_first = true },
	{ .demands_first = true, .shuffle = 1 },
};

#define POLICY_COUNT (sizeof(SCHEDULE_SEARCH_POLICIES) / sizeof(*SCHEDULE_SEARCH_POLICIES))

/* The number of policies to try, by nodes. The next decision counts the launches among its nodes:
 * the same total of nodes, the same trials. */
size_t schedule_search_policies(size_t nodes)
{
	if (nodes > 2000)
		return 2;
	return nodes > 200 ? 6 : POLICY_COUNT;
}

/* ---- comparing ---- */

__int128 schedule_search_gpus(const struct schedule_problem *problem, const int64_t *launches)
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

bool schedule_search_serves(const struct schedule_problem *problem, const struct schedule_result *a,
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

__int128 schedule_search_left(const struct schedule_problem *problem,
			      const struct schedule_result *result)
{
	__int128 sum = sum_left(result->gangs, problem->gang_count) +
		       sum_left(result->demands, problem->demand_count);

	for (size_t i = 0; i < problem->constraint_count; i++)
		sum += sum_left(result->constraints[i], problem->constraints[i].count);
	return sum;
}

static int64_t gpus_of(const struct ray_request *request)
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
		sum += (__int128)result->demands[i].count * gpus_of(problem->demands[i].request);
	return sum;
}

/* Whether `a` leaves at most as much over as `b`: of gangs and constraints one by one, of requests
 * in total, by number and by GPUs. */
static bool leaves_no_more_in_all(const struct schedule_problem *problem,
				  const struct schedule_result *a, const struct schedule_result *b)
{
	return serves_held(problem, a, b) &&
	       sum_left(a->demands, problem->demand_count) <=
		       sum_left(b->demands, problem->demand_count) &&
	       gpus_left(problem, a) <= gpus_left(problem, b);
}

/* A result with only the launches of minReplicas need not serve the same requests as Ray's policy,
 * only as many: other requests do not justify launches. */
static bool serves_enough(const struct schedule_search *search,
			  const struct schedule_result *result, const struct schedule_result *ray)
{
	const struct schedule_problem *problem = search->problem;

	return schedule_search_serves(problem, result, ray) ||
	       (!memcmp(result->launches, search->trial.minimum,
			problem->type_count * sizeof(*result->launches)) &&
		leaves_no_more_in_all(problem, result, ray));
}

static bool schedule_search_launches(const struct schedule_problem *problem,
				     const int64_t *launches)
{
	for (size_t i = 0; i < problem->type_count; i++)
		if (launches[i])
			return true;
	return false;
}

/* ---- confirming ---- */

/* Whether the next decision keeps this result. It compares with the requests that Ray's policy
 * serves then, which can be more while maxima leave some over. If not, the launches are set to
 * those that the next decision would choose. */
static bool lasts(struct schedule_search *search, const struct schedule_result *result,
		  int64_t *launches, struct arena *arena)
{
	const struct schedule_problem *problem = search->problem;
	struct schedule_problem next;
	const struct schedule_result *ray;

	if (!schedule_search_left(problem, search->ray))
		return true;
	schedule_trial_next(&search->trial, launches, &next, arena);
	ray = schedule_phases(&next, &SCHEDULE_SEARCH_RAY, arena);
	if (!schedule_search_launches(problem, ray->launches) ||
	    schedule_search_serves(problem, result, ray) ||
	    leaves_no_more_in_all(problem, result, ray))
		return true;
	for (size_t i = 0; i < problem->type_count; i++)
		launches[i] += ray->launches[i];
	return false;
}

static bool within_limits(const struct schedule_search *search, const int64_t *launches)
{
	const struct schedule_problem *problem = search->problem;
	__int128 nodes = 0;

	for (size_t i = 0; i < problem->type_count; i++) {
		if (launches[i] > search->most[i])
			return false;
		nodes += launches[i];
	}
	if (nodes > SCHEDULE_NEW_NODES_MAX)
		return false;
	if (problem->has_gpu_budget &&
	    schedule_search_gpus(problem, launches) > problem->gpu_budget)
		return false;
	return !problem->has_max_nodes ||
	       nodes + (__int128)problem->node_count <= problem->max_nodes || nodes == 0;
}

bool schedule_search_is_better(const struct schedule_search *search, __int128 gpus, __int128 left)
{
	if (gpus != search->best.gpus)
		return gpus < search->best.gpus;
	return !search->best.confirmed || left < search->best.left;
}

struct schedule_result *schedule_search_trial(struct schedule_search *search,
					      const int64_t *launches,
					      const struct schedule_policy *policy,
					      struct arena *arena)
{
	struct schedule_policy used = *policy;

	used.served = search->ray;
	used.steps_left = &search->steps_left;
	return schedule_trial_run(&search->trial, launches, &used, arena);
}

static void choose(struct schedule_search *search, const struct schedule_policy *policy,
		   const struct schedule_result *result)
{
	search->best.confirmed = true;
	search->best.policy = policy;
	search->best.gpus = schedule_search_gpus(search->problem, result->launches);
	search->best.left = schedule_search_left(search->problem, result);
	memcpy(search->best.launches, result->launches,
	       search->problem->type_count * sizeof(*result->launches));
}

/* Confirms the launches with one policy. If a trial needs fewer launches, those are tried next; if
 * its result does not last, the launches that the next decision would add are included. */
bool schedule_search_confirm_policy(struct schedule_search *search, const int64_t *launches,
				    const struct schedule_policy *policy)
{
	const struct schedule_problem *problem = search->problem;
	size_t size = problem->type_count * sizeof(*launches);
	struct arena arena = ARENA_INIT;
	int64_t *tried = arena_array(&arena, problem->type_count + 1, sizeof(*tried));
	bool confirmed = false;

	cpu_budget_own(problem->cpu_budget, &arena);
	memcpy(tried, launches, size);
	for (int round = 0; round < CONFIRM_ROUNDS && search->runs_left && !confirmed; round++) {
		const struct schedule_result *result;

		search->runs_left--;
		result = schedule_search_trial(search, tried, policy, &arena);
		if (!result || !serves_enough(search, result, search->ray) ||
		    !schedule_search_is_better(search,
					       schedule_search_gpus(problem, result->launches),
					       schedule_search_left(problem, result)) ||
		    !within_limits(search, result->launches))
			break;
		if (memcmp(tried, result->launches, size) != 0)
			memcpy(tried, result->launches, size);
		else if (lasts(search, result, tried, &arena))
			confirmed = true;
		if (confirmed)
			choose(search, policy, result);
	}
	cpu_budget_done(problem->cpu_budget, &arena);
	return confirmed;
}

bool schedule_search_confirm(struct schedule_search *search, const int64_t *launches)
{
	size_t nodes = search->problem->node_count;

	for (size_t i = 0; i < search->problem->type_count; i++)
		nodes += (size_t)launches[i];
	for (size_t i = 0; i < schedule_search_policies(nodes); i++)
		if (schedule_search_confirm_policy(search, launches, &SCHEDULE_SEARCH_POLICIES[i]))
			return true;
	return false;
}

/* ---- the search ---- */

static void find_limits(struct schedule_search *search)
{
	const struct schedule_problem *problem = search->problem;

	for (size_t i = 1; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t room = type->launch_held ? 0 : type->max_nodes - search->trial.given[i];

		room = room > SCHEDULE_NEW_NODES_MAX ? SCHEDULE_NEW_NODES_MAX : room;
		search->most[i] = room > 0 ? room / type->hosts * type->hosts : 0;
		/* The minimum is held against no maximum. */
		if (search->most[i] < search->trial.minimum[i])
			search->most[i] = search->trial.minimum[i];
	}
}

static int64_t gpus_of_bundle(const struct ray_request *bundle)
{
	for (size_t i = 0; i < bundle->bundle_count; i++)
		if (!strcmp(bundle->bundle[i].name, "GPU"))
			return bundle->bundle[i].amount;
	return 0;
}

/* GPUs that Ray's policy allocates to demand, minus the free ones: no packing adds fewer. */
static __int128 least_gpus(const struct schedule_search *search)
{
	const struct schedule_problem *problem = search->problem;
	__int128 least = 0, minimum = schedule_search_gpus(problem, search->trial.minimum);

	for (size_t i = 0; i < search->ray->node_count; i++) {
		const struct schedule_node_result *node = &search->ray->nodes[i];

		if (i < problem->node_count)
			least -= resources_amount(&problem->nodes[i].available, "GPU", 0);
		for (size_t j = 0; j < node->placement_count; j++)
			if (node->placements[j].phase != SCHEDULE_PHASE_CONSTRAINT)
				least += (__int128)node->placements[j].count *
					 gpus_of_bundle(node->placements[j].bundle);
	}
	return least > minimum ? least : minimum;
}

void schedule_search_init(struct schedule_search *search)
{
	const struct schedule_problem *problem = search->problem;
	size_t types = problem->type_count + 1;
	size_t kinds = problem->demand_count + problem->gang_count + 1;

	for (size_t i = 0; i < problem->constraint_count; i++)
		kinds += problem->constraints[i].count;
	search->runs_left = SEARCH_WORK_MAX / (64 + problem->node_count * kinds / 4);
	if (search->runs_left < SEARCH_RUNS_MIN)
		search->runs_left = SEARCH_RUNS_MIN;
	search->steps_left = SEARCH_STEPS_MAX;
	search->choices_left = SEARCH_CHOICES_MAX;
	schedule_trial_init(&search->trial, problem, search->ray, search->scratch);
	search->most = arena_array(search->scratch, types, sizeof(*search->most));
	search->caps = arena_array(search->scratch, types, sizeof(*search->caps));
	search->best.launches = arena_array(search->scratch, types, sizeof(*search->best.launches));
	memcpy(search->best.launches, search->ray->launches,
	       problem->type_count * sizeof(*search->best.launches));
	search->best.gpus = schedule_search_gpus(problem, search->ray->launches);
	search->best.left = schedule_search_left(problem, search->ray);
	search->best.confirmed = !schedule_search_launches(problem, search->ray->launches);
	find_limits(search);
	search->least_gpus = least_gpus(search);
}
