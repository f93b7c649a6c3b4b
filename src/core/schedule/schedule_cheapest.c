#include "core/schedule/schedule_cheapest.h"

#include <string.h>

#include "base/sort.h"
#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_try.h"

#define EXACT_TYPES_MAX 64
#define EXACT_SPARE_REPLICAS 4
/* Limit of the cost of all packings of one search, in nodes times kinds of requests, to which the
 * time of a packing is proportional. */
#define SEARCH_WORK_MAX ((size_t)200000)
#define SEARCH_RUNS_MIN 4
/* The same for steps of schedule_exact, and for enumerated choices of launches. */
#define SEARCH_STEPS_MAX ((size_t)200000)
#define SEARCH_CHOICES_MAX ((size_t)20000)
/* The removal of single replicas has an eighth of the packings, and these steps beside the search's. */
#define REMOVAL_RUNS_PART 8
#define REMOVAL_STEPS_MAX ((size_t)100000)
#define CONFIRM_ROUNDS 6

/* A trial that serves as much as Ray's policy. */
struct choice {
	bool confirmed;
	const struct schedule_policy *policy;
	int64_t *launches; /* by type */
	__int128 cost, left;
};

struct search {
	const struct schedule_problem *problem;
	struct arena *scratch;
	const struct schedule_result *ray; /* the result to reach at least */
	struct schedule_trial trial;
	struct choice best;
	int64_t *caps; /* by type: launches that the next packing may make */
	__int128 least_cost;
	size_t runs_left, removal_runs, steps_left, choices_left;
};

