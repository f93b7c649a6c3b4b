/* Laws of schedule() on random problems. A checker of its own, which knows Ray's rules and shares
 * no code with the packer, checks the placements.
 * SCHEDULE_LAWS_COUNT and SCHEDULE_LAWS_SEED choose how many problems and which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/model/cpu_budget.h"
#include "test/support/gang_order.h"
#include "test/support/schedule_random.h"

#define PARTS_MAX 256

static uint64_t first_seed;
static int count;
static struct random_problem world, other;

static void failed(uint64_t seed, const char *law, size_t where)
{
	fail_msg("seed %llu: %s (at %zu)", (unsigned long long)seed, law, where);
}

#define LAW(condition, where)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			failed(seed, #condition, (size_t)(where));                                 \
	} while (0)

/* ---- the checker of placements ---- */

static bool selector_holds(const struct label_selector *selector, const struct labels *labels)
{
	for (size_t i = 0; i < selector->count; i++) {
		const struct label_constraint *constraint = &selector->constraints[i];
		const char *value = labels_value(labels, constraint->key);
		bool in = value && !strcmp(value, constraint->values.at[0]);

		if (in != (constraint->operation == LABEL_OPERATOR_IN))
			return false;
	}
	return true;
}

static bool labels_hold(const struct ray_request *bundle, const struct labels *labels)
{
	for (size_t i = 0; i < bundle->selector_count; i++)
		if (selector_holds(&bundle->selectors[i], labels))
			return true;
	return !bundle->selector_count;
}

static int64_t bundle_amount(const struct ray_request *bundle, const char *name)
{
	for (size_t i = 0; i < bundle->bundle_count; i++)
		if (!strcmp(bundle->bundle[i].name, name))
			return bundle->bundle[i].amount;
	return 0;
}

static bool of_source(const struct schedule_placement *placement, bool constraint)
{
	return (placement->phase == SCHEDULE_PHASE_CONSTRAINT) == constraint;
}

/* The sums of one source fit into the amounts that the node offers to it. */
static bool sums_fit(const struct schedule_node_result *node, const struct resources *offered,
		     bool constraint)
{
	static const char *const NAMES[] = { "CPU", "GPU" };

	for (size_t n = 0; n < 2; n++) {
		int64_t left = resources_amount(offered, NAMES[n], 0);

		for (size_t i = 0; i < node->placement_count; i++)
			if (of_source(&node->placements[i], constraint))
				left -= node->placements[i].count *
					bundle_amount(node->placements[i].bundle, NAMES[n]);
		if (left < 0)
			return false;
	}
	return true;
}

/* The parts of GPUs on a node, largest first; returns how many GPUs are taken as a whole. */
static int64_t collect_parts(const struct schedule_node_result *node, bool constraint,
			     int64_t *parts, size_t *part_count)
{
	int64_t whole = 0;

	for (size_t i = 0; i < node->placement_count; i++) {
		const struct schedule_placement *placement = &node->placements[i];
		int64_t amount = bundle_amount(placement->bundle, "GPU");

		if (!of_source(placement, constraint) || !amount)
			continue;
		whole += amount / RESOURCE_UNIT * placement->count;
		for (int64_t j = 0; amount < RESOURCE_UNIT && j < placement->count; j++) {
			size_t at = (*part_count)++;

			assert_true(at < PARTS_MAX);
			for (; at && parts[at - 1] < amount; at--)
				parts[at] = parts[at - 1];
			parts[at] = amount;
		}
	}
	return whole;
}

/* First fit of GPU parts, largest first, on whole GPUs: enough for the parts that are drawn here
 * to find a layout where the packer found one. */
static bool parts_fit(const struct schedule_node_result *node, int64_t gpus, bool constraint)
{
	int64_t used[16] = { 0 }, parts[PARTS_MAX];
	size_t part_count = 0;
	int64_t whole = collect_parts(node, constraint, parts, &part_count);

	for (size_t i = 0; i < part_count; i++) {
		int64_t gpu = 0;

		while (gpu < gpus - whole && used[gpu] + parts[i] > RESOURCE_UNIT)
			gpu++;
		if (gpu >= gpus - whole)
			return false;
		used[gpu] += parts[i];
	}
	return whole <= gpus;
}

