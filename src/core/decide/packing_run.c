#include "core/decide/packing_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/gang_wait.h"
#include "core/decide/starved.h"
#include "core/schedule/schedule.h"

static void note_launch(struct group_packing *group, bool scheduled, enum schedule_phase phase)
{
	switch (phase) {
	case SCHEDULE_PHASE_MIN:
		group->whole += scheduled;
		group->launches_for_min = true;
		break;
	case SCHEDULE_PHASE_CONSTRAINT:
		group->whole++;
		group->launches_for_request = true;
		break;
	case SCHEDULE_PHASE_GANG:
		group->whole++;
		group->launches_for_demand = true;
		break;
	case SCHEDULE_PHASE_DEMAND:
		group->launches_for_demand = true;
		break;
	}
}

static void note_launches(struct packing *packing)
{
	ARRAY_EACH(const struct schedule_node_result, node, packing->result->nodes,
		   packing->result->node_count) {
		if (node->worker == SCHEDULE_NO_INDEX && node->status == SCHEDULE_LAUNCH &&
		    node->type > 0) {
			struct group_packing *group = &packing->groups[node->type - 1];

			note_launch(group, packing->facts->groups[node->type - 1].schedule != NULL,
				    node->launch_phase);
			group->requested += node->launch_phase == SCHEDULE_PHASE_CONSTRAINT &&
					    packing_is_requested(packing, node);
		}
	}
	for (size_t g = 0; g < packing->facts->group_count; g++)
		packing->groups[g].launches = packing->result->launches[g + 1];
}

static int compare_amounts(const void *left, const void *right)
{
	const struct resource *a = left;
	const struct resource *b = right;
	int order = strcmp(a->name, b->name);
	return order != 0 ? order : (a->amount > b->amount) - (a->amount < b->amount);
}

static bool is_left(const struct schedule_leftover *leftovers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (leftovers[i].count > 0)
			return true;
	return false;
}

/* Some demand, which the report explains, has no place. */
static bool is_anything_left(const struct packing *packing)
{
	const struct schedule_result *result = packing->result;
	bool left = is_left(result->demands, packing->problem.demand_count) ||
		    is_left(result->gangs, packing->problem.gang_count);

	for (size_t c = 0; c < packing->problem.constraint_count; c++)
		left = left ||
		       is_left(result->constraints[c], packing->problem.constraints[c].count);
	return left;
}

/* The most that any living node has of each resource; needed where demand is left. */
static void measure_living(struct packing *packing)
{
	VEC(struct resource) all = { .at = NULL };
	struct resources last = { .at = NULL }; /* simulated nodes in a row are often equal */

	ARRAY_EACH(const struct schedule_node, node, packing->problem.nodes,
		   packing->problem.node_count) {
		if (!node->running || resources_equal(&node->total, &last))
			continue;
		last = node->total;
		for (size_t r = 0; r < last.count; r++)
			VEC_PUSH(packing->arena, &all, last.at[r]);
	}
	if (all.count == 0)
		return;
	qsort(all.at, all.count, sizeof(*all.at), compare_amounts);
	packing->most_of_living = resources_sort(all.at, all.count); /* the last of equals stays */
}

/* The same of new nodes, by type. */
static void measure_types(struct packing *packing)
{
	packing->type_resources = MAP_IN(packing->arena);
	for (size_t t = 0; t < packing->problem.type_count; t++) {
		const struct resources *resources = &packing->problem.types[t].resources;

		ARRAY_EACH(const struct resource, own, resources->at, resources->count) {
			struct type_resource *all = map_get(&packing->type_resources, own->name);

			if (!all) {
				all = ARENA_NEW(packing->arena, struct type_resource);
				map_set(&packing->type_resources, own->name, all);
			}
			if (own->amount > all->most)
				all->most = own->amount;
			VEC_PUSH(packing->arena, &all->types, t);
		}
	}
}

void packing_run(struct packing *packing)
{
	packing->problem = packing->offer->problem;
	packing->problem.may_be_cut = true;
	packing->packed_demands = packing->offer->packed_demands;
	/* Ray's order decides what fits on registered workers, and so which demand may be starved.
	 * Both packings then solve the same problem. */
	struct schedule_result *ray = schedule(&packing->problem, packing->arena), *last = ray;
	bool starved, cut;

	packing->result = ray;
	packing->problem.cheapest = packing->snapshot->settings.packing != PACKING_RAY;
	starved = starved_split(packing);
	if ((starved || packing->problem.cheapest) && !ray->cut)
		last = schedule(&packing->problem, packing->arena);
	/* Without starved demand it is the same problem: Ray's order serves all of it. */
	cut = last->cut;
	if (cut && !starved)
		last = ray;
	last->cut = cut;
	packing->result = last;
	packing->termination_forbidden = packing->facts->termination_forbidden ||
					 packing->result->cut;
	gang_wait(packing);
	if (is_anything_left(packing)) {
		measure_living(packing);
		measure_types(packing);
	}
	note_launches(packing);
}
