/* How many GPUs --packing=ray and --packing=fewest-gpus launch on random problems, beside a lower
 * bound of any packing; then the same for the price of --packing=cheapest.
 *   core_gpus_bench [PROBLEMS [SEED]]
 * GPUS_BENCH_SHOW=1 in the environment names the problems that are above the bound. */
#include <stdio.h>
#include <stdlib.h>

#include "test/support/bench_usage.h"
#include "test/support/gpu_bound.h"
#include "test/support/schedule_random.h"

/* ---- the problems ---- */

static void gpu_type(struct random_problem *r, struct arena *arena, size_t index)
{
	static const int64_t GPUS[] = { 0, 1, 2, 4, 8 };
	int64_t gpus = GPUS[index == 1 ? 0 : 1 + pick_below(r, 4)];
	int64_t cpus = gpus ? gpus * (INT64_C(2) << pick_below(r, 3)) : 16;
	struct schedule_type *type = &r->types[index];

	*type = type_of(arena_printf(arena, "group-%zu", index),
			resources_of(arena, "CPU", cpus * RESOURCE_UNIT, NULL), 0,
			4 + pick_below(r, 29));
	if (gpus)
		type->resources =
			resources_with(arena, &type->resources, "GPU", gpus * RESOURCE_UNIT);
	type->cost = type->gpu_amount = gpus * RESOURCE_UNIT;
	type->accelerator = gpus > 0;
	type->labels = random_labels(r, arena);
}

static void gpu_nodes(struct random_problem *r, struct arena *arena)
{
	size_t count = 1;

	random_node(r, arena, 0, 0);
	for (size_t type = 1; type < r->problem.type_count; type++)
		for (int64_t i = pick_below(r, 4); i > 0; i--)
			random_node(r, arena, count++, type);
	r->problem.nodes = r->nodes;
	r->problem.node_count = count;
}

static struct ray_request *gpu_request(struct random_problem *r, struct arena *arena)
{
	static const int64_t PARTS[] = { 2500, 5000, 10000, 10000, 10000, 20000, 30000, 40000 };
	struct resources bundle =
		resources_of(arena, "CPU", (1 + pick_below(r, 8)) * RESOURCE_UNIT, NULL);
	struct ray_request *request = random_request(r, arena);
	const struct label_selector *selectors = request->selectors;
	size_t selector_count = request->selector_count;

	if (pick_below(r, 5))
		bundle = resources_with(arena, &bundle, "GPU", PARTS[pick_below(r, 8)]);
	request = request_of(arena, bundle);
	request->selectors = selectors;
	request->selector_count = pick_below(r, 2) ? selector_count : 0;
	return request;
}

/* A GPU costs 1 to 4 in each type. */
static void draw_prices(struct random_problem *r)
{
	for (size_t i = 1; i < r->problem.type_count; i++)
		r->types[i].cost = r->types[i].gpu_amount * (1 + pick_below(r, 4));
}

static void gpu_problem(struct random_problem *r, struct arena *arena, uint64_t seed)
{
	static const char STRATEGIES[] = { 0, 'P', 'S' };

	random_begin(r, arena, seed);
	r->problem.type_count = 3 + (size_t)pick_below(r, RANDOM_TYPES - 2);
	for (size_t i = 1; i < r->problem.type_count; i++)
		gpu_type(r, arena, i);
	gpu_nodes(r, arena);
	r->problem.demands = r->demands;
	r->problem.demand_count = 1 + (size_t)pick_below(r, RANDOM_DEMANDS);
	for (size_t i = 0; i < r->problem.demand_count; i++)
		r->demands[i] = (struct schedule_demand){ .request = gpu_request(r, arena),
							  .count = 1 + pick_below(r, 9) };
	r->problem.gangs = r->gangs;
	r->problem.gang_count = (size_t)pick_below(r, RANDOM_GANGS);
	for (size_t i = 0; i < r->problem.gang_count; i++)
		r->gangs[i] = gang_of(arena, gpu_request(r, arena), 1 + (size_t)pick_below(r, 4),
				      STRATEGIES[pick_below(r, 3)],
				      arena_printf(arena, "_PG_%zu", i));
	r->problem.conserve_accelerators = true;
}

/* ---- the table ---- */

struct sums {
	int64_t ray, cheapest, bound, served_ray, served_cheapest;
	double gap_ray, gap_cheapest, worst_ray, worst_cheapest;
	int64_t again_ray, again_cheapest;
	int64_t with_launches, exact, at_bound_ray, at_bound_cheapest;
	double milliseconds_ray, milliseconds_cheapest, worst_milliseconds;
};

static int64_t cost_of(const struct schedule_problem *problem, const struct schedule_result *result)
{
	int64_t sum = 0;

	for (size_t i = 0; i < problem->type_count; i++)
		sum += result->launches[i] * problem->types[i].cost;
	return sum;
}

static int64_t served(const struct schedule_problem *problem, const struct schedule_result *result)
{
	int64_t sum = 0;

	for (size_t i = 0; i < problem->demand_count; i++)
		sum += problem->demands[i].count - result->demands[i].count;
	for (size_t i = 0; i < problem->gang_count; i++)
		sum += result->gangs[i].count ? 0 : (int64_t)problem->gangs[i].request_count;
	return sum;
}

