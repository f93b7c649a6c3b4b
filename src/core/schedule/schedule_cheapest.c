#include "core/schedule/schedule_cheapest.h"

#include <string.h>

#include "base/bounded_run.h"
#include "base/sort.h"
#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_phases.h"
#include "core/schedule/schedule_try.h"

#define EXACT_TYPES_MAX 64
#define EXACT_SPARE_REPLICAS 4
/* Limit of the cost of all packings of one search, in nodes times kinds of requests, to which the
 * time of a packing is proportional. A request with many names and selectors counts as several kinds. */
#define SEARCH_WORK_MAX ((size_t)200000)
#define PARTS_OF_KIND 16
#define SEARCH_RUNS_MIN 4
/* The same for steps of schedule_exact, and for enumerated choices of launches. */
#define SEARCH_STEPS_MAX ((size_t)200000)
#define SEARCH_CHOICES_MAX ((size_t)20000)
/* Work of the packings of one search, counted where their loops are: names of nodes, selectors and whatever else makes
 * one packing dear. 350 ms; the largest problem of bench-gpus takes 70 million, and 10 million for the removal. */
#define SEARCH_UNITS_MAX ((int64_t)80000000)
/* The removal of single replicas has an eighth of the packings, and this work and these steps beside the search's. */
#define REMOVAL_RUNS_PART 8
#define REMOVAL_UNITS_MAX ((int64_t)20000000)
#define REMOVAL_STEPS_MAX ((size_t)100000)
#define CONFIRM_ROUNDS 6
/* A launch that would wait costs so many times as much. */
#define WAITING_COST 1000

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
	/* By type: nodes of the problem, launches for minReplicas, launches that its limits allow. */
	int64_t *given, *minimum, *most;
	struct choice best;
	int64_t *caps; /* by type: launches that the next packing may make */
	__int128 least_cost;
	size_t runs_left, removal_runs, steps_left, choices_left;
	int64_t units_end; /* of bounded_units */
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

static bool launches_any(const struct schedule_problem *problem, const int64_t *launches)
{
	for (size_t i = 0; i < problem->type_count; i++)
		if (launches[i])
			return true;
	return false;
}

/* Whether `a` has no more launches of any type than `b`, and of one type fewer. */
static bool launches_fewer(const struct schedule_problem *problem, const int64_t *a,
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

/* Of so many new nodes. */
static __int128 cost_of(const struct schedule_type *type, int64_t nodes)
{
	int64_t waiting = type->has_room ? nodes - type->room_nodes : 0;

	return (__int128)type->cost * nodes +
	       (waiting > 0 ? (__int128)type->cost * (WAITING_COST - 1) * waiting : 0);
}

static __int128 cost_of_all(const struct schedule_problem *problem, const int64_t *launches)
{
	__int128 sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += cost_of(&problem->types[i], launches[i]);
	return sum;
}

/* Of the first `count` leftovers: whether `a` leaves at most as much over as `b`. */
static bool leaves_no_more(const struct schedule_result *a, const struct schedule_result *b,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a->leftovers[i].count > b->leftovers[i].count)
			return false;
	return true;
}

/* The same for every request. */
static bool serves(const struct schedule_result *a, const struct schedule_result *b)
{
	return leaves_no_more(a, b, a->leftover_count);
}

static __int128 sum_left(const struct schedule_leftover *leftovers, size_t count)
{
	__int128 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += leftovers[i].count;
	return sum;
}

static __int128 all_left(const struct schedule_result *result)
{
	return sum_left(result->leftovers, result->leftover_count);
}

/* The same for gangs and constraints; of demands in total, by number and by GPUs. */
static bool serves_as_many(const struct schedule_problem *problem, const struct schedule_result *a,
			   const struct schedule_result *b)
{
	size_t count = problem->demand_count;
	__int128 gpus = 0;

	for (size_t i = 0; i < count; i++)
		gpus += (__int128)(a->demands[i].count - b->demands[i].count) *
			ray_request_gpus(problem->demands[i].request);
	return leaves_no_more(a, b, a->leftover_count - count) && gpus <= 0 &&
	       sum_left(a->demands, count) <= sum_left(b->demands, count);
}

/* The cost of so many GPUs where they cost least. Nodes without GPUs may cost nothing. */
static __int128 cost_of_gpus(const struct schedule_problem *problem, __int128 gpus)
{
	__int128 least = -1;

	for (size_t i = 1; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t each = resources_amount(&type->resources, "GPU", 0);
		__int128 cost = cost_of(type, 1);

		if (type->launch_held || each <= 0 ||
		    (cost > 0 && gpus > ((__int128)1 << 126) / cost))
			continue;
		cost = gpus * cost / each;
		if (least < 0 || cost < least)
			least = cost;
	}
	return least;
}