static bool labels_of_all_hold(const struct schedule_node_result *node, const struct labels *labels)
{
	for (size_t i = 0; i < node->placement_count; i++) {
		const struct schedule_placement *placement = &node->placements[i];

		if (!labels_hold(placement->bundle, labels))
			return false;
		for (size_t j = 0; j < placement->bundle->placement_count; j++)
			if (placement->bundle->placements[j].has_anti_affinity &&
			    placement->count > 1)
				return false;
	}
	return true;
}

static void check_node(uint64_t seed, const struct schedule_problem *problem,
		       const struct schedule_result *result, size_t index)
{
	const struct schedule_node_result *node = &result->nodes[index];
	bool given = index < problem->node_count;
	const struct schedule_type *type = &problem->types[node->type];
	const struct resources *total = given ? &problem->nodes[index].total : &type->resources;
	const struct resources *available = given ? &problem->nodes[index].available : total;
	int64_t gpus = resources_amount(total, "GPU", 0);

	LAW(sums_fit(node, available, false), index);
	LAW(sums_fit(node, total, true), index);
	LAW(parts_fit(node, gpus / RESOURCE_UNIT, true), index);
	if (resources_amount(available, "GPU", 0) == gpus)
		LAW(parts_fit(node, gpus / RESOURCE_UNIT, false), index);
	LAW(labels_of_all_hold(node, given ? &problem->nodes[index].labels : &type->labels), index);
	LAW(node->needed == (node->placement_count > 0), index);
}

static int64_t placed_units(const struct schedule_result *result, enum schedule_phase phase,
			    size_t index)
{
	int64_t units = 0;

	for (size_t i = 0; i < result->node_count; i++)
		for (size_t j = 0; j < result->nodes[i].placement_count; j++) {
			const struct schedule_placement *at = &result->nodes[i].placements[j];

			if (at->phase == phase && at->index == index)
				units += at->count;
		}
	return units;
}

static void check_everything_is_somewhere(uint64_t seed, const struct schedule_problem *problem,
					  const struct schedule_result *result)
{
	for (size_t i = 0; i < problem->demand_count; i++)
		LAW(placed_units(result, SCHEDULE_PHASE_DEMAND, i) + result->demands[i].count ==
			    problem->demands[i].count,
		    i);
	for (size_t i = 0; i < problem->gang_count; i++)
		LAW(placed_units(result, SCHEDULE_PHASE_GANG, i) ==
			    (result->gangs[i].count ? 0 : (int64_t)problem->gangs[i].request_count),
		    i);
	for (size_t i = 0; i < (problem->constraint_count ? problem->constraints[0].count : 0); i++)
		LAW(placed_units(result, SCHEDULE_PHASE_CONSTRAINT, i) +
				    result->constraints[0][i].count ==
			    problem->constraints[0].demands[i].count,
		    i);
}

static void check_bounds(uint64_t seed, const struct schedule_problem *problem,
			 const struct schedule_result *result)
{
	int64_t kept[RANDOM_TYPES] = { 0 }, gpus = 0;
	bool idle[RANDOM_TYPES] = { false };

	for (size_t i = 0; i < result->node_count; i++) {
		const struct schedule_node_result *node = &result->nodes[i];

		kept[node->type] += node->status != SCHEDULE_TERMINATE;
		LAW(node->status != SCHEDULE_LAUNCH || !problem->types[node->type].gangs_held ||
			    (node->launch_phase != SCHEDULE_PHASE_GANG &&
			     (node->launch_phase != SCHEDULE_PHASE_DEMAND ||
			      problem->types[node->type].hosts == 1)),
		    i);
		if (node->status != SCHEDULE_TERMINATE)
			continue;
		idle[node->type] = idle[node->type] || node->cause == SCHEDULE_CAUSE_IDLE;
		LAW(i < problem->node_count && problem->nodes[i].may_terminate, i);
		LAW(node->cause != SCHEDULE_CAUSE_IDLE ||
			    (!node->needed &&
			     problem->nodes[i].idle_ms > problem->nodes[i].idle_timeout_ms),
		    i);
	}
	for (size_t i = 0; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];

		LAW(kept[i] <= type->max_nodes, i);
		LAW(!idle[i] || kept[i] >= type->min_nodes, i);
		LAW(result->launches[i] % type->hosts == 0, i);
		LAW(!type->launch_held || !result->launches[i], i);
		gpus += result->launches[i] * type->gpu_amount;
	}
	LAW(!problem->has_gpu_budget || gpus <= problem->gpu_budget, 0);
}

