#include "laws_packing.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "laws_case.h"
#include "laws_greedy.h"
#include "laws_random.h"

#define NAME_BYTES 64

static bool wants_greedy;
static int64_t greedy_launches;
/* A group that has launches that nothing needs, and how many. */
static char unneeded_group[NAME_BYTES];
static int64_t unneeded_launches;
static bool unneeded_by_ties; /* that some orders of ties do not need, and others do */

struct schedule_result *__real_schedule(const struct schedule_problem *problem,
					struct arena *arena);
struct schedule_result *__wrap_schedule(const struct schedule_problem *problem,
					struct arena *arena);

/* ---- without one replica ---- */

static bool is_taken(const struct schedule_result *result, size_t node)
{
	return result->nodes[node].status == SCHEDULE_TERMINATE &&
	       result->nodes[node].cause != SCHEDULE_CAUSE_IDLE;
}

static void list_given(const struct schedule_problem *problem, const struct schedule_result *result,
		       size_t type, struct schedule_problem *reduced, struct schedule_node *nodes)
{
	for (size_t i = 0; i < problem->node_count; i++) {
		struct schedule_node *node;

		if (problem->nodes[i].type != type)
			continue;
		node = &nodes[reduced->node_count++];
		*node = problem->nodes[i];
		node->disrupted = node->disrupted || is_taken(result, i);
	}
}

/* All nodes but one replica of the type that the result launches, in the order in which a snapshot
 * lists workers. */
static void list_nodes(const struct schedule_problem *problem, const struct schedule_result *result,
		       size_t less, struct schedule_problem *reduced, struct arena *arena)
{
	struct schedule_node *nodes = arena_array(arena, result->node_count + 1, sizeof(*nodes));

	reduced->nodes = nodes;
	reduced->node_count = 0;
	for (size_t type = 0; type < problem->type_count; type++) {
		const struct schedule_type *kind = &problem->types[type];

		list_given(problem, result, type, reduced, nodes);
		for (int64_t i = type == less ? kind->hosts : 0; i < result->launches[type]; i++)
			nodes[reduced->node_count++] = (struct schedule_node){
				.type = type,
				.total = kind->resources,
				.available = kind->resources,
				.labels = kind->labels,
				.replica = SCHEDULE_NO_INDEX,
			};
	}
	list_given(problem, result, SCHEDULE_NO_INDEX, reduced, nodes);
}

static const struct schedule_type *held_types(const struct schedule_problem *problem,
					      struct arena *arena)
{
	struct schedule_type *types = arena_array(arena, problem->type_count + 1, sizeof(*types));

	memcpy(types, problem->types, problem->type_count * sizeof(*types));
	for (size_t i = 0; i < problem->type_count; i++)
		types[i].launch_held = true;
	return types;
}

static int64_t launches_for_minimum(const struct schedule_problem *problem,
				    const struct schedule_result *result, size_t type)
{
	int64_t count = 0;

	for (size_t i = problem->node_count; i < result->node_count; i++)
		count += result->nodes[i].type == type &&
			 result->nodes[i].launch_phase == SCHEDULE_PHASE_MIN;
	return count;
}

/* The number of orders of ties in which Ray's order serves as much as the result. The next decision
 * still tries what the result leaves over, which then takes its turn before others, so here as well. */
static int serving_ties(const struct schedule_problem *reduced,
			const struct schedule_result *result)
{
	int count = 0;

	for (int ties = 0; ties < LAWS_GREEDY_TIES; ties++)
		count += laws_greedy_serves(reduced, result, ties);
	return count;
}

static void find_unneeded(const struct schedule_problem *problem,
			  const struct schedule_result *result, struct arena *arena)
{
	struct schedule_problem reduced = *problem;
	int serving;

	reduced.types = held_types(problem, arena);
	for (size_t type = 1; type < problem->type_count && !unneeded_launches; type++) {
		if (result->launches[type] - problem->types[type].hosts <
		    launches_for_minimum(problem, result, type))
			continue;
		list_nodes(problem, result, type, &reduced, arena);
		serving = serving_ties(&reduced, result);
		unneeded_by_ties |= serving > 0 && serving < LAWS_GREEDY_TIES;
		if (serving == LAWS_GREEDY_TIES)
			unneeded_launches = result->launches[type];
		snprintf(unneeded_group, sizeof(unneeded_group), "%s", problem->types[type].name);
	}
}

void laws_packing_forget(void)
{
	unneeded_launches = 0;
	unneeded_by_ties = false;
}

void laws_packing_check(struct laws_counts *counts, struct laws_verdict *verdict)
{
	counts->ties += unneeded_by_ties;
	if (unneeded_launches)
		laws_break(verdict, "needed",
			   "group %s: one replica less than %lld launched Pods serves the same",
			   unneeded_group, (long long)unneeded_launches);
}

/* ---- the packing ---- */

/* The linker wraps schedule() with this. The problem does not outlive its decision. */
struct schedule_result *__wrap_schedule(const struct schedule_problem *problem, struct arena *arena)
{
	struct schedule_result *result = __real_schedule(problem, arena);
	bool *taken;

	if (problem->cheapest)
		find_unneeded(problem, result, arena);
	/* Not when it is asked whether a placement group would fit on an empty cluster. */
	if (!wants_greedy || !problem->terminate_over_max)
		return result;
	taken = arena_array(arena, problem->node_count + 1, sizeof(*taken));
	for (size_t i = 0; i < problem->node_count; i++)
		taken[i] = is_taken(result, i);
	for (int ties = 0; ties < LAWS_GREEDY_TIES && greedy_launches <= 0; ties++)
		greedy_launches = laws_greedy_launches(problem, taken, ties);
	return result;
}

bool laws_packing_is_greedy(const struct cJSON *snapshot, struct laws_verdict *verdict)
{
	char *text;

	wants_greedy = true;
	greedy_launches = 0;
	text = laws_case_plan(snapshot, false, verdict);
	memory_free(text);
	wants_greedy = false;
	return greedy_launches > 0;
}

/* ---- prices ---- */

void laws_packing_price(struct cJSON *snapshot, uint64_t seed)
{
	static const char PRICES[] = "{\"currency\":\"EUR\",\"prices\":["
				     "{\"groupLabels\":{\"price\":\"1\"},\"perGPUHour\":1},"
				     "{\"groupLabels\":{\"price\":\"2\"},\"perGPUHour\":2},"
				     "{\"groupLabels\":{\"price\":\"3\"},\"perGPUHour\":3.5}]}";
	struct laws_random random;

	laws_random_init(&random, seed);
	cJSON_SetValuestring(TREE_AT(snapshot, "settings", "packing"), "cheapest");
	cJSON_DeleteItemFromObjectCaseSensitive(snapshot, "priceTable");
	cJSON_AddItemToObject(snapshot, "priceTable", cJSON_Parse(PRICES));
	TREE_EACH(group, facts_groups(snapshot)) {
		struct cJSON *template = TREE_AT(group, "template"), *metadata, *labels;
		char price[] = { (char)('1' + laws_random_below(&random, 3)), '\0' };

		cJSON_DeleteItemFromObjectCaseSensitive(template, "metadata");
		metadata = cJSON_AddObjectToObject(template, "metadata");
		labels = cJSON_AddObjectToObject(metadata, "labels");
		cJSON_AddStringToObject(labels, "price", price);
	}
}
