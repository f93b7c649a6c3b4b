/* Random workers as a GCS reports them, and families of demand that grow: placement groups, tasks
 * within them, selectors. For the bench of schedule(). Everything lives in the arena. */
#ifndef TEST_SUPPORT_SCHEDULE_FAMILIES_H
#define TEST_SUPPORT_SCHEDULE_FAMILIES_H

#include "test/support/schedule_support.h"

#define GIB (INT64_C(1) << 30)

static uint64_t seed;

static int64_t pick(int64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)(seed >> 33) % below;
}

static struct resources with_own(struct arena *arena, struct resources resources, size_t index,
				 int64_t store)
{
	resources = resources_with(
		arena, &resources,
		arena_printf(arena, "node:10.0.%zu.%zu", index / 256, index % 256), RESOURCE_UNIT);
	return resources_with(arena, &resources, "object_store_memory", store * RESOURCE_UNIT);
}

static void make_running(struct arena *arena, struct schedule_node *node, size_t index, bool full)
{
	struct resources total = node->total, available = { .at = NULL };
	struct label *labels = arena_array(arena, 3, sizeof(*labels));

	available = with_own(arena, total, index, full || pick(2) ? 8 * GIB - pick(GIB) : 8 * GIB);
	for (size_t i = 0; i < total.count; i++) {
		int64_t units = total.at[i].amount / RESOURCE_UNIT,
			left = full ? 0 : pick(units + 1);

		if (!strcmp(total.at[i].name, "memory"))
			left = full ? 0 : units / 8 * pick(9);
		available =
			resources_with(arena, &available, total.at[i].name, left * RESOURCE_UNIT);
	}
	node->running = node->registered = true;
	node->total = with_own(arena, total, index, 8 * GIB);
	node->available = available;
	labels[0] = (struct label){ "ray.io/node-id", arena_printf(arena, "%056zx", index) };
	labels[1] = (struct label){ "ray.io/node-group", "g" };
	if (node->labels.count)
		labels[2] = node->labels.at[0];
	node->labels = (struct labels){ labels, 2 + node->labels.count };
}

struct family {
	const char *name;
	/* Makes the nodes and the demand of `units` gangs, tasks or selectors. */
	void (*make)(struct arena *arena, struct schedule_problem *problem, size_t nodes,
		     size_t units);
	size_t nodes, units; /* of the largest size */
	bool same_nodes;     /* in all sizes */
	bool fewest_gpus;
	int aim;       /* times the base */
	double growth; /* aim of the exponent */
};

/* Running nodes of one type. In use of each: any part, or nothing when `hosts` is above 1. */
static void make_workers(struct arena *arena, struct schedule_problem *problem, size_t count,
			 int64_t hosts)
{
	struct schedule_type *types = arena_array(arena, 2, sizeof(*types));
	struct schedule_node *nodes = arena_array(arena, count + 1, sizeof(*nodes));

	types[0] = type_of("headgroup", resources_of(arena, "CPU", UNITS(8), NULL), 0, 1);
	types[1] = type_of("group",
			   resources_of(arena, "CPU", UNITS(64), "GPU", UNITS(8), "memory",
					256 * GIB * RESOURCE_UNIT, NULL),
			   0, 1000000);
	types[1].accelerator = true;
	types[1].hosts = hosts;
	for (size_t i = 0; i < count; i++) {
		nodes[i] = starting_of(types, 1, i);
		make_running(arena, &nodes[i], i, false);
		nodes[i].labels = (struct labels){ .at = NULL };
		if (hosts > 1) {
			nodes[i].replica = i / (size_t)hosts;
			nodes[i].available = nodes[i].total;
		}
	}
	problem->types = types;
	problem->type_count = 2;
	problem->nodes = nodes;
	problem->node_count = count;
}

static struct ray_gang numbered_gang(struct arena *arena, const struct ray_request *bundle,
				     size_t count, char strategy, size_t number)
{
	return gang_of(arena, bundle, count, strategy, arena_printf(arena, "_PG_%032zx", number));
}

static void make_gangs(struct arena *arena, struct schedule_problem *problem, size_t units,
		       bool distinct, char strategy, size_t bundles)
{
	struct ray_gang *gangs = arena_array(arena, units, sizeof(*gangs));

	for (size_t i = 0; i < units; i++) {
		int64_t cpu = distinct ? UNITS(4) + (int64_t)i * 10 : UNITS(4);

		gangs[i] = numbered_gang(
			arena,
			request_of(arena, resources_of(arena, "CPU", cpu, "GPU", UNITS(1), NULL)),
			bundles, strategy, i);
	}
	problem->gangs = gangs;
	problem->gang_count = units;
}

static void distinct_groups(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			    size_t units)
{
	make_workers(arena, problem, nodes, 1);
	make_gangs(arena, problem, units, true, 0, 4);
}