static void placements_are_valid_and_bounds_hold(void **state)
{
	(void)state;
	for (int i = 0; i < count; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		const struct schedule_result *result;

		random_make(&world, &arena, seed);
		result = schedule(&world.problem, &arena);
		for (size_t j = 0; j < result->node_count; j++)
			check_node(seed, &world.problem, result, j);
		check_everything_is_somewhere(seed, &world.problem, result);
		check_bounds(seed, &world.problem, result);
		arena_done(&arena);
	}
}

/* ---- long lists and many lists ---- */

static void check_same(uint64_t seed, const struct schedule_problem *problem,
		       const struct schedule_result *a, const struct schedule_result *b)
{
	LAW(a->node_count == b->node_count, 0);
	for (size_t i = 0; i < problem->type_count; i++)
		LAW(a->launches[i] == b->launches[i], i);
	for (size_t i = 0; i < a->node_count; i++) {
		LAW(a->nodes[i].status == b->nodes[i].status, i);
		LAW(a->nodes[i].needed == b->nodes[i].needed, i);
	}
}

/* A gang of pairs of bundles that must not be on one node, long enough that its kinds leave labels out. */
#define PAIRS 40

static struct ray_gang gang_of_pairs(struct random_problem *r, struct arena *arena)
{
	struct ray_request *requests = arena_array(arena, 2 * PAIRS, sizeof(*requests));

	for (size_t i = 0; i < 2 * PAIRS; i++) {
		struct ray_gang one = gang_of(arena, random_request(r, arena), 1, 'S',
					      arena_printf(arena, "_PG_%zu", i / 2));

		requests[i] = one.requests[0];
	}
	return (struct ray_gang){ .requests = requests,
				  .request_count = 2 * PAIRS,
				  .details = "pairs" };
}

static void check_pairs(uint64_t seed, const struct ray_gang *gang,
			const struct schedule_node_result *node)
{
	bool seen[PAIRS] = { false };

	for (size_t i = 0; i < node->placement_count; i++) {
		size_t pair = (size_t)(node->placements[i].bundle - gang->requests) / 2;

		LAW(!seen[pair], pair);
		seen[pair] = true;
	}
}

static void pairs_are_on_different_nodes(void **state)
{
	int placed = 0;

	(void)state;
	for (int i = 0; i < count / 4; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		const struct schedule_result *result;

		random_make(&world, &arena, seed);
		for (size_t j = 1; j < world.problem.type_count; j++)
			world.types[j].max_nodes *= 10;
		world.gangs[0] = gang_of_pairs(&world, &arena);
		world.problem.gang_count = 1;
		world.problem.demand_count = world.problem.constraint_count = 0;
		result = schedule(&world.problem, &arena);
		for (size_t j = 0; j < result->node_count; j++) {
			check_node(seed, &world.problem, result, j);
			check_pairs(seed, &world.gangs[0], &result->nodes[j]);
		}
		check_everything_is_somewhere(seed, &world.problem, result);
		placed += !result->gangs[0].count;
		arena_done(&arena);
	}
	assert_true(count < 100 || placed > 0);
}

/* Constraints that count the same nodes share their classes; beside those that may count others they do not. */
/* A name that one type has, for each type, which may differ in nothing else; some bundles of the constraint need one. */
static void give_tools(struct random_problem *r, struct arena *arena)
{
	static const char *const TOOLS[RANDOM_TYPES] = { "t0", "t1", "t2", "t3", "t4", "t5" };

	for (size_t i = 2; i < r->problem.type_count && pick_below(r, 3); i++) {
		r->types[i].resources = r->types[1].resources;
		r->types[i].gpu_amount = r->types[1].gpu_amount;
	}
	for (size_t i = 1; i < r->problem.type_count; i++)
		r->types[i].resources =
			resources_with(arena, &r->types[i].resources, TOOLS[i], UNITS(2));
	for (size_t i = 1; i < r->problem.node_count; i++)
		r->nodes[i].total = resources_with(arena, &r->nodes[i].total,
						   TOOLS[r->nodes[i].type], UNITS(2));
	for (size_t i = 0; i < r->constraint.count; i++) {
		size_t tool = (size_t)pick_below(r, 2 * RANDOM_TYPES);
		struct ray_request *request = ARENA_NEW(arena, struct ray_request);
		struct bundle_entry *entries;

		*request = *r->bundles[i].request;
		r->bundles[i].request = request;
		if (tool >= RANDOM_TYPES)
			continue;
		entries = arena_array(arena, request->bundle_count + 1, sizeof(*entries));
		memcpy(entries, request->bundle, request->bundle_count * sizeof(*entries));
		entries[request->bundle_count++] =
			(struct bundle_entry){ .name = TOOLS[tool], .amount = UNITS(1) };
		request->bundle = entries;
	}
}