/* No packing that serves what `ray` serves costs less: the GPUs allocated to demand, minus the free
 * ones, where they cost least; or the cost of the minimum. */
static __int128 least_cost(const struct search *search, const struct schedule_result *ray)
{
	const struct schedule_problem *problem = search->problem;
	__int128 gpus = 0, cost, minimum = cost_of_all(problem, search->minimum);

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

/* A result with only the launches of minReplicas need not serve the same requests as Ray's policy,
 * only as many: other requests do not justify launches. */
static bool serves_enough(const struct search *search, const struct schedule_result *result,
			  const struct schedule_result *ray)
{
	const struct schedule_problem *problem = search->problem;

	return serves(result, ray) || (!memcmp(result->launches, search->minimum,
					       problem->type_count * sizeof(*result->launches)) &&
				       serves_as_many(problem, result, ray));
}

/* ---- trials ---- */

/* Whether the limits of the types and of the whole run allow the launches. */
static bool are_allowed(const struct search *search, const int64_t *launches)
{
	const struct schedule_problem *problem = search->problem;
	__int128 nodes = 0, gpus = 0;

	for (size_t i = 0; i < problem->type_count; i++) {
		if (launches[i] > search->most[i])
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
static size_t *list_nodes(const struct search *search, const int64_t *launches,
			  struct schedule_problem *ret_problem, struct arena *arena)
{
	const struct schedule_problem *problem = search->problem;
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
		count += (size_t)search->given[type];
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

/* The problem as the next decision sees it: the launches have become nodes that start. */
static void next_problem(const struct search *search, const int64_t *launches,
			 struct schedule_problem *ret_problem, struct arena *arena)
{
	*ret_problem = *search->problem;
	list_nodes(search, launches, ret_problem, arena);
	for (size_t i = 0; i < search->problem->type_count; i++)
		ret_problem->gpu_budget -= launches[i] * search->problem->types[i].gpu_amount;
}

/* Adds one replica to launch, after the existing nodes, if it is needed. */
static void add_launches(const struct search *search, struct schedule_result *result,
			 const struct schedule_node_result *nodes, int64_t count)
{
	bool needed = result->launches[nodes->type] < search->minimum[nodes->type];

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
		if (number < search->minimum[node->type])
			node->launch_phase = SCHEDULE_PHASE_MIN;
		else
			node->launch_phase = node->placement_count ? node->placements[0].phase :
								     SCHEDULE_PHASE_DEMAND;
	}
}

/* Packs with exactly `launches` new nodes by type, at least the minimum and within the limits, among
 * the starting ones, as the next decision will see them: a result that serves the demand is found
 * again by that decision, which then launches nothing. The result is one of the search's problem; its
 * launches are fewer where new nodes are of no use. */
static struct schedule_result *run_trial(struct search *search, const int64_t *launches,
					 const struct schedule_policy *policy, struct arena *arena)
{
	struct schedule_problem problem = *search->problem;
	struct schedule_policy used = *policy;
	struct schedule_type *types = arena_array(arena, problem.type_count + 1, sizeof(*types));
	size_t *sources = list_nodes(search, launches, &problem, arena);
	const struct schedule_result *packed;
	struct schedule_result *result = ARENA_NEW(arena, struct schedule_result);

	memcpy(types, problem.types, problem.type_count * sizeof(*types));
	for (size_t i = 0; i < problem.type_count; i++)
		types[i].launch_held = true;
	problem.types = types;
	used.served = search->ray;
	used.steps_left = &search->steps_left;
	packed = schedule_phases(&problem, &used, arena);
	*result = *packed;
	result->nodes = arena_array(arena, packed->node_count + 1, sizeof(*result->nodes));
	result->node_count = search->problem->node_count;
	result->launches = arena_array(arena, problem.type_count + 1, sizeof(*result->launches));
	for (size_t i = 0, hosts; i < packed->node_count; i += hosts) {
		hosts = 1;
		if (sources[i] != SCHEDULE_NO_INDEX) {
			result->nodes[sources[i]] = packed->nodes[i];
			continue;
		}
		hosts = (size_t)types[packed->nodes[i].type].hosts;
		add_launches(search, result, &packed->nodes[i], (int64_t)hosts);
	}
	return result;
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

	if (!all_left(search->ray))
		return true;
	next_problem(search, launches, &next, arena);
	ray = schedule_phases(&next, &RAY, arena);
	if (!launches_any(problem, ray->launches) || serves(result, ray) ||
	    serves_as_many(problem, result, ray))
		return true;
	for (size_t i = 0; i < problem->type_count; i++)
		launches[i] += ray->launches[i];
	return false;
}

static bool is_better(const struct search *search, const struct schedule_result *result)
{
	__int128 cost = cost_of_all(search->problem, result->launches);
	__int128 left = all_left(result);

	if (cost != search->best.cost)
		return cost < search->best.cost;
	if (!search->best.confirmed || left != search->best.left)
		return !search->best.confirmed || left < search->best.left;
	return launches_fewer(search->problem, result->launches, search->best.launches);
}

static void choose(struct search *search, const struct schedule_policy *policy,
		   const struct schedule_result *result)
{
	search->best.confirmed = true;
	search->best.policy = policy;
	search->best.cost = cost_of_all(search->problem, result->launches);
	search->best.left = all_left(result);
	memcpy(search->best.launches, result->launches,
	       search->problem->type_count * sizeof(*result->launches));
}

static bool may_run(const struct search *search)
{
	return search->runs_left && bounded_units() < search->units_end &&
	       !cpu_budget_is_cut(search->problem->cpu_budget);
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

	memcpy(tried, launches, size);
	for (int round = 0; round < CONFIRM_ROUNDS; round++) {
		const struct schedule_result *result;

		if (!may_run(search))
			break;
		search->runs_left--;
		result = run_trial(search, tried, policy, &arena);
		if (!result || !serves_enough(search, result, search->ray) ||
		    !is_better(search, result) || !are_allowed(search, result->launches))
			break;
		if (memcmp(tried, result->launches, size) != 0) {
			memcpy(tried, result->launches, size);
		} else if (lasts(search, result, tried, &arena)) {
			choose(search, policy, result);
			confirmed = true;
			break;
		}
	}
	arena_done(&arena);
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

/* Expects given and minimum. */
static void find_limits(struct search *search)
{
	const struct schedule_problem *problem = search->problem;

	for (size_t i = 1; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		int64_t most = type->has_pool && type->pool_nodes < type->max_nodes ?
				       type->pool_nodes :
				       type->max_nodes;
		bool held = type->launch_held ||
			    (type->gangs_held && (problem->gang_count > 0 || type->hosts > 1));
		int64_t room = held ? 0 : most - search->given[i];

		room = room > SCHEDULE_NEW_NODES_MAX ? SCHEDULE_NEW_NODES_MAX : room;
		search->most[i] = room > 0 ? room / type->hosts * type->hosts : 0;
		/* The minimum is held against no maximum. */
		if (search->most[i] < search->minimum[i])
			search->most[i] = search->minimum[i];
	}
}

/* Its names for each of its selectors. */
static size_t parts_of(const struct ray_request *request)
{
	return request->bundle_count * (request->selector_count > 0 ? request->selector_count : 1);
}

static size_t kinds_of_demands(const struct schedule_demand *demands, size_t count)
{
	size_t kinds = count;

	for (size_t i = 0; i < count; i++)
		kinds += parts_of(demands[i].request) / PARTS_OF_KIND;
	return kinds;
}

static size_t kinds_of_gang(const struct ray_gang *gang)
{
	size_t kinds = 1;

	ARRAY_EACH(const struct bundle_selector, choice, gang->selectors, gang->selector_count)
		for (size_t i = 0; i < choice->count; i++)
			kinds += parts_of(&choice->requests[i]) / PARTS_OF_KIND;
	return kinds;
}

static size_t kinds_of(const struct schedule_problem *problem)
{
	size_t kinds = 1 + kinds_of_demands(problem->demands, problem->demand_count);

	for (size_t i = 0; i < problem->gang_count; i++)
		kinds += kinds_of_gang(&problem->gangs[i]);
	for (size_t i = 0; i < problem->constraint_count; i++)
		kinds += kinds_of_demands(problem->constraints[i].demands,
					  problem->constraints[i].count);
	return kinds;
}

static void search_init(struct search *search)
{
	const struct schedule_problem *problem = search->problem;
	size_t types = problem->type_count + 1;

	search->runs_left = SEARCH_WORK_MAX / (64 + problem->node_count * kinds_of(problem) / 4);
	search->removal_runs = search->runs_left / REMOVAL_RUNS_PART;
	search->runs_left -= search->removal_runs;
	if (search->runs_left < SEARCH_RUNS_MIN)
		search->runs_left = SEARCH_RUNS_MIN;
	search->units_end = bounded_units() + SEARCH_UNITS_MAX;
	search->steps_left = SEARCH_STEPS_MAX;
	search->choices_left = SEARCH_CHOICES_MAX;
	search->given = arena_array(search->scratch, types, sizeof(*search->given));
	search->minimum = arena_array(search->scratch, types, sizeof(*search->minimum));
	search->most = arena_array(search->scratch, types, sizeof(*search->most));
	for (size_t i = 0; i < problem->node_count; i++)
		if (problem->nodes[i].type != SCHEDULE_NO_INDEX)
			search->given[problem->nodes[i].type]++;
	for (size_t i = problem->node_count; i < search->ray->node_count; i++)
		if (search->ray->nodes[i].launch_phase == SCHEDULE_PHASE_MIN)
			search->minimum[search->ray->nodes[i].type]++;
	find_limits(search);
	search->caps = arena_array(search->scratch, types, sizeof(*search->caps));
	search->best.launches = arena_array(search->scratch, types, sizeof(*search->best.launches));
	memcpy(search->best.launches, search->ray->launches,
	       problem->type_count * sizeof(*search->best.launches));
	search->best.cost = cost_of_all(problem, search->ray->launches);
	search->best.left = all_left(search->ray);
	search->best.confirmed = !launches_any(problem, search->ray->launches);
	search->least_cost = least_cost(search, search->ray);
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
	types = arena_array(&arena, problem.type_count + 1, sizeof(*types));
	memcpy(types, problem.types, problem.type_count * sizeof(*types));
	for (size_t i = 1; i < problem.type_count; i++)
		if (search->caps[i] < search->most[i])
			types[i].max_nodes = search->given[i] + search->caps[i];
	problem.types = types;
	result = schedule_phases(&problem, policy, &arena);
	better = serves(result, search->ray) && is_better(search, result) &&
		 confirm(search, result->launches);
	arena_done(&arena);
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
	memcpy(search->caps, search->most, search->problem->type_count * sizeof(*search->caps));
}

/* ---- all that is cheaper ---- */

static __int128 replicas_cost(const struct search *search, size_t type, int64_t replicas)
{
	const struct schedule_type *kind = &search->problem->types[type];

	return cost_of(kind, replicas * kind->hosts);
}

/* Whether some cap could be raised while the total stays below the best's. */
static bool could_be_raised(const struct search *search, __int128 room)
{
	for (size_t i = 1; i < search->problem->type_count; i++) {
		int64_t hosts = search->problem->types[i].hosts;
		int64_t replicas = search->caps[i] / hosts;
		__int128 cost =
			replicas_cost(search, i, replicas + 1) - replicas_cost(search, i, replicas);

		if (cost > 0 && cost < room && search->caps[i] + hosts <= search->most[i])
			return true;
	}
	return false;
}

static size_t next_type(const struct search *search, size_t type)
{
	while (type < search->problem->type_count && replicas_cost(search, type, 1) <= 0)
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
	most = below(search, type, search->most[type] / hosts, room);
	for (int64_t i = most; i >= 0 && i * hosts >= search->minimum[type]; i--) {
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
	return search->caps[type] >= search->minimum[type] && confirm(search, search->caps);
}

/* Removes replicas from the best choice, of the dearest type first, until it needs one of each. */
static void remove_unneeded(struct search *search)
{
	size_t count = search->problem->type_count, kept = 0, at = 0;
	struct removal *removals = arena_array(search->scratch, count + 1, sizeof(*removals));

	for (size_t i = 0; i < count; i++)
		removals[i] = (struct removal){ i, replicas_cost(search, i, 1) };
	sort_stable(removals, count, sizeof(*removals), compare_removals);
	search->runs_left = search->removal_runs;
	search->units_end = bounded_units() + REMOVAL_UNITS_MAX;
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
	int64_t end = search->units_end;

	search->runs_left = SIZE_MAX;
	search->units_end = INT64_MAX;
	confirm(search, launches);
	search->runs_left = runs;
	search->units_end = end;
}

static void search_best(struct search *search)
{
	bool only_more = search->best.confirmed;

	if (only_more && !search->best.left)
		return;
	if (cost_of_all(search->problem, search->minimum) >= search->least_cost ||
	    all_left(search->ray))
		confirm_without_ceiling(search, search->minimum);
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
static struct schedule_result *result_of(struct search *search, struct arena *arena)
{
	const struct choice *best = &search->best;
	struct schedule_result *result;

	/* The trial that was chosen ends as it did, with as many steps or more. */
	search->steps_left = SIZE_MAX;
	result = run_trial(search, best->launches, best->policy, arena);
	for (size_t i = 0; i < result->leftover_count; i++) {
		result->leftovers[i].limit = search->ray->leftovers[i].limit;
		result->leftovers[i].limit_type = search->ray->leftovers[i].limit_type;
	}
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
	search_init(&search);
	search_best(&search);
	remove_unneeded(&search);
	ray->cut = cpu_budget_is_cut(problem->cpu_budget);
	if (search.best.policy && !ray->cut)
		result = result_of(&search, arena);
	arena_done(&scratch);
	return result;
}