static void equal_groups(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			 size_t units)
{
	make_workers(arena, problem, nodes, 1);
	make_gangs(arena, problem, units, false, 0, 4);
}

static void spread_groups(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			  size_t units)
{
	make_workers(arena, problem, nodes, 1);
	make_gangs(arena, problem, units, false, 'S', 4);
}

/* Each has lost one of its four bundles; the others keep their nodes from taking it. */
static void rescheduled_groups(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			       size_t units)
{
	struct schedule_node *at;

	make_workers(arena, problem, nodes, 1);
	at = arena_array(arena, nodes + 1, sizeof(*at));
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	make_gangs(arena, problem, units, false, 'S', 1);
	for (size_t i = 0; i < nodes; i++) {
		struct label *labels = arena_array(arena, 1, sizeof(*labels));

		labels[0] = (struct label){ problem->gangs[i % units].details, "" };
		at[i].labels = (struct labels){ labels, 1 };
	}
	problem->nodes = at;
}

/* Slices of four hosts that start; a gang takes all GPUs of one. */
static void slices(struct arena *arena, struct schedule_problem *problem, size_t nodes,
		   size_t units)
{
	struct ray_gang *gangs = arena_array(arena, units, sizeof(*gangs));
	const struct ray_request *bundle =
		request_of(arena, resources_of(arena, "GPU", UNITS(8), NULL));

	make_workers(arena, problem, nodes / 8 * 4, 4);
	for (size_t i = 0; i < units; i++)
		gangs[i] = numbered_gang(arena, bundle, 4, 'S', i);
	problem->gangs = gangs;
	problem->gang_count = units;
}

/* Tasks in placement groups: each node has the resources of its bundles. */
static void bundle_tasks(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			 size_t units)
{
	struct schedule_demand *demands = arena_array(arena, units, sizeof(*demands));
	struct schedule_node *at;

	make_workers(arena, problem, nodes, 1);
	at = arena_array(arena, nodes + 1, sizeof(*at));
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	for (size_t i = 0; i < units; i++) {
		const char *cpu = arena_printf(arena, "CPU_group_%032zx", i);
		const char *bundle = arena_printf(arena, "bundle_group_%032zx", i);
		struct schedule_node *node = &at[i % nodes];
		struct resources own =
			resources_of(arena, cpu, UNITS(1), bundle, UNITS(1000), NULL);

		for (size_t j = 0; j < own.count; j++) {
			node->total = resources_with(arena, &node->total, own.at[j].name,
						     own.at[j].amount);
			node->available = resources_with(arena, &node->available, own.at[j].name,
							 own.at[j].amount);
		}
		demands[i] = (struct schedule_demand){
			.request = request_of(arena, resources_of(arena, cpu, UNITS(1), bundle,
								  (int64_t)10, NULL)),
			.count = 2,
		};
	}
	problem->nodes = at;
	problem->demands = demands;
	problem->demand_count = units;
}

/* Each task wants a node of its own, by a label. */
static void selectors(struct arena *arena, struct schedule_problem *problem, size_t nodes,
		      size_t units)
{
	struct schedule_demand *demands = arena_array(arena, units, sizeof(*demands));
	struct schedule_node *at;

	make_workers(arena, problem, nodes, 1);
	at = arena_array(arena, nodes + 1, sizeof(*at));
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	for (size_t i = 0; i < nodes; i++) {
		struct label *labels = arena_array(arena, 1, sizeof(*labels));

		labels[0] = (struct label){ "ray.io/node-id", arena_printf(arena, "%056zx", i) };
		at[i].labels = (struct labels){ labels, 1 };
	}
	for (size_t i = 0; i < units; i++) {
		struct ray_request *request =
			request_of(arena, resources_of(arena, "CPU", UNITS(1), NULL));
		struct label_constraint *constraint = ARENA_NEW(arena, struct label_constraint);
		struct label_selector *selector = ARENA_NEW(arena, struct label_selector);
		const char **values = arena_array(arena, 1, sizeof(*values));

		values[0] = arena_printf(arena, "%056zx", i);
		*constraint = (struct label_constraint){ .key = "ray.io/node-id",
							 .operation = LABEL_OPERATOR_IN,
							 .values = { values, 1 } };
		*selector = (struct label_selector){ constraint, 1 };
		request->selectors = selector;
		request->selector_count = 1;
		demands[i] = (struct schedule_demand){ .request = request, .count = 1 };
	}
	problem->nodes = at;
	problem->demands = demands;
	problem->demand_count = units;
}

/* CPU and memory amounts of their own, in the proportion of the workers on average. */
static struct resources own_amounts(struct arena *arena, size_t index)
{
	return resources_of(arena, "CPU", UNITS(1) + pick(7 * RESOURCE_UNIT), "memory",
			    ((1 + pick(31)) * GIB + (int64_t)index) * RESOURCE_UNIT, NULL);
}