static const struct schedule_policy RAY = { .spare_gpus = false };
static const struct schedule_policy POLICIES[] = {
	{ .spare_gpus = false },
	{ .spare_gpus = true },
	{ .gpus_first = true },
	{ .spare_gpus = true, .gpus_first = true },
	{ .exact = true, .gpus_first = true },
	{ .exact = true, .gpus_first = true, .spare_gpus = true },
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

/* The number of policies to try, by nodes. The next decision counts the launches among its nodes:
 * the same total of nodes, the same trials. */
static size_t policies_for(size_t nodes)
{
	if (nodes > 2000)
		return 2;
	return nodes > 200 ? 4 : sizeof(POLICIES) / sizeof(*POLICIES);
}

/* ---- comparing ---- */

/* A result with only the launches of minReplicas need not serve the same requests as Ray's policy,
 * only as many: other requests do not justify launches. */
static bool serves_enough(const struct search *search, const struct schedule_result *result,
			  const struct schedule_result *ray)
{
	const struct schedule_problem *problem = search->problem;

	return schedule_trial_serves(problem, result, ray) ||
	       (!memcmp(result->launches, search->trial.minimum,
			problem->type_count * sizeof(*result->launches)) &&
		schedule_trial_serves_as_many(problem, result, ray));
}

/* ---- confirming ---- */

/* Whether the next decision keeps this result. It compares with the requests that Ray's policy
 * serves then, which can be more while maxima leave some over. If not, the launches are set to
 * those that the next decision would choose. */
static bool lasts(struct search *search, const struct schedule_result *result, int64_t *launches,
		  struct arena *arena)
{
	const struct schedule_problem *problem = search->problem;
	struct schedule_problem next;
	const struct schedule_result *ray;

	if (!schedule_trial_left(problem, search->ray))
		return true;
	schedule_trial_next(&search->trial, launches, &next, arena);
	ray = schedule_phases(&next, &RAY, arena);
	if (!schedule_trial_launches_any(problem, ray->launches) ||
	    schedule_trial_serves(problem, result, ray) ||
	    schedule_trial_serves_as_many(problem, result, ray))
		return true;
	for (size_t i = 0; i < problem->type_count; i++)
		launches[i] += ray->launches[i];
	return false;
}

static bool is_better(const struct search *search, const struct schedule_result *result)
{
	__int128 cost = schedule_trial_cost(search->problem, result->launches);
	__int128 left = schedule_trial_left(search->problem, result);

	if (cost != search->best.cost)
		return cost < search->best.cost;
	if (!search->best.confirmed || left != search->best.left)
		return !search->best.confirmed || left < search->best.left;
	return schedule_trial_launches_fewer(search->problem, result->launches,
					     search->best.launches);
}

static struct schedule_result *run_trial(struct search *search, const int64_t *launches,
					 const struct schedule_policy *policy, struct arena *arena)
{
	struct schedule_policy used = *policy;

	used.served = search->ray;
	used.steps_left = &search->steps_left;
	return schedule_trial_run(&search->trial, launches, &used, arena);
}

static void choose(struct search *search, const struct schedule_policy *policy,
		   const struct schedule_result *result)
{
	search->best.confirmed = true;
	search->best.policy = policy;
	search->best.cost = schedule_trial_cost(search->problem, result->launches);
	search->best.left = schedule_trial_left(search->problem, result);
	memcpy(search->best.launches, result->launches,
	       search->problem->type_count * sizeof(*result->launches));
}

static bool may_run(const struct search *search)
{
	return search->runs_left && !cpu_budget_is_cut(search->problem->cpu_budget);
}

/* Confirms the launches with one policy. If a trial needs fewer launches, those are tried next; if
 * its result does not last, the launches that the next decision would add are included. */
static bool confirm_policy(struct search *search, const int64_t *launches,
			   const struct schedule_policy *policy)
{
	const struct schedule_problem *problem = search->problem;
	size_t size = problem->type_count * sizeof(*launches);
	struct arena arena = ARENA_INIT;
	int64_t *tried = arena_array(&arena, problem->type_count + 1, sizeof(*tried));
	bool confirmed = false;

	cpu_budget_own(problem->cpu_budget, &arena);
	memcpy(tried, launches, size);
	for (int round = 0; round < CONFIRM_ROUNDS; round++) {
		const struct schedule_result *result;

		if (!may_run(search))
			break;
		search->runs_left--;
		result = run_trial(search, tried, policy, &arena);
		if (!result || !serves_enough(search, result, search->ray) ||
		    !is_better(search, result) ||
		    !schedule_trial_allows(&search->trial, result->launches))
			break;
		if (memcmp(tried, result->launches, size) != 0) {
			memcpy(tried, result->launches, size);
		} else if (lasts(search, result, tried, &arena)) {
			choose(search, policy, result);
			confirmed = true;
			break;
		}
	}
	cpu_budget_done(problem->cpu_budget, &arena);
	return confirmed;
}

static bool confirm(struct search *search, const int64_t *launches)
{
	size_t nodes = search->problem->node_count;

	for (size_t i = 0; i < search->problem->type_count; i++)
		nodes += (size_t)launches[i];
	for (size_t i = 0; i < policies_for(nodes); i++)
		if (confirm_policy(search, launches, &POLICIES[i]))
			return true;
	return false;
}

/* ---- the beginning ---- */

static void search_init(struct search *search)
{
	const struct schedule_problem *problem = search->problem;
	size_t types = problem->type_count + 1;
	size_t kinds = problem->demand_count + problem->gang_count + 1;

	for (size_t i = 0; i < problem->constraint_count; i++)
		kinds += problem->constraints[i].count;
	search->runs_left = SEARCH_WORK_MAX / (64 + problem->node_count * kinds / 4);
	search->removal_runs = search->runs_left / REMOVAL_RUNS_PART;
	search->runs_left -= search->removal_runs;
	if (search->runs_left < SEARCH_RUNS_MIN)
		search->runs_left = SEARCH_RUNS_MIN;
	search->steps_left = SEARCH_STEPS_MAX;
	search->choices_left = SEARCH_CHOICES_MAX;
	schedule_trial_init(&search->trial, problem, search->ray, search->scratch);
	search->caps = arena_array(search->scratch, types, sizeof(*search->caps));
	search->best.launches = arena_array(search->scratch, types, sizeof(*search->best.launches));
	memcpy(search->best.launches, search->ray->launches,
	       problem->type_count * sizeof(*search->best.launches));
	search->best.cost = schedule_trial_cost(problem, search->ray->launches);
	search->best.left = schedule_trial_left(problem, search->ray);
	search->best.confirmed = !schedule_trial_launches_any(problem, search->ray->launches);
	search->least_cost = schedule_trial_least_cost(&search->trial, search->ray);
}

/* ---- one step ---- */

/* Packs as Ray does, under a policy, with at most search->caps launches of each type. */
static bool pack_within_caps(struct search *search, const struct schedule_policy *policy)
{
	struct schedule_problem problem = *search->problem;
	struct arena arena = ARENA_INIT;
	struct schedule_type *types;
	const struct schedule_result *result;
	bool better;

	if (!may_run(search))
		return false;
	search->runs_left--;
	cpu_budget_own(problem.cpu_budget, &arena);
	types = arena_array(&arena, problem.type_count + 1, sizeof(*types));
	memcpy(types, problem.types, problem.type_count * sizeof(*types));
	for (size_t i = 1; i < problem.type_count; i++)
		if (search->caps[i] < search->trial.most[i])
			types[i].max_nodes = search->trial.given[i] + search->caps[i];
	problem.types = types;
	result = schedule_phases(&problem, policy, &arena);
	better = schedule_trial_serves(&problem, result, search->ray) &&
		 is_better(search, result) && confirm(search, result->launches);
	cpu_budget_done(problem.cpu_budget, &arena);
	return better;
}

/* As many nodes as the caps allow, of those without a cost a few more than now. */
static bool place_within_caps(struct search *search, const struct schedule_policy *policy)
{
	const struct schedule_problem *problem = search->problem;
	int64_t launches[EXACT_TYPES_MAX], sum = 0;

	if (problem->type_count > EXACT_TYPES_MAX || problem->node_count > SCHEDULE_EXACT_NODES_MAX)
		return false;
	for (size_t i = 0; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t few = search->best.launches[i] + EXACT_SPARE_REPLICAS * type->hosts;

		launches[i] = search->caps[i];
		if (type->cost <= 0 && launches[i] > few)
			launches[i] = few;
		sum += launches[i];
		if (sum > SCHEDULE_EXACT_NODES_MAX)
			return false;
	}
	return confirm_policy(search, launches, policy);
}

static bool consider_caps(struct search *search)
{
	for (size_t i = 0; i < policies_for(search->problem->node_count); i++)
		if (POLICIES[i].exact ? place_within_caps(search, &POLICIES[i]) :
					pack_within_caps(search, &POLICIES[i]))
			return true;
	return false;
}

static void reset_caps(struct search *search)
{
	memcpy(search->caps, search->trial.most,
	       search->problem->type_count * sizeof(*search->caps));
}

/* ---- all that is cheaper ---- */

static __int128 replicas_cost(const struct search *search, size_t type, int64_t replicas)
{
	const struct schedule_type *kind = &search->problem->types[type];

	return schedule_trial_cost_of(kind, replicas * kind->hosts);
}

static __int128 replica_cost(const struct search *search, size_t type)
{
	return replicas_cost(search, type, 1);
}

/* Whether some cap could be raised while the total stays below the best's. */
static bool could_be_raised(const struct search *search, __int128 room)
{
	for (size_t i = 1; i < search->problem->type_count; i++) {
		int64_t hosts = search->problem->types[i].hosts;
		int64_t replicas = search->caps[i] / hosts;
		__int128 cost =
			replicas_cost(search, i, replicas + 1) - replicas_cost(search, i, replicas);

		if (cost > 0 && cost < room && search->caps[i] + hosts <= search->trial.most[i])
			return true;
	}
	return false;
}

static size_t next_type(const struct search *search, size_t type)
{
	while (type < search->problem->type_count && replica_cost(search, type) <= 0)
		type++;
	return type;
}

/* The largest number of replicas up to `most` that cost less than room; 0: also where none does. */
static int64_t below(const struct search *search, size_t type, int64_t most, __int128 room)
{
	int64_t low = 0;

	while (low < most) {
		int64_t middle = most - (most - low) / 2;

		if (replicas_cost(search, type, middle) < room)
			low = middle;
		else
			most = middle - 1;
	}
	return low;
}

/* Enumerates the caps that cost less than the best and cannot be raised; smaller caps would allow
 * less. `room`: the cost that is left below the best's. */
static bool consider_cheaper(struct search *search, size_t type, __int128 room)
{
	const struct schedule_problem *problem = search->problem;
	size_t next = next_type(search, type + 1);
	int64_t hosts, most;

	if (type == problem->type_count)
		return !could_be_raised(search, room) && consider_caps(search);
	hosts = problem->types[type].hosts;
	most = below(search, type, search->trial.most[type] / hosts, room);
	for (int64_t i = most; i >= 0 && i * hosts >= search->trial.minimum[type]; i--) {
		if (!may_run(search) || !search->choices_left)
			return false;
		search->choices_left--;
		search->caps[type] = i * hosts;
		if (consider_cheaper(search, next, room - replicas_cost(search, type, i)))
			return true;
		/* Fewer of the last could be raised. */
		if (next == problem->type_count)
			return false;
	}
	return false;
}

static bool consider_all_cheaper(struct search *search)
{
	reset_caps(search);
	return consider_cheaper(search, next_type(search, 1), search->best.cost);
}

/* ---- launches that are not needed ---- */

struct removal {
	size_t type;
	__int128 cost;
};

static int compare_removals(const void *a, const void *b)
{
	const struct removal *first = a, *second = b;

	return (first->cost < second->cost) - (first->cost > second->cost);
}

/* Whether the best choice without one replica of the type is confirmed; then that is the best. */
static bool remove_replica(struct search *search, size_t type)
{
	memcpy(search->caps, search->best.launches,
	       search->problem->type_count * sizeof(*search->caps));
	search->caps[type] -= search->problem->types[type].hosts;
	return search->caps[type] >= search->trial.minimum[type] && confirm(search, search->caps);
}

/* Removes replicas from the best choice, of the dearest type first, until it needs one of each. */
static void remove_unneeded(struct search *search)
{
	size_t count = search->problem->type_count, kept = 0, at = 0;
	struct removal *removals = arena_array(search->scratch, count + 1, sizeof(*removals));

	for (size_t i = 0; i < count; i++)
		removals[i] = (struct removal){ i, replica_cost(search, i) };
	sort_stable(removals, count, sizeof(*removals), compare_removals);
	search->runs_left = search->removal_runs;
	search->steps_left = REMOVAL_STEPS_MAX;
	for (; kept < count && may_run(search); at = kept ? (at + 1) % count : at)
		kept = remove_replica(search, removals[at].type) ? 0 : kept + 1;
}

/* ---- the search ---- */

/* Confirms the minimum launches and those of Ray's policy in complete trials, without a limit of
 * runs, because the next decision must find the same result. */
static void confirm_without_ceiling(struct search *search, const int64_t *launches)
{
	size_t runs = search->runs_left;

	search->runs_left = SIZE_MAX;
	confirm(search, launches);
	search->runs_left = runs;
}

static void search_best(struct search *search)
{
	bool only_more = search->best.confirmed;

	if (only_more && !search->best.left)
		return;
	if (schedule_trial_cost(search->problem, search->trial.minimum) >= search->least_cost ||
	    schedule_trial_left(search->problem, search->ray))
		confirm_without_ceiling(search, search->trial.minimum);
	if (only_more)
		return;
	if (!search->best.confirmed)
		confirm_without_ceiling(search, search->ray->launches);
	if (search->best.cost <= search->least_cost && search->best.confirmed)
		return;
	do
		reset_caps(search);
	while (consider_caps(search));
	while (may_run(search) && search->best.cost > search->least_cost &&
	       consider_all_cheaper(search))
		;
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

static struct schedule_result *result_of(struct search *search, struct arena *arena)
{
	const struct schedule_problem *problem = search->problem;
	const struct choice *best = &search->best;
	struct schedule_result *result;

	/* The trial that was chosen ends as it did, with as many steps or more. */
	search->steps_left = SIZE_MAX;
	result = run_trial(search, best->launches, best->policy, arena);

	for (size_t i = 0; i < problem->constraint_count; i++)
		take_limits(result->constraints[i], search->ray->constraints[i],
			    problem->constraints[i].count);
	take_limits(result->gangs, search->ray->gangs, problem->gang_count);
	take_limits(result->demands, search->ray->demands, problem->demand_count);
	return result;
}

struct schedule_result *schedule_cheapest(const struct schedule_problem *problem,
					  struct arena *arena)
{
	struct arena scratch = ARENA_INIT;
	struct schedule_problem plain = *problem;
	struct search search = { .problem = problem, .scratch = &scratch };
	struct schedule_result *ray, *result;

	plain.cheapest = false; /* so that it is not cut before it launches something */
	search.ray = ray = result = schedule_phases(&plain, &RAY, arena);
	cpu_budget_own(problem->cpu_budget, &scratch);
	search_init(&search);
	search_best(&search);
	remove_unneeded(&search);
	ray->cut = cpu_budget_is_cut(problem->cpu_budget);
	if (search.best.policy && !ray->cut)
		result = result_of(&search, arena);
	cpu_budget_done(problem->cpu_budget, &scratch);
	return result;
}
