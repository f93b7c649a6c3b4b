#include "core/decide/starved.h"

#include <string.h>

#include "core/decide/demand.h"
#include "core/decide/mark.h"

/* Bundles placed on registered nodes, and on others. */
struct standing {
	int64_t *demands;            /* per packed demand, on running ones */
	int64_t *gangs, *gangs_else; /* per packed gang */
};

static bool is_living(const struct packing *packing, const struct schedule_node_result *node)
{
	if (node->worker == SCHEDULE_NO_INDEX)
		return false;
	return node->worker >= packing->facts->worker_count ||
	       packing->facts->workers[node->worker].registered;
}

static void count_standing(const struct packing *packing, struct standing *ret)
{
	ret->demands = arena_array(packing->arena, packing->packed_demands.count, sizeof(int64_t));
	ret->gangs =
		arena_array(packing->arena, packing->offer->packed_gangs.count, sizeof(int64_t));
	ret->gangs_else =
		arena_array(packing->arena, packing->offer->packed_gangs.count, sizeof(int64_t));
	ARRAY_EACH(const struct schedule_node_result, node, packing->result->nodes,
		   packing->result->node_count) {
		bool living = is_living(packing, node);
		ARRAY_EACH(const struct schedule_placement, item, node->placements,
			   node->placement_count) {
			if (item->phase == SCHEDULE_PHASE_DEMAND && living)
				ret->demands[item->index] += item->count;
			else if (item->phase == SCHEDULE_PHASE_GANG)
				(living ? ret->gangs : ret->gangs_else)[item->index] += item->count;
		}
	}
}

/* The number of bundles of the demand that have been starved for the whole time; 0: none yet. */
static int64_t update_mark(struct packing *packing, const char *key, int64_t on_living)
{
	const struct memory_mark *old = mark_find(packing->facts, MARK_STARVED_DEMAND, key);
	time_ms now = packing->snapshot->now;
	int64_t span_ms = packing->snapshot->settings.stuck_demand_seconds * MS_PER_SECOND;
	if (packing->memory.marks.count >= STUCK_SHAPES_MAX)
		return 0;
	struct memory_mark *mark = VEC_ADD(packing->arena, &packing->memory.marks);
	*mark = (struct memory_mark){ MARK_STARVED_DEMAND, key, now, on_living, NULL };
	if (old && due_reached(packing->facts->due, old->since) && old->count > 0) {
		mark->since = old->since;
		mark->count = old->count < on_living ? old->count : on_living;
	}
	if (!due_passed(packing->facts->due, mark->since, span_ms))
		return 0;
	if (packing->starved_bundles == 0 || mark->since < packing->starved_since)
		packing->starved_since = mark->since;
	packing->starved_bundles += mark->count;
	return mark->count;
}

/* A worker that started after the demand began to wait and has nothing in use does not starve it:
 * launching more of its kind would not help. Packing places starved demand only on nodes that have
 * not registered, so such a worker is marked as not registered. */
static void open_young_workers(struct packing *packing, time_ms since)
{
	struct schedule_node *nodes =
		ARENA_COPY(packing->arena, packing->problem.nodes, packing->problem.node_count);

	for (size_t i = 0; i < packing->problem.node_count; i++) {
		if (!nodes[i].registered || nodes[i].head)
			continue;
		const struct worker *worker = &packing->facts->workers[nodes[i].worker];
		const struct container_status *status = pod_ray_container_status(worker->pod);
		time_ms started = status ? status->started_at : worker->pod->created;
		if (started > since && ray_node_is_unused(worker->node))
			nodes[i].registered = false;
	}
	packing->problem.nodes = nodes;
}

/* Splits a demand with starved bundles in two. */
static void split_demands(struct packing *packing, const struct standing *standing)
{
	size_t count = packing->packed_demands.count, used = 0;
	struct schedule_demand *demands = arena_array(packing->arena, 2 * count, sizeof(*demands));
	size_t *index = arena_array(packing->arena, 2 * count, sizeof(*index));
	for (size_t i = 0; i < count; i++) {
		const struct demand *demand =
			&packing->facts->demands.at.at[packing->packed_demands.index[i]];
		const struct ray_request *request = demand->request;
		int64_t living = standing->demands[i], starved = 0;
		if (living > 0)
			starved = update_mark(packing, demand_key(packing->arena, request), living);
		if (starved < demand->count) {
			index[used] = packing->packed_demands.index[i];
			demands[used++] = (struct schedule_demand){
				.request = request,
				.count = demand->count - starved,
			};
		}
		if (starved > 0) {
			packing->starved_demands[packing->packed_demands.index[i]] = true;
			index[used] = packing->packed_demands.index[i];
			demands[used++] = (struct schedule_demand){
				.request = request,
				.count = starved,
				.place = SCHEDULE_DEMAND_NEW_ONLY,
			};
		}
	}
	packing->problem.demands = demands;
	packing->problem.demand_count = used;
	packing->packed_demands = (struct packed_list){ index, used };
}

/* A placement group is starved as a whole: which of its bundles Ray cannot place is unknown. */
static void mark_gangs(struct packing *packing, const struct standing *standing)
{
	bool *new_only =
		arena_array(packing->arena, packing->offer->packed_gangs.count, sizeof(*new_only));
	size_t *packed = arena_array(packing->arena, packing->facts->gang_count,
				     sizeof(*packed)); /* number + 1 */
	for (size_t i = 0; i < packing->offer->packed_gangs.count; i++)
		packed[packing->offer->packed_gangs.index[i]] = i + 1;
	for (size_t g = 0; g < packing->facts->gang_count; g++) {
		const struct gang *gang =
			&packing->facts->gangs[packing->facts->gangs_by_content[g]];
		size_t i = packed[packing->facts->gangs_by_content[g]] - 1;
		if (gang->reason || standing->gangs[i] == 0 || standing->gangs_else[i] > 0)
			continue;
		new_only[i] = update_mark(packing, demand_gang_key(packing->arena, gang->gang),
					  standing->gangs[i]) > 0;
		packing->starved_gangs[packing->facts->gangs_by_content[g]] = new_only[i];
	}
	packing->problem.gangs_new_only = new_only;
}

bool starved_split(struct packing *packing)
{
	struct standing standing;
	packing->starved_demands =
		arena_array(packing->arena, packing->facts->demands.at.count, sizeof(bool));
	packing->starved_gangs =
		arena_array(packing->arena, packing->facts->gang_count, sizeof(bool));
	if (packing->result->cut)
		return false;
	count_standing(packing, &standing);
	split_demands(packing, &standing);
	mark_gangs(packing, &standing);
	if (packing->starved_bundles == 0)
		return false;
	open_young_workers(packing, packing->starved_since);
	return true;
}