static void make_tasks(struct arena *arena, struct schedule_problem *problem, size_t units,
		       int64_t each, bool parts)
{
	struct schedule_demand *demands = arena_array(arena, units, sizeof(*demands));

	for (size_t i = 0; i < units; i++) {
		struct resources own = own_amounts(arena, i);

		if (parts)
			own = resources_with(arena, &own, "GPU", 100 * (1 + pick(99)));
		demands[i] = (struct schedule_demand){ .request = request_of(arena, own),
						       .count = each };
	}
	problem->demands = demands;
	problem->demand_count = units;
}

static void distinct_tasks(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			   size_t units)
{
	make_workers(arena, problem, nodes, 1);
	make_tasks(arena, problem, units, 1, false);
}

static void parts_of_gpus(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			  size_t units)
{
	make_workers(arena, problem, nodes, 1);
	make_tasks(arena, problem, units, 1, true);
}

/* 100,000 tasks. */
static void many_shapes(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			size_t units)
{
	make_workers(arena, problem, nodes, 1);
	make_tasks(arena, problem, units, 100000 / (int64_t)units, false);
}

/* request_resources of bundles of their own. */
static void requested_bundles(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			      size_t units)
{
	struct schedule_constraint *constraint = ARENA_NEW(arena, struct schedule_constraint);

	make_workers(arena, problem, nodes, 1);
	make_tasks(arena, problem, units, 1, false);
	*constraint = (struct schedule_constraint){ problem->demands, units, false };
	problem->constraints = constraint;
	problem->constraint_count = 1;
	problem->demand_count = 0;
}

/* One placement group PACK with bundles of their own. */
static void one_group(struct arena *arena, struct schedule_problem *problem, size_t nodes,
		      size_t units)
{
	struct ray_gang *gang = ARENA_NEW(arena, struct ray_gang);
	struct ray_request *bundles = arena_array(arena, units, sizeof(*bundles));

	make_workers(arena, problem, nodes, 1);
	for (size_t i = 0; i < units; i++)
		bundles[i] = *request_of(arena, own_amounts(arena, i));
	gang->requests = bundles;
	gang->request_count = units;
	problem->gangs = gang;
	problem->gang_count = 1;
}

/* request_resources of bundles of their own, met by idle workers of 100 groups with a resource of their own. Each
 * decision places that again before it launches. */
static void met_bundles(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			size_t units)
{
	enum { GROUPS = 100 };
	struct schedule_type *types = arena_array(arena, GROUPS, sizeof(*types));
	struct schedule_node *at = arena_array(arena, nodes, sizeof(*at));

	requested_bundles(arena, problem, 1, units);
	for (size_t i = 0; i < GROUPS; i++)
		types[i] = type_of(arena_printf(arena, "group-%zu", i),
				   resources_of(arena, "CPU", UNITS(64), "memory",
						256 * GIB * RESOURCE_UNIT,
						arena_printf(arena, "r%zu", i), UNITS(1), NULL),
				   0, 1000000);
	for (size_t i = 0; i < nodes; i++) {
		at[i] = starting_of(types, i % GROUPS, i);
		make_running(arena, &at[i], i, false);
		at[i].available = at[i].total;
	}
	problem->types = types;
	problem->type_count = GROUPS;
	problem->nodes = at;
	problem->node_count = nodes;
}

static const struct family FAMILIES[] = {
	{ "distinct tasks", distinct_tasks, 800, 8000, false, false, 40, 1.3 },
	{ "parts of GPUs", parts_of_gpus, 400, 4000, false, false, 40, 1.3 },
	{ "one group of bundles", one_group, 400, 4000, false, false, 40, 1.4 },
	{ "tasks in bundles", bundle_tasks, 1000, 4000, true, false, 40, 1.3 },
	{ "distinct selectors", selectors, 1000, 4000, true, false, 40, 1.3 },
	{ "100,000 tasks", many_shapes, 10000, 4000, true, false, 0, 0 }, /* aim: 1 s */
	{ "distinct groups of 4", distinct_groups, 5000, 1000, false, false, 80, 1.3 },
	{ "equal groups of 4", equal_groups, 10000, 1000, false, false, 60, 1.3 },
	{ "STRICT_SPREAD groups", spread_groups, 5000, 1000, false, false, 80, 1.3 },
	{ "rescheduled groups", rescheduled_groups, 5000, 1000, false, false, 80, 1.3 },
	{ "slices of 4 hosts", slices, 8000, 2000, false, false, 80, 1.3 },
	{ "request_resources", requested_bundles, 400, 4000, false, false, 0, 1.3 },
	{ "the same, met", met_bundles, 4000, 32000, false, false, 0, 1.3 },
	{ "distinct groups of 4", distinct_groups, 5000, 1000, false, true, 80, 0 },
	{ "equal groups of 4", equal_groups, 10000, 1000, false, true, 0, 0 },
};

#endif
