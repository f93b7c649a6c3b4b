/* Random scheduling problems for the laws of schedule(); the same seed gives the same problem. */
#ifndef TEST_SUPPORT_SCHEDULE_RANDOM_H
#define TEST_SUPPORT_SCHEDULE_RANDOM_H

#include "test/support/schedule_support.h"

#define RANDOM_TYPES 6
#define RANDOM_NODES 24
#define RANDOM_DEMANDS 8
#define RANDOM_GANGS 3

struct random_problem {
	struct schedule_type types[RANDOM_TYPES];
	struct schedule_node nodes[4096]; /* space for those that are launched */
	struct schedule_demand demands[RANDOM_DEMANDS], bundles[RANDOM_DEMANDS];
	struct ray_gang gangs[RANDOM_GANGS];
	struct schedule_constraint constraint;
	struct schedule_problem problem;
	uint64_t state;
};

static inline int64_t pick_below(struct random_problem *r, int64_t limit)
{
	r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)(r->state >> 33) % limit;
}

static inline struct labels random_labels(struct random_problem *r, struct arena *arena)
{
	static const char *const ZONES[] = { "a", "b" };
	struct label *label = ARENA_NEW(arena, struct label);

	*label = (struct label){ "zone", ZONES[pick_below(r, 2)] };
	return (struct labels){ label, pick_below(r, 3) ? 1 : 0 };
}

static inline void random_type(struct random_problem *r, struct arena *arena, size_t index)
{
	int64_t cpus = INT64_C(1) << pick_below(r, 5);
	int64_t gpus = pick_below(r, 2) ? INT64_C(1) << pick_below(r, 4) : 0;
	struct schedule_type *type = &r->types[index];

	*type = type_of(arena_printf(arena, "group-%zu", index),
			resources_of(arena, "CPU", cpus * RESOURCE_UNIT, NULL), 0,
			pick_below(r, 12));
	if (gpus)
		type->resources =
			resources_with(arena, &type->resources, "GPU", gpus * RESOURCE_UNIT);
	type->cost = type->gpu_amount = gpus * RESOURCE_UNIT;
	type->labels = random_labels(r, arena);
	type->hosts = pick_below(r, 8) ? 1 : 2;
	type->max_nodes = type->max_nodes / type->hosts * type->hosts;
	if (!pick_below(r, 4) && type->max_nodes)
		type->min_nodes = type->hosts;
	type->launch_held = !pick_below(r, 12);
	type->gangs_held = !pick_below(r, 12);
}

static inline void random_node(struct random_problem *r, struct arena *arena, size_t index,
			       size_t type)
{
	struct schedule_node *node = &r->nodes[index];
	struct resources available = r->types[type].resources;

	*node = starting_of(r->types, type, index);
	node->may_terminate = type != 0 && pick_below(r, 10);
	if (type && !pick_below(r, 4))
		return;
	if (pick_below(r, 3))
		for (size_t i = 0; i < available.count; i++) {
			int64_t units = available.at[i].amount / RESOURCE_UNIT;

			available = resources_with(arena, &available, available.at[i].name,
						   pick_below(r, units + 1) * RESOURCE_UNIT);
		}
	else
		node->idle_ms = pick_below(r, 3) * 60000;
	node->running = node->registered = true;
	node->available = available;
}

static inline void random_nodes(struct random_problem *r, struct arena *arena)
{
	size_t count = 1;

	random_node(r, arena, 0, 0);
	for (size_t type = 1; type < r->problem.type_count; type++) {
		int64_t hosts = r->types[type].hosts;
		int64_t nodes = pick_below(r, r->types[type].max_nodes / hosts + 1) * hosts;

		for (int64_t i = 0; i < nodes && count + 2 < RANDOM_NODES; i++) {
			random_node(r, arena, count, type);
			if (hosts > 1)
				r->nodes[count].replica = (size_t)(i / hosts);
			count++;
		}
	}
	r->problem.nodes = r->nodes;
	r->problem.node_count = count;
}

