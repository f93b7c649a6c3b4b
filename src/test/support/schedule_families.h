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
	*constraint = (struct schedule_constraint){ .demands = problem->demands, .count = units };
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

static struct label_selector selector_of(struct arena *arena, const char *key, const char *value)
{
	struct label_constraint *constraint = ARENA_NEW(arena, struct label_constraint);
	const char **values = arena_array(arena, 1, sizeof(*values));

	values[0] = value;
	*constraint = (struct label_constraint){ .key = key,
						 .operation = LABEL_OPERATOR_IN,
						 .values = { values, 1 } };
	return (struct label_selector){ constraint, 1 };
}

static const char *own_id(struct arena *arena, size_t index)
{
	return arena_printf(arena, "%056zx", index);
}

/* Two choices: a node of its own, or any node of a zone. */
static struct ray_request *selecting(struct arena *arena, struct resources resources, size_t index)
{
	struct ray_request *request = request_of(arena, resources);
	struct label_selector *choices = arena_array(arena, 2, sizeof(*choices));

	choices[0] = selector_of(arena, "ray.io/node-id", own_id(arena, index));
	choices[1] = selector_of(arena, "zone", "a");
	request->selectors = choices;
	request->selector_count = 2;
	return request;
}

/* Each has a label of its own; three of four are in the zone. */
static void make_labeled(struct arena *arena, struct schedule_problem *problem, size_t nodes)
{
	struct schedule_node *at;

	make_workers(arena, problem, nodes, 1);
	at = arena_array(arena, nodes + 1, sizeof(*at));
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	for (size_t i = 0; i < nodes; i++) {
		struct label *labels = arena_array(arena, 2, sizeof(*labels));

		labels[0] = (struct label){ "ray.io/node-id", own_id(arena, i) };
		labels[1] = (struct label){ "zone", i % 4 ? "a" : "b" };
		at[i].labels = (struct labels){ labels, 2 };
	}
	problem->nodes = at;
}

/* Tasks that prefer a node of their own; many nodes serve the second choice of all. */
static void fallback_selectors(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			       size_t units)
{
	struct schedule_demand *demands = arena_array(arena, units, sizeof(*demands));

	make_labeled(arena, problem, nodes);
	for (size_t i = 0; i < units; i++)
		demands[i] = (struct schedule_demand){
			.request = selecting(arena, resources_of(arena, "CPU", UNITS(1), NULL), i),
			.count = 1,
		};
	problem->demands = demands;
	problem->demand_count = units;
}

/* The same with amounts of their own. */
static void distinct_fallback(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			      size_t units)
{
	struct schedule_demand *demands = arena_array(arena, units, sizeof(*demands));

	make_labeled(arena, problem, nodes);
	for (size_t i = 0; i < units; i++)
		demands[i] = (struct schedule_demand){
			.request = selecting(arena, own_amounts(arena, i), i),
			.count = 1,
		};
	problem->demands = demands;
	problem->demand_count = units;
}

static void spread_selectors(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			     size_t units)
{
	struct ray_gang *gangs = arena_array(arena, units, sizeof(*gangs));

	make_labeled(arena, problem, nodes);
	for (size_t i = 0; i < units; i++)
		gangs[i] = numbered_gang(
			arena,
			selecting(arena,
				  resources_of(arena, "CPU", UNITS(4), "GPU", UNITS(1), NULL), i),
			2, 'S', i);
	problem->gangs = gangs;
	problem->gang_count = units;
}

/* Worker groups of one shape, 20 nodes each. */
static void groups_of_one_shape(struct arena *arena, struct schedule_problem *problem, size_t nodes,
				size_t units)
{
	struct schedule_type *types = arena_array(arena, nodes / 20 + 1, sizeof(*types));
	struct schedule_node *at;

	make_workers(arena, problem, nodes, 1);
	at = arena_array(arena, nodes + 1, sizeof(*at));
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	types[0] = problem->types[0];
	for (size_t i = 1; i <= nodes / 20; i++) {
		types[i] = problem->types[1];
		types[i].name = arena_printf(arena, "group-%zu", i);
	}
	for (size_t i = 0; i < nodes; i++)
		at[i].type = 1 + i / 20;
	problem->types = types;
	problem->type_count = nodes / 20 + 1;
	problem->nodes = at;
	make_gangs(arena, problem, units, false, 0, 4);
}

/* The same, all of them idle. */
static void idle_groups(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			size_t units)
{
	struct schedule_node *at = arena_array(arena, nodes + 1, sizeof(*at));

	groups_of_one_shape(arena, problem, nodes, units);
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	for (size_t i = 0; i < nodes; i++)
		at[i].available = at[i].total;
	problem->nodes = at;
}