static void add_gap(int64_t gpus, int64_t bound, double *sum, double *worst, int64_t *at_bound)
{
	double gap = (double)(gpus - bound) / (double)(bound ? bound : RESOURCE_UNIT);

	*sum += gap;
	*worst = gap > *worst ? gap : *worst;
	*at_bound += gpus == bound;
}

/* Does the next decision launch again? */
static bool launches_again(struct random_problem *world, const struct schedule_result *result,
			   struct arena *arena)
{
	size_t given = world->problem.node_count;
	bool again = false;

	apply_launches(world, result);
	result = schedule(&world->problem, arena);
	for (size_t i = 0; i < world->problem.type_count; i++)
		again = again || result->launches[i];
	world->problem.node_count = given;
	return again;
}

/* Packs the problem of the seed with both packings, and adds to the sums: GPUs, served demand and
 * CPU time of each, the lower bound, the gap of each to it, and whether the next decision launches
 * again. */
static void solve(uint64_t seed, bool priced, struct sums *sums)
{
	static struct random_problem world;
	struct arena arena = ARENA_INIT;
	const struct schedule_result *ray, *cheapest;
	double began = bench_usage_ms(), between, ended;
	int64_t ray_cost, cheapest_cost, bound_cost;
	bool exact = false, again, show = getenv("GPUS_BENCH_SHOW") != NULL;

	gpu_problem(&world, &arena, seed);
	if (priced)
		draw_prices(&world);
	ray = schedule(&world.problem, &arena);
	between = bench_usage_ms();
	world.problem.cheapest = true;
	cheapest = schedule(&world.problem, &arena);
	ended = bench_usage_ms();
	again = launches_again(&world, cheapest, &arena);
	sums->again_cheapest += again;
	if (again && show)
		printf("seed %llu: launches again\n", (unsigned long long)seed);
	world.problem.cheapest = false;
	sums->again_ray += launches_again(&world, ray, &arena);
	ray_cost = cost_of(&world.problem, ray);
	cheapest_cost = cost_of(&world.problem, cheapest);
	bound_cost = gpu_bound(&world.problem, ray, cheapest_cost, &exact);
	sums->ray += ray_cost;
	sums->cheapest += cheapest_cost;
	sums->bound += bound_cost;
	sums->served_ray += served(&world.problem, ray);
	sums->served_cheapest += served(&world.problem, cheapest);
	sums->milliseconds_ray += between - began;
	sums->milliseconds_cheapest += ended - between;
	if (ended - between > sums->worst_milliseconds)
		sums->worst_milliseconds = ended - between;
	if (show && cheapest_cost != bound_cost)
		printf("seed %llu: ray %lld, search %lld, bound %lld%s\n", (unsigned long long)seed,
		       (long long)(ray_cost / RESOURCE_UNIT),
		       (long long)(cheapest_cost / RESOURCE_UNIT),
		       (long long)(bound_cost / RESOURCE_UNIT), exact ? "" : " or more");
	if (ray_cost) {
		sums->with_launches++;
		sums->exact += exact;
		add_gap(ray_cost, bound_cost, &sums->gap_ray, &sums->worst_ray,
			&sums->at_bound_ray);
		add_gap(cheapest_cost, bound_cost, &sums->gap_cheapest, &sums->worst_cheapest,
			&sums->at_bound_cheapest);
	}
	arena_done(&arena);
}

static void compare(long count, uint64_t seed, bool priced)
{
	struct sums sums = { 0 };
	double n;

	for (long i = 0; i < count; i++)
		solve(seed + (uint64_t)i, priced, &sums);
	n = sums.with_launches ? (double)sums.with_launches : 1;
	printf("%ld random problems from seed %llu, %lld of them launch GPUs\n", count,
	       (unsigned long long)seed, (long long)sums.with_launches);
	printf("%-28s %12s %12s %12s\n", "", "ray", priced ? "cheapest" : "fewest-gpus",
	       "lower bound");
	printf("%-28s %12lld %12lld %12lld\n", priced ? "price of the launches" : "GPUs launched",
	       (long long)(sums.ray / RESOURCE_UNIT), (long long)(sums.cheapest / RESOURCE_UNIT),
	       (long long)(sums.bound / RESOURCE_UNIT));
	printf("%-28s %12lld %12lld\n", "bundles served", (long long)sums.served_ray,
	       (long long)sums.served_cheapest);
	printf("%-28s %11.1f%% %11.1f%%\n", "mean gap to the bound", 100 * sums.gap_ray / n,
	       100 * sums.gap_cheapest / n);
	printf("%-28s %11.0f%% %11.0f%%\n", "largest gap", 100 * sums.worst_ray,
	       100 * sums.worst_cheapest);
	printf("%-28s %12lld %12lld %12lld\n", "problems at the bound",
	       (long long)sums.at_bound_ray, (long long)sums.at_bound_cheapest,
	       (long long)sums.with_launches);
	printf("%-28s %12lld %12lld\n", "launch again right after", (long long)sums.again_ray,
	       (long long)sums.again_cheapest);
	printf("%-28s %12s %12s %12lld\n", "bound reached by a packing", "", "",
	       (long long)sums.exact);
	printf("%-28s %12.3f %12.3f\n", "milliseconds, mean", sums.milliseconds_ray / (double)count,
	       sums.milliseconds_cheapest / (double)count);
	printf("%-28s %12s %12.1f\n", "milliseconds, most", "", sums.worst_milliseconds);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	compare(count, seed, false);
	printf("\n");
	compare(count, seed, true);
	return 0;
}