static inline struct ray_request *random_request(struct random_problem *r, struct arena *arena)
{
	static const char *const ZONES[] = { "a", "b" };
	struct resources bundle = resources_of(arena, NULL);
	struct ray_request *request;

	if (pick_below(r, 5))
		bundle = resources_with(arena, &bundle, "CPU",
					(1 + pick_below(r, 8)) * RESOURCE_UNIT / 2);
	if (pick_below(r, 2))
		bundle = resources_with(arena, &bundle, "GPU",
					pick_below(r, 3) ? (1 + pick_below(r, 4)) * RESOURCE_UNIT :
							   (1 + pick_below(r, 9)) * 1000);
	request = request_of(arena, bundle);
	if (!pick_below(r, 4)) {
		struct label_selector *selector = ARENA_NEW(arena, struct label_selector);
		struct label_constraint *constraint = ARENA_NEW(arena, struct label_constraint);

		*constraint = (struct label_constraint){ "zone",
							 1 + (int32_t)pick_below(r, 2),
							 { &ZONES[pick_below(r, 2)], 1 } };
		*selector = (struct label_selector){ constraint, 1 };
		request->selectors = selector;
		request->selector_count = 1;
	}
	return request;
}

static inline size_t random_demands(struct random_problem *r, struct arena *arena,
				    struct schedule_demand *demands)
{
	size_t count = (size_t)pick_below(r, RANDOM_DEMANDS);

	for (size_t i = 0; i < count; i++)
		demands[i] = (struct schedule_demand){ .request = random_request(r, arena),
						       .count = 1 + pick_below(r, 9) };
	return count;
}

/* An empty problem with a head and its own random numbers. */
static inline void random_begin(struct random_problem *r, struct arena *arena, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	r->types[0] = type_of("headgroup", resources_of(arena, "CPU", UNITS(2), NULL), 0, 1);
	r->problem.types = r->types;
}

static inline void random_make(struct random_problem *r, struct arena *arena, uint64_t seed)
{
	static const char STRATEGIES[] = { 0, 'P', 'S' };

	random_begin(r, arena, seed);
	r->problem.type_count = 2 + (size_t)pick_below(r, RANDOM_TYPES - 1);
	for (size_t i = 1; i < r->problem.type_count; i++)
		random_type(r, arena, i);
	random_nodes(r, arena);
	r->problem.demands = r->demands;
	r->problem.demand_count = random_demands(r, arena, r->demands);
	r->constraint.demands = r->bundles;
	r->constraint.count = random_demands(r, arena, r->bundles);
	r->problem.constraints = &r->constraint;
	r->problem.constraint_count = !pick_below(r, 3);
	r->problem.gangs = r->gangs;
	r->problem.gang_count = (size_t)pick_below(r, RANDOM_GANGS + 1);
	for (size_t i = 0; i < r->problem.gang_count; i++)
		r->gangs[i] = gang_of(arena, random_request(r, arena), 1 + (size_t)pick_below(r, 5),
				      STRATEGIES[pick_below(r, 3)],
				      arena_printf(arena, "_PG_%zu", i));
	r->problem.conserve_accelerators = true;
	r->problem.terminate_over_max = true;
	r->problem.has_gpu_budget = !pick_below(r, 6);
	r->problem.gpu_budget = pick_below(r, 20) * RESOURCE_UNIT;
}

/* The problem after the launches. */
static inline void apply_launches(struct random_problem *r, const struct schedule_result *result)
{
	for (size_t i = r->problem.node_count; i < result->node_count; i++) {
		size_t type = result->nodes[i].type, at = r->problem.node_count;

		r->nodes[at] = starting_of(r->types, type, at);
		r->nodes[at].replica = r->types[type].hosts > 1 ?
					       at / (size_t)r->types[type].hosts + 1000 :
					       SCHEDULE_NO_INDEX;
		r->problem.node_count++;
	}
}

#endif