/* The same without nodes. */
static void launched_groups(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			    size_t units)
{
	groups_of_one_shape(arena, problem, nodes, units);
	problem->node_count = 0;
}

/* Placement groups with 32 selectors each, of which only the last fits. */
static void wide_fallback(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			  size_t units)
{
	enum { CHOICES = 32 };
	struct ray_gang *gangs;

	make_labeled(arena, problem, nodes);
	make_gangs(arena, problem, units, false, 0, 2);
	gangs = arena_array(arena, units, sizeof(*gangs));
	for (size_t i = 0; i < units; i++) {
		struct bundle_selector *choices = arena_array(arena, CHOICES, sizeof(*choices));

		gangs[i] = problem->gangs[i];
		for (size_t j = 0; j < CHOICES; j++) {
			struct ray_request *requests =
				arena_array(arena, gangs[i].request_count, sizeof(*requests));

			for (size_t k = 0; k < gangs[i].request_count; k++) {
				struct label_selector *selector =
					ARENA_NEW(arena, struct label_selector);

				*selector =
					j + 1 < CHOICES ?
						selector_of(arena, "rack",
							    arena_printf(arena, "r%zu-%zu", i, j)) :
						selector_of(arena, "zone", "a");
				requests[k] = gangs[i].requests[k];
				requests[k].selectors = selector;
				requests[k].selector_count = 1;
			}
			choices[j].requests = requests;
			choices[j].count = gangs[i].request_count;
		}
		gangs[i].selectors = choices;
		gangs[i].selector_count = CHOICES;
	}
	problem->gangs = gangs;
}

/* Own tasks beside workers of which each may grow to twice its size. */
static void resized_tasks(struct arena *arena, struct schedule_problem *problem, size_t nodes,
			  size_t units)
{
	struct schedule_size *size = ARENA_NEW(arena, struct schedule_size);
	struct schedule_node *at;

	distinct_tasks(arena, problem, nodes, units);
	*size = (struct schedule_size){ UNITS(128), 512 * GIB * RESOURCE_UNIT };
	at = arena_array(arena, nodes + 1, sizeof(*at));
	memcpy(at, problem->nodes, nodes * sizeof(*at));
	for (size_t i = 0; i < nodes; i++)
		at[i].resizable = size;
	problem->nodes = at;
}

/* Tasks that any bundle of their group accepts: the group has a bundle on each of four nodes. */
static void group_tasks(struct arena *arena, struct schedule_problem *problem, size_t nodes,
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
		struct resources own =
			resources_of(arena, cpu, UNITS(1), bundle, UNITS(1000), NULL);

		for (size_t k = 0; k < 4; k++) {
			struct schedule_node *node = &at[(i * 4 + k) % nodes];

			for (size_t j = 0; j < own.count; j++) {
				node->total = resources_with(arena, &node->total, own.at[j].name,
							     own.at[j].amount);
				node->available = resources_with(arena, &node->available,
								 own.at[j].name, own.at[j].amount);
			}
		}
		demands[i] = (struct schedule_demand){
			.request = request_of(arena, resources_of(arena, cpu, UNITS(1), bundle,
								  (int64_t)10, NULL)),
			.count = 4,
		};
	}
	problem->nodes = at;
	problem->demands = demands;
	problem->demand_count = units;
}

static const struct family FAMILIES[] = {
	{ "selectors, fallback", fallback_selectors, 400, 4000, false, false, 40, 1.4 },
	{ "the same, own amounts", distinct_fallback, 400, 4000, false, false, 40, 1.4 },
	{ "SPREAD with selectors", spread_selectors, 2000, 1000, false, false, 40, 1.4 },
	{ "groups of one shape", groups_of_one_shape, 4000, 1000, false, false, 40, 1.4 },
	{ "the same, idle", idle_groups, 4000, 1000, false, false, 40, 1.4 },
	{ "the same, launched", launched_groups, 4000, 1000, false, false, 40, 1.4 },
	{ "32 choices", wide_fallback, 1000, 1000, false, false, 40, 1.4 },
	{ "own tasks, resizable", resized_tasks, 2000, 8000, false, false, 0, 1.4 },
	{ "bundles on 16 nodes", bundle_tasks, 16, 4000, true, false, 40, 1.4 },
	{ "tasks in any bundle", group_tasks, 4000, 4000, false, false, 40, 1.4 },
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
