/* The choice of policy: Ray's, or a search for launches with fewer GPUs that serve as much. */
#include "core/schedule.h"

#include <string.h>

#include "core/schedule_phases.h"

/* Runs of the phases in one search, and what they may cost together: nodes and requests gone
 * through (about 100 ms). */
#define SEARCH_RUNS_MAX 64
#define SEARCH_WORK_MAX ((size_t)400000)

/* One way to pack: a policy, and how many nodes of each type may be launched at most. */
struct attempt {
	struct schedule_policy policy;
	struct schedule_type *types; /* the problem's, with maxima lowered */
	__int128 gpus;
};

struct search {
	const struct schedule_problem *problem;
	struct arena *scratch;
	const struct schedule_result *ray; /* what has to be served at least */
	struct attempt best;
	int64_t *launches; /* of the best */
	size_t runs_left;
};

static __int128 launched_gpus(const struct schedule_problem *problem,
			      const struct schedule_result *result)
{
	__int128 sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += (__int128)result->launches[i] * problem->types[i].gpu_amount;
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

static bool serves_as_much(const struct search *search, const struct schedule_result *result)
{
	const struct schedule_problem *problem = search->problem;

	for (size_t i = 0; i < problem->constraint_count; i++)
		if (!leaves_no_more(result->constraints[i], search->ray->constraints[i],
				    problem->constraints[i].count))
			return false;
	return leaves_no_more(result->gangs, search->ray->gangs, problem->gang_count) &&
	       leaves_no_more(result->demands, search->ray->demands, problem->demand_count);
}

static struct schedule_result *run(const struct search *search, const struct attempt *attempt,
				   struct arena *arena)
{
	struct schedule_problem problem = *search->problem;

	problem.types = attempt->types;
	return schedule_phases(&problem, &attempt->policy, arena);
}

/* True when it is better than the best; then it is the best. */
static bool consider(struct search *search, struct attempt attempt)
{
	struct arena arena = ARENA_INIT;
	const struct schedule_result *result;
	bool better;

	if (!search->runs_left)
		return false;
	search->runs_left--;
	result = run(search, &attempt, &arena);
	attempt.gpus = launched_gpus(search->problem, result);
	better = attempt.gpus < search->best.gpus && serves_as_much(search, result);
	if (better) {
		search->best = attempt;
		memcpy(search->launches, result->launches,
		       search->problem->type_count * sizeof(*search->launches));
	}
	arena_done(&arena);
	return better;
}

static const struct schedule_policy POLICIES[] = {
	{ .spare_gpus = true },
	{ .starting_last = true },
	{ .spare_gpus = true, .starting_last = true },
};

#define POLICY_COUNT (sizeof(POLICIES) / sizeof(*POLICIES))

static int64_t nodes_of(const struct schedule_problem *problem, size_t type)
{
	int64_t count = 0;

	for (size_t i = 0; i < problem->node_count; i++)
		count += problem->nodes[i].type == type;
	return count;
}

/* The best with at most `launches` nodes of the type to be launched. */
static bool consider_fewer(struct search *search, size_t type, int64_t launches)
{
	const struct schedule_problem *problem = search->problem;
	struct attempt attempt = search->best;
	int64_t maximum = nodes_of(problem, type) + launches;

	if (maximum < problem->types[type].min_nodes)
		return false;
	attempt.types =
		arena_array(search->scratch, problem->type_count + 1, sizeof(*attempt.types));
	memcpy(attempt.types, search->best.types, problem->type_count * sizeof(*attempt.types));
	attempt.types[type].max_nodes = maximum;
	if (consider(search, attempt))
		return true;
	for (size_t i = 0; i < POLICY_COUNT; i++) {
		attempt.policy = POLICIES[i];
		if (memcmp(&attempt.policy, &search->best.policy, sizeof(attempt.policy)) != 0 &&
		    consider(search, attempt))
			return true;
	}
	return false;
}

/* Without any node of one type, then with one replica less of it. */
static bool improve(struct search *search)
{
	const struct schedule_problem *problem = search->problem;

	for (size_t type = 1; type < problem->type_count; type++) {
		int64_t launches = search->launches[type], hosts = problem->types[type].hosts;

		if (!launches || problem->types[type].gpu_amount <= 0)
			continue;
		if (consider_fewer(search, type, 0))
			return true;
		if (launches > hosts && consider_fewer(search, type, launches - hosts))
			return true;
	}
	return false;
}

/* A limit that the search set itself says nothing to a user: what stands in the way is what stood
 * in the way of Ray's policy. */
static void take_limits(struct schedule_leftover *leftovers, const struct schedule_leftover *ray,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		leftovers[i].limit = ray[i].limit;
		leftovers[i].limit_type = ray[i].limit_type;
	}
}

static struct schedule_result *result_of(const struct search *search, struct arena *arena)
{
	const struct schedule_problem *problem = search->problem;
	struct schedule_result *result = run(search, &search->best, arena);

	for (size_t i = 0; i < problem->constraint_count; i++)
		take_limits(result->constraints[i], search->ray->constraints[i],
			    problem->constraints[i].count);
	take_limits(result->gangs, search->ray->gangs, problem->gang_count);
	take_limits(result->demands, search->ray->demands, problem->demand_count);
	return result;
}

static struct schedule_result *fewest_gpus(const struct schedule_problem *problem,
					   struct arena *arena)
{
	struct arena scratch = ARENA_INIT;
	struct search search = { .problem = problem, .scratch = &scratch };
	struct attempt attempt = { .types = NULL };
	size_t work = problem->node_count + problem->demand_count + problem->gang_count + 1;
	struct schedule_result *result;

	attempt.types = arena_array(&scratch, problem->type_count + 1, sizeof(*attempt.types));
	memcpy(attempt.types, problem->types, problem->type_count * sizeof(*attempt.types));
	search.launches = arena_array(&scratch, problem->type_count + 1, sizeof(*search.launches));
	search.ray = run(&search, &attempt, &scratch);
	attempt.gpus = launched_gpus(problem, search.ray);
	search.best = attempt;
	memcpy(search.launches, search.ray->launches,
	       problem->type_count * sizeof(*search.launches));
	search.runs_left = SEARCH_WORK_MAX / work;
	if (search.runs_left > SEARCH_RUNS_MAX)
		search.runs_left = SEARCH_RUNS_MAX;
	for (size_t i = 0; i < POLICY_COUNT && search.best.gpus; i++) {
		attempt.policy = POLICIES[i];
		consider(&search, attempt);
	}
	while (search.runs_left && search.best.gpus)
		if (!improve(&search))
			break;
	result = result_of(&search, arena);
	arena_done(&scratch);
	return result;
}

struct schedule_result *schedule(const struct schedule_problem *problem, struct arena *arena)
{
	const struct schedule_policy ray = { .spare_gpus = false };

	return problem->fewest_gpus ? fewest_gpus(problem, arena) :
				      schedule_phases(problem, &ray, arena);
}
