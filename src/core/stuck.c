#include "core/stuck.h"

#include <string.h>

#include "core/demand.h"

/* How many bundles of each packed demand stand on nodes that Ray reports as running. */
static int64_t *count_on_living(const struct situation *s)
{
	int64_t *counts = arena_array(s->arena, s->packed_demands.count, sizeof(*counts));
	for (size_t n = 0; n < s->result->node_count; n++) {
		const struct schedule_node_result *node = &s->result->nodes[n];
		if (node->worker == SCHEDULE_NO_INDEX)
			continue;
		if (node->worker < s->worker_count && !s->workers[node->worker].joined)
			continue;
		for (size_t i = 0; i < node->placement_count; i++)
			if (node->placements[i].phase == SCHEDULE_PHASE_DEMAND)
				counts[node->placements[i].index] += node->placements[i].count;
	}
	return counts;
}

static const struct memory_since *remembered(const struct situation *s, const char *key)
{
	const struct memory_state *memory = s->snapshot->memory;
	for (size_t i = 0; memory != NULL && i < memory->stuck_demand.count; i++)
		if (strcmp(memory->stuck_demand.at[i].key, key) == 0)
			return &memory->stuck_demand.at[i];
	return NULL;
}

/* Bundles of the demand that have been stuck for the whole time; 0 for none yet. */
static int64_t update_mark(struct situation *s, const struct demand *demand, int64_t on_living)
{
	const char *key = demand_key(s->arena, demand->request);
	const struct memory_since *old = remembered(s, key);
	time_ms now = s->snapshot->now;
	if (s->plan->memory.stuck_demand.count >= STUCK_SHAPES_MAX)
		return 0;
	struct memory_since *mark = VEC_ADD(s->arena, &s->plan->memory.stuck_demand);
	*mark = (struct memory_since){ .key = key, .since = now, .count = on_living };
	if (old != NULL && old->since <= now && old->count > 0) {
		mark->since = old->since;
		mark->count = old->count < on_living ? old->count : on_living;
	}
	int64_t waited = now - mark->since;
	if (waited < s->snapshot->settings.stuck_demand_seconds * MS_PER_SECOND)
		return 0;
	if (waited / MS_PER_SECOND > s->stuck_seconds)
		s->stuck_seconds = waited / MS_PER_SECOND;
	s->stuck_bundles += mark->count;
	return mark->count;
}

/* A worker that joined after the demand had begun to wait and has nothing in use is no
 * place where it is stuck: launching more of its kind would not help. Packing puts
 * stuck demand on nodes that have not joined, so such a one counts as not joined. */
static void open_young_workers(struct situation *s, time_ms since)
{
	struct schedule_node *nodes = arena_array(s->arena, s->problem.node_count, sizeof(*nodes));
	for (size_t i = 0; i < s->problem.node_count; i++) {
		nodes[i] = s->problem.nodes[i];
		if (!nodes[i].joined || nodes[i].head)
			continue;
		const struct worker *worker = &s->workers[nodes[i].worker];
		const struct container_status *status = pod_ray_container_status(worker->pod);
		time_ms started = status != NULL ? status->started_at : worker->pod->created;
		if (started > since && ray_node_is_unused(worker->node))
			nodes[i].joined = false;
	}
	s->problem.nodes = nodes;
}

bool stuck_split(struct situation *s)
{
	int64_t *on_living = count_on_living(s);
	size_t count = s->packed_demands.count, used = 0;
	struct schedule_demand *demands = arena_array(s->arena, 2 * count, sizeof(*demands));
	size_t *index = arena_array(s->arena, 2 * count, sizeof(*index));
	for (size_t i = 0; i < count; i++) {
		const struct demand *demand = &s->demands.at.at[s->packed_demands.index[i]];
		int64_t stuck = on_living[i] > 0 ? update_mark(s, demand, on_living[i]) : 0;
		if (stuck < demand->count) {
			index[used] = s->packed_demands.index[i];
			demands[used++] =
				(struct schedule_demand){ .request = demand->request,
							  .count = demand->count - stuck };
		}
		if (stuck > 0) {
			index[used] = s->packed_demands.index[i];
			demands[used++] = (struct schedule_demand){
				.request = demand->request,
				.count = stuck,
				.place = SCHEDULE_DEMAND_NEW_ONLY,
			};
		}
	}
	if (!s->ray_reachable && s->snapshot->memory != NULL)
		s->plan->memory.stuck_demand = s->snapshot->memory->stuck_demand;
	if (s->stuck_bundles == 0)
		return false;
	open_young_workers(s, s->snapshot->now - s->stuck_seconds * MS_PER_SECOND);
	s->problem.demands = demands;
	s->problem.demand_count = used;
	s->packed_demands = (struct packed_list){ index, used };
	return true;
}
