/* Random problems with rare properties: a maximum for the cluster, removed groups, nodes that
 * leave, odd counts, demand for thousands, budgets of 0. Laws: the same problem gives the same
 * result; limits hold; only permitted nodes are terminated; every bundle has a place or is left
 * over. SCHEDULE_ODD: how many. */
#include <stdlib.h>

#include "base/memory.h"
#include "test/support/schedule_random.h"
#include "test/support/support.h"

static struct random_problem world;

#define LAW(condition, where)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("seed %llu: %s (at %zu)", (unsigned long long)seed, #condition,   \
				 (size_t)(where));                                                 \
	} while (0)

static void make_nodes_odd(struct random_problem *r)
{
	for (size_t i = 1; i < r->problem.node_count; i++) {
		struct schedule_node *node = &r->nodes[i];

		/* The hosts of a replica are of one group and leave together. */
		if (node->replica == SCHEDULE_NO_INDEX && !pick_below(r, 12))
			node->type = SCHEDULE_NO_INDEX;
		if (node->replica == SCHEDULE_NO_INDEX && !pick_below(r, 12))
			node->disrupted = true;
		if (!pick_below(r, 12))
			node->available = node->total;
		if (!pick_below(r, 12))
			node->available = (struct resources){ .count = 0 };
		if (!pick_below(r, 20))
			node->running = false;
		node->idle_ms = pick_below(r, 3) ? node->idle_ms : pick_below(r, 4) * 40000;
		node->idle_timeout_ms = pick_below(r, 2) * 60000;
	}
}

static void make_demand_odd(struct random_problem *r, struct arena *arena)
{
	bool *new_only = arena_array(arena, RANDOM_GANGS, sizeof(*new_only));

	for (size_t i = 0; i < r->problem.demand_count; i++) {
		struct schedule_demand *demand = &r->demands[i];

		if (!pick_below(r, 8))
			demand->count = pick_below(r, 2) ? 3000 : 0;
		if (!pick_below(r, 6))
			demand->place = SCHEDULE_DEMAND_NEW_ONLY;
	}
	for (size_t i = 0; i < RANDOM_GANGS; i++)
		new_only[i] = !pick_below(r, 3);
	r->problem.gangs_new_only = pick_below(r, 2) ? new_only : NULL;
	r->constraint.atomic = pick_below(r, 2);
}

static void make(struct random_problem *r, struct arena *arena, uint64_t seed)
{
	static const int64_t budgets[] = { 0, 1, 3, 1000 };
	static const char *const gpu = "GPU";
	static const struct strings accelerators = { &gpu, 1 };

	random_make(r, arena, seed);
	make_nodes_odd(r);
	make_demand_odd(r, arena);
	for (size_t i = 1; i < r->problem.type_count; i++)
		if (!pick_below(r, 6))
			r->types[i].max_nodes = pick_below(r, 2) ? 1000 * r->types[i].hosts : 0;
	for (size_t i = 1; i < r->problem.type_count; i++)
		if (r->types[i].min_nodes > r->types[i].max_nodes)
			r->types[i].min_nodes = 0;
	r->problem.has_max_nodes = pick_below(r, 2);
	r->problem.max_nodes = pick_below(r, 30);
	r->problem.conserve_accelerators = pick_below(r, 2);
	r->problem.accelerators = pick_below(r, 2) ? &accelerators : NULL;
	r->problem.has_gpu_budget = !pick_below(r, 3);
	r->problem.gpu_budget = budgets[pick_below(r, 4)] * RESOURCE_UNIT;
	r->problem.cheapest = pick_below(r, 2);
	r->problem.terminate_over_max = pick_below(r, 2);
	r->problem.disruption_takes_nothing = pick_below(r, 2);
}

static void check_ceilings(uint64_t seed, const struct schedule_problem *problem,
			   const struct schedule_result *result)
{
	int64_t launches = 0, gpus = 0;

	for (size_t t = 0; t < problem->type_count; t++) {
		int64_t there = result->launches[t];

		LAW(result->launches[t] >= 0, t);
		for (size_t i = 0; i < problem->node_count; i++)
			there += problem->nodes[i].type == t &&
				 result->nodes[i].status != SCHEDULE_TERMINATE;
		LAW(!result->launches[t] || there <= problem->types[t].max_nodes, t);
		launches += result->launches[t];
		gpus += result->launches[t] * problem->types[t].gpu_amount;
	}
	LAW(!problem->has_gpu_budget || gpus <= problem->gpu_budget, gpus);
	/* The operator creates the workers of minReplicas in any case. */
	for (size_t i = problem->node_count; i < result->node_count; i++)
		launches -= result->nodes[i].launch_phase == SCHEDULE_PHASE_MIN;
	LAW(!problem->has_max_nodes || !launches || launches <= problem->max_nodes, launches);
}

static void check_terminations(uint64_t seed, const struct schedule_problem *problem,
			       const struct schedule_result *result)
{
	for (size_t i = 0; i < problem->node_count; i++) {
		const struct schedule_node *node = &problem->nodes[i];

		if (result->nodes[i].status == SCHEDULE_TERMINATE)
			LAW(node->disrupted || (node->may_terminate && !node->head), i);
		if (result->nodes[i].status == SCHEDULE_TERMINATE && !node->disrupted &&
		    !problem->terminate_over_max)
			LAW(result->nodes[i].cause == SCHEDULE_CAUSE_IDLE, i);
	}
}

static void check_demand(uint64_t seed, const struct schedule_problem *problem,
			 const struct schedule_result *result)
{
	for (size_t d = 0; d < problem->demand_count; d++) {
		int64_t left = problem->demands[d].count - result->demands[d].count;

		for (size_t i = 0; i < result->node_count; i++)
			for (size_t p = 0; p < result->nodes[i].placement_count; p++) {
				const struct schedule_placement *placement =
					&result->nodes[i].placements[p];

				if (placement->phase == SCHEDULE_PHASE_DEMAND &&
				    placement->index == d)
					left -= placement->count;
			}
		LAW(left == 0, d);
	}
}

static void check_same(uint64_t seed, const struct schedule_result *a,
		       const struct schedule_result *b, size_t types)
{
	LAW(a->node_count == b->node_count, a->node_count);
	for (size_t t = 0; t < types; t++)
		LAW(a->launches[t] == b->launches[t], t);
	for (size_t i = 0; i < a->node_count; i++)
		LAW(a->nodes[i].status == b->nodes[i].status &&
			    a->nodes[i].placement_count == b->nodes[i].placement_count,
		    i);
}

static void test_laws(void **state)
{
	const char *text = getenv("SCHEDULE_ODD");
	uint64_t count = text ? strtoull(text, NULL, 10) : 600;

	(void)state;
	for (uint64_t seed = 1; seed <= count; seed++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		const struct schedule_result *result;

		make(&world, &arena, seed);
		result = schedule(&world.problem, &arena);
		check_ceilings(seed, &world.problem, result);
		check_terminations(seed, &world.problem, result);
		check_demand(seed, &world.problem, result);
		if (seed % 4 == 0)
			check_same(seed, result, schedule(&world.problem, &arena),
				   world.problem.type_count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_laws) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
