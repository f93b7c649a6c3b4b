#include "core/schedule/schedule.h"

#include <string.h>

#include "core/schedule/schedule_cheapest.h"
#include "core/schedule/schedule_phases.h"

/* ---- the policy ---- */

struct schedule_result *schedule(const struct schedule_problem *problem, struct arena *arena)
{
	const struct schedule_policy ray = { .spare_gpus = false };

	return problem->cheapest ? schedule_cheapest(problem, arena) :
				   schedule_phases(problem, &ray, arena);
}

/* ---- empty nodes ---- */

static bool labels_allow(const struct ray_request *request, const struct labels *labels)
{
	ARRAY_EACH(const struct placement_constraint, placement, request->placements,
		   request->placement_count) {
		const char *value = placement->has_anti_affinity ?
					    labels_value(labels, placement->anti_affinity.key) :
					    NULL;

		if (value && !strcmp(value, placement->anti_affinity.value))
			return false;
	}
	for (size_t i = 0; i < request->selector_count; i++)
		if (label_selector_holds(&request->selectors[i], labels))
			return true;
	return !request->selector_count;
}

static bool amount_fits(const struct bundle_entry *entry, const struct resources *total)
{
	bool implicit = !strncmp(entry->name, RAY_IMPLICIT_RESOURCE_PREFIX,
				 strlen(RAY_IMPLICIT_RESOURCE_PREFIX));
	int64_t amount = resources_amount(total, entry->name, implicit ? RESOURCE_UNIT : 0);

	if (entry->amount > amount)
		return false;
	/* A part of a GPU is on one GPU. */
	return strcmp(entry->name, "GPU") != 0 || entry->amount >= RESOURCE_UNIT ||
	       amount >= RESOURCE_UNIT || entry->amount <= amount % RESOURCE_UNIT;
}

bool schedule_fits_empty(const struct ray_request *request, const struct resources *total,
			 const struct labels *labels)
{
	if (request->problem)
		return false;
	for (size_t i = 0; i < request->bundle_count; i++)
		if (!amount_fits(&request->bundle[i], total))
			return false;
	return labels_allow(request, labels);
}

/* Whether the amounts of a new node of the type may take the request; CPU and memory of a resizable one may grow. */
static bool amounts_fit(const struct schedule_type *type, const struct ray_request *request)
{
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if (type->resizable &&
		    (strcmp(entry->name, "CPU") == 0 || strcmp(entry->name, "memory") == 0))
			continue;
		if (!amount_fits(entry, &type->resources))
			return false;
	}
	return !request->problem;
}

/* The types whose amounts may take a request. The choices of a topology_strategy differ in labels alone. */
struct fitting {
	const struct ray_request *request; /* NULL: not read yet */
	VEC(size_t) types;
};

static void find_fitting(const struct schedule_problem *problem, const struct ray_request *request,
			 struct arena *arena, struct fitting *fitting)
{
	if (fitting->request && fitting->request->bundle == request->bundle &&
	    fitting->request->bundle_count == request->bundle_count &&
	    fitting->request->problem == request->problem)
		return;
	fitting->request = request;
	fitting->types.count = 0;
	for (size_t i = 1; i < problem->type_count; i++)
		if (amounts_fit(&problem->types[i], request))
			VEC_PUSH(arena, &fitting->types, i);
}

/* Whether the first bundle of a choice fits some node of the problem, or a new one. */
static bool first_fits(const struct schedule_problem *problem, const struct ray_gang *gang,
		       size_t choice, struct arena *arena, struct fitting *fitting)
{
	size_t count;
	const struct ray_request *first = schedule_gang_requests(gang, choice, &count);

	if (!count)
		return true;
	ARRAY_EACH(const struct schedule_node, node, problem->nodes, problem->node_count) {
		if (schedule_fits_empty(first, &node->total, &node->labels))
			return true;
	}
	find_fitting(problem, first, arena, fitting);
	VEC_EACH(const size_t, type, &fitting->types) {
		if (labels_allow(first, &problem->types[*type].labels))
			return true;
	}
	return false;
}

/* The gang with the choices that may fit. */
static struct ray_gang possible_choices(const struct schedule_problem *problem,
					const struct ray_gang *gang, struct arena *arena)
{
	struct ray_gang possible = *gang;
	struct bundle_selector *kept = arena_array(arena, gang->selector_count, sizeof(*kept));
	struct fitting fitting = { .request = NULL };

	possible.selectors = kept;
	possible.selector_count = 0;
	for (size_t i = 0; i < gang->selector_count; i++)
		if (first_fits(problem, gang, i, arena, &fitting))
			kept[possible.selector_count++] = gang->selectors[i];
	return possible;
}

bool schedule_gang_possible(const struct schedule_problem *problem, const struct ray_gang *gang,
			    struct arena *arena)
{
	struct ray_gang possible = *gang;
	struct fitting fitting = { .request = NULL };
	struct schedule_type *types = arena_array(arena, problem->type_count + 1, sizeof(*types));
	struct schedule_node *head = ARENA_NEW(arena, struct schedule_node);
	struct schedule_problem empty = {
		.types = types,
		.type_count = problem->type_count,
		.nodes = head,
		.gangs = &possible,
		.gang_count = 1,
		.accelerators = problem->accelerators,
	};

	for (size_t i = 0; i < problem->type_count; i++) {
		types[i] = problem->types[i];
		types[i].min_nodes = 0;
		types[i].launch_held = types[i].gangs_held = types[i].has_pool = false;
	}
	for (size_t i = 0; i < problem->node_count; i++) {
		if (!problem->nodes[i].head)
			continue;
		*head = problem->nodes[i];
		head->available = head->total;
		empty.node_count = 1;
		break;
	}
	if (gang->selector_count)
		possible = possible_choices(&empty, gang, arena);
	if (gang->selector_count ? !possible.selector_count :
				   !first_fits(&empty, gang, 0, arena, &fitting))
		return false;
	return schedule(&empty, arena)->gangs[0].count == 0;
}