static void constraints_with_classes_of_their_own_are_placed_alike(void **state)
{
	(void)state;
	for (int i = 0; i < count; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		struct schedule_constraint constraints[4];
		const struct schedule_result *shared, *own;

		random_make(&world, &arena, seed);
		random_make(&other, &arena, seed + 1);
		give_tools(&world, &arena);
		give_tools(&other, &arena);
		for (size_t j = 0; j < 4; j++)
			constraints[j] = j % 2 ? other.constraint : world.constraint;
		world.problem.constraints = constraints;
		world.problem.constraint_count = 4;
		world.problem.use_budget = INT64_MAX / 2;
		shared = schedule(&world.problem, &arena);
		for (size_t j = 0; j < 4; j++)
			constraints[j].within_use = j % 2;
		own = schedule(&world.problem, &arena);
		check_same(seed, &world.problem, shared, own);
		for (size_t j = 0; j < shared->node_count; j++)
			LAW(shared->nodes[j].placement_count == own->nodes[j].placement_count, j);
		for (size_t j = 0; j < shared->leftover_count; j++)
			LAW(shared->leftovers[j].count == own->leftovers[j].count, j);
		arena_done(&arena);
	}
}

/* Nodes share the fills of tasks, but not where one of them adds a label: then each is filled by itself. One that fits
 * nowhere adds none, so the rest is placed as without it. */
#define TASKS 60

static void tasks_are_placed_alike_without_shared_fills(void **state)
{
	struct bundle_entry amount = { .name = "nowhere", .amount = RESOURCE_UNIT };
	struct placement_constraint apart = { .has_anti_affinity = true,
					      .anti_affinity = { "apart", "" } };
	const struct ray_request hopeless = {
		.bundle = &amount, .bundle_count = 1, .placements = &apart, .placement_count = 1
	};

	(void)state;
	for (int i = 0; i < count; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		struct schedule_demand demands[TASKS + 1] = { { 0 } };
		const struct schedule_result *shared, *own;

		random_make(&world, &arena, seed);
		for (size_t j = 0; j < TASKS; j++)
			demands[j] = (struct schedule_demand){
				.request = random_request(&world, &arena),
				.count = 1 + (int64_t)j % 3,
			};
		demands[TASKS] = (struct schedule_demand){ .request = &hopeless, .count = 1 };
		world.problem.demands = demands;
		world.problem.demand_count = TASKS;
		shared = schedule(&world.problem, &arena);
		world.problem.demand_count++;
		own = schedule(&world.problem, &arena);
		check_same(seed, &world.problem, shared, own);
		for (size_t j = 0; j < shared->node_count; j++)
			LAW(shared->nodes[j].placement_count == own->nodes[j].placement_count, j);
		for (size_t j = 0; j < TASKS; j++)
			LAW(shared->demands[j].count == own->demands[j].count, j);
		arena_done(&arena);
	}
}

/* ---- order ---- */

static void shuffle(struct random_problem *r, void *items, size_t items_count, size_t size)
{
	unsigned char swap[sizeof(struct ray_gang) + sizeof(struct schedule_demand)];
	unsigned char *at = items;

	for (size_t i = items_count; i > 1; i--) {
		size_t j = (size_t)pick_below(r, (int64_t)i);

		memcpy(swap, at + (i - 1) * size, size);
		memcpy(at + (i - 1) * size, at + j * size, size);
		memcpy(at + j * size, swap, size);
	}
}

static void only_the_order_of_equal_gangs_matters(void **state)
{
	(void)state;
	for (int i = 0; i < count; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;

		random_make(&world, &arena, seed);
		random_make(&other, &arena, seed);
		shuffle(&other, other.demands, other.problem.demand_count, sizeof(*other.demands));
		shuffle(&other, other.bundles, other.constraint.count, sizeof(*other.bundles));
		shuffle(&other, other.gangs, other.problem.gang_count, sizeof(*other.gangs));
		gang_order_keep_ties(other.gangs, world.gangs, world.problem.gang_count);
		check_same(seed, &world.problem, schedule(&world.problem, &arena),
			   schedule(&other.problem, &arena));
		arena_done(&arena);
	}
}

