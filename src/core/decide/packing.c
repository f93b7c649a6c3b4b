#include "core/decide/packing.h"

#include "core/decide/demand.h"

const struct plan_schedule *packing_schedule_of(const struct packing *packing,
						const struct schedule_placement *placement)
{
	const struct demand_list *list = &packing->facts->constraints[placement->list];

	return list->at
		.at[packing->offer->packed_constraints[placement->list].index[placement->index]]
		.schedule;
}

bool packing_is_requested(const struct packing *packing, const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++)
		if (node->placements[i].phase != SCHEDULE_PHASE_CONSTRAINT ||
		    !demand_is_of_sdk(&packing->facts->constraints[node->placements[i].list]))
			return false;
	return true;
}

static void note_request(const struct packing *packing, struct worker_packing *worker,
			 const struct schedule_placement *placement)
{
	const struct plan_schedule *schedule = packing_schedule_of(packing, placement);

	worker->schedule = worker->needed_by_request && !worker->schedule ? NULL : schedule;
	worker->by_sdk = (worker->by_sdk || !worker->needed_by_request) &&
			 demand_is_of_sdk(&packing->facts->constraints[placement->list]);
	worker->needed_by_request = true;
}

static void note_placements(const struct packing *packing, struct worker_packing *worker,
			    const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++) {
		if (node->placements[i].phase == SCHEDULE_PHASE_CONSTRAINT)
			note_request(packing, worker, &node->placements[i]);
		else
			worker->needed_by_demand = true;
	}
}

/* A worker that replaces a disrupted one is not terminated. */
void packing_note_workers(struct packing *packing)
{
	ARRAY_EACH(const struct schedule_node_result, node, packing->result->nodes,
		   packing->result->node_count) {
		if (node->worker == SCHEDULE_NO_INDEX ||
		    node->worker >= packing->facts->worker_count)
			continue; /* a new one, the head */
		struct worker_packing *worker = &packing->workers[node->worker];
		note_placements(packing, worker, node);
		worker->chosen = node->status == SCHEDULE_TERMINATE && !worker->kept_reason;
		worker->cause = node->cause;
	}
}

int64_t packing_starved_seconds(const struct packing *packing)
{
	return packing->starved_bundles == 0 ?
		       0 :
		       (packing->snapshot->now - packing->starved_since) / MS_PER_SECOND;
}