/* Two nodes that differ only in their number: which of them is first changes no count. */
static void equal_nodes_may_change_places(void **state)
{
	(void)state;
	for (int i = 0; i < count; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		const struct schedule_result *a, *b;

		random_make(&world, &arena, seed);
		random_make(&other, &arena, seed);
		for (size_t j = 1; j + 1 < other.problem.node_count; j++)
			if (other.nodes[j].type == other.nodes[j + 1].type &&
			    !other.nodes[j].running && !other.nodes[j + 1].running) {
				struct schedule_node swap = other.nodes[j];

				other.nodes[j] = other.nodes[j + 1];
				other.nodes[j + 1] = swap;
			}
		a = schedule(&world.problem, &arena);
		b = schedule(&other.problem, &arena);
		for (size_t j = 0; j < world.problem.type_count; j++)
			LAW(a->launches[j] == b->launches[j], j);
		arena_done(&arena);
	}
}

/* ---- the next pass ---- */

static int64_t all_launches(const struct schedule_problem *problem,
			    const struct schedule_result *result)
{
	int64_t sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += result->launches[i];
	return sum;
}

/* Ray's greedy order may fill nodes that start before others, which leaves another rest: those
 * cases are counted and must be rare. */
static void a_second_run_launches_nothing(void **state)
{
	int again = 0;

	(void)state;
	for (int i = 0; i < count; i++) {
		struct arena arena = ARENA_INIT;

		random_make(&world, &arena, first_seed + (uint64_t)i);
		world.problem.has_gpu_budget = false;
		world.problem.terminate_over_max = false;
		apply_launches(&world, schedule(&world.problem, &arena));
		again += all_launches(&world.problem, schedule(&world.problem, &arena)) > 0;
		arena_done(&arena);
	}
	print_message("%d of %d second runs launched again\n", again, count);
	assert_true(again * 50 <= count);
}

/* ---- fewest GPUs ---- */

static int64_t gpus_of(const struct schedule_problem *problem, const struct schedule_result *result)
{
	int64_t sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += result->launches[i] * problem->types[i].gpu_amount;
	return sum;
}

static int64_t gpus_of_request(const struct ray_request *request)
{
	for (size_t i = 0; i < request->bundle_count; i++)
		if (!strcmp(request->bundle[i].name, "GPU"))
			return request->bundle[i].amount;
	return 0;
}

/* No more left over of any request; without launches no more requests and GPUs of them in all. */
static bool serves_as_much(const struct schedule_problem *problem,
			   const struct schedule_result *result, const struct schedule_result *ray)
{
	int64_t requests = 0, gpus = 0;
	bool of_each = true;

	for (size_t i = 0; i < problem->demand_count; i++) {
		int64_t more = result->demands[i].count - ray->demands[i].count;

		of_each = of_each && more <= 0;
		requests += more;
		gpus += more * gpus_of_request(problem->demands[i].request);
	}
	return of_each || (requests <= 0 && gpus <= 0);
}

/* Costs are GPUs, as with fewest-gpus, or a price for each type. */
static void draw_costs(int number)
{
	for (size_t i = 0; i < world.problem.type_count && number % 2; i++)
		world.types[i].cost = world.types[i].gpu_amount * pick_below(&world, 5);
}

static int64_t cost_of(const struct schedule_problem *problem, const struct schedule_result *result)
{
	int64_t sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += result->launches[i] * problem->types[i].cost;
	return sum;
}

static void cheapest_never_costs_more(void **state)
{
	int64_t ray = 0, cheapest = 0;

	(void)state;
	for (int i = 0; i < count / 30; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		const struct schedule_result *a, *b;

		random_make(&world, &arena, seed);
		draw_costs(i);
		a = schedule(&world.problem, &arena);
		world.problem.cheapest = true;
		b = schedule(&world.problem, &arena);
		LAW(cost_of(&world.problem, b) <= cost_of(&world.problem, a), 0);
		LAW(serves_as_much(&world.problem, b, a), 0);
		for (size_t j = 0; j < world.problem.gang_count; j++)
			LAW(b->gangs[j].count <= a->gangs[j].count, j);
		for (size_t j = 0; j < b->node_count; j++)
			check_node(seed, &world.problem, b, j);
		check_bounds(seed, &world.problem, b);
		ray += cost_of(&world.problem, a);
		cheapest += cost_of(&world.problem, b);
		arena_done(&arena);
	}
	print_message("cost of launches: ray %lld, cheapest %lld\n",
		      (long long)(ray / RESOURCE_UNIT), (long long)(cheapest / RESOURCE_UNIT));
	assert_true(cheapest < ray);
}

static void cheapest_launches_nothing_more(void **state)
{
	(void)state;
	for (int i = 0; i < count / 30; i++) {
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		const struct schedule_result *first, *second;

		random_make(&world, &arena, seed);
		draw_costs(i);
		world.problem.terminate_over_max = false;
		world.problem.cheapest = true;
		first = schedule(&world.problem, &arena);
		world.problem.gpu_budget -= gpus_of(&world.problem, first);
		apply_launches(&world, first);
		second = schedule(&world.problem, &arena);
		LAW(all_launches(&world.problem, second) == 0, 0);
		arena_done(&arena);
	}
}

static enum cpu_spent cut_at_once(void *context)
{
	(void)context;
	return CPU_CUT;
}

struct scheduling {
	struct arena *arena;
	const struct schedule_result *result;
};

static void run_schedule(void *context)
{
	struct scheduling *scheduling = context;

	scheduling->result = schedule(&world.problem, scheduling->arena);
}

/* A search that is cut short launches something where Ray's policy does: it would not come further in
 * the next decision either. */
static void cut_search_launches_something(void **state)
{
	int cuts = 0;

	(void)state;
	for (int i = 0; i < count / 30; i++) {
		struct cpu_budget budget = { .spent = cut_at_once, .units = 1 };
		uint64_t seed = first_seed + (uint64_t)i;
		struct arena arena = ARENA_INIT;
		const struct schedule_result *ray, *cut;

		random_make(&world, &arena, seed);
		draw_costs(i);
		ray = schedule(&world.problem, &arena);
		world.problem.cheapest = world.problem.may_be_cut = true;
		world.problem.cpu_budget = &budget;
		struct scheduling scheduling = { &arena, NULL };
		assert_true(cpu_budget_run(&budget, &arena, run_schedule, &scheduling));
		cut = scheduling.result;
		LAW(!cut->cut || !all_launches(&world.problem, cut) ==
					 !all_launches(&world.problem, ray),
		    0);
		cuts += cut->cut;
		world.problem.cheapest = world.problem.may_be_cut = false;
		world.problem.cpu_budget = NULL;
		arena_done(&arena);
	}
	assert_true(cuts > 0);
}

/* Tasks alone, so that one list is cut between two choices. */
static void cut_packing_launches_less(void **state)
{
	int cuts = 0;

	(void)state;
	for (int i = 0; i < count / 30; i++) {
		struct cpu_budget budget = { .spent = cut_at_once, .units = 1 };
		struct arena arena = ARENA_INIT;
		struct scheduling scheduling = { &arena, NULL };
		int64_t whole;

		random_make(&world, &arena, first_seed + (uint64_t)i);
		for (size_t j = 0; j < world.problem.type_count; j++)
			world.types[j].min_nodes = 0;
		world.problem.gang_count = world.problem.constraint_count = 0;
		whole = all_launches(&world.problem, schedule(&world.problem, &arena));
		world.problem.may_be_cut = true;
		world.problem.cpu_budget = &budget;
		assert_true(cpu_budget_run(&budget, &arena, run_schedule, &scheduling));
		cuts += whole > 0 && scheduling.result->cut &&
			all_launches(&world.problem, scheduling.result) < whole;
		world.problem.may_be_cut = false;
		world.problem.cpu_budget = NULL;
		arena_done(&arena);
	}
	print_message("%d cut packings launched less\n", cuts);
	assert_true(count < 100 || cuts > 0);
}

static long number_of(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placements_are_valid_and_bounds_hold),
		cmocka_unit_test(pairs_are_on_different_nodes),
		cmocka_unit_test(constraints_with_classes_of_their_own_are_placed_alike),
		cmocka_unit_test(tasks_are_placed_alike_without_shared_fills),
		cmocka_unit_test(only_the_order_of_equal_gangs_matters),
		cmocka_unit_test(equal_nodes_may_change_places),
		cmocka_unit_test(a_second_run_launches_nothing),
		cmocka_unit_test(cheapest_never_costs_more),
		cmocka_unit_test(cheapest_launches_nothing_more),
		cmocka_unit_test(cut_search_launches_something),
		cmocka_unit_test(cut_packing_launches_less),
	};

	first_seed = (uint64_t)number_of("SCHEDULE_LAWS_SEED", 1);
	count = (int)number_of("SCHEDULE_LAWS_COUNT", 3000);
	print_message("%d random problems from seed %llu\n", count, (unsigned long long)first_seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
