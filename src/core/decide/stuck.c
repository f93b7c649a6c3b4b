#include "core/decide/stuck.h"

#include <string.h>

#include "core/decide/demand.h"

/* Bundles placed on registered nodes, and on others. */
struct standing {
	int64_t *demands;            /* per packed demand, on running ones */
	int64_t *gangs, *gangs_else; /* per packed gang */
};

static bool is_living(const struct situation *s, const struct schedule_node_result *node)
{
	if (node->worker == SCHEDULE_NO_INDEX)
		return false;
	return node->worker >= s->worker_count || s->workers[node->worker].joined;
}

static void count_standing(const struct situation *s, struct standing *ret)
{
	ret->demands = arena_array(s->arena, s->packed_demands.count, sizeof(int64_t));
	ret->gangs = arena_array(s->arena, s->packed_gangs.count, sizeof(int64_t));
	ret->gangs_else = arena_array(s->arena, s->packed_gangs.count, sizeof(int64_t));
	for (size_t n = 0; n < s->result->node_count; n++) {
		const struct schedule_node_result *node = &s->result->nodes[n];
		bool living = is_living(s, node);
		for (size_t i = 0; i < node->placement_count; i++) {
			const struct schedule_placement *item = &node->placements[i];
			if (item->phase == SCHEDULE_PHASE_DEMAND && living)
				ret->demands[item->index] += item->count;
			else if (item->phase == SCHEDULE_PHASE_GANG)
				(living ? ret->gangs : ret->gangs_else)[item->index] += item->count;
		}
	}
}

static const struct memory_since *remembered(const struct situation *s, const char *key)
{
	const struct memory_state *memory = s->snapshot->memory;
	for (size_t i = 0; memory != NULL && i < memory->stuck_demand.count; i++)
		if (strcmp(memory->stuck_demand.at[i].key, key) == 0)
			return &memory->stuck_demand.at[i];
	return NULL;
}

/* The number of bundles of the demand that have been starved for the whole time; 0: none yet. */
static int64_t update_mark(struct situation *s, const char *key, int64_t on_living)
{
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

/* A worker that started after the demand began to wait and has nothing in use does not starve it:
 * launching more of its kind would not help. Packing places starved demand only on nodes that have
 * not registered, so such a worker is marked as not registered. */
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

/* Splits a demand with starved bundles in two. */
static void split_demands(struct situation *s, const struct standing *standing)
{
	size_t count = s->packed_demands.count, used = 0;
	struct schedule_demand *demands = arena_array(s->arena, 2 * count, sizeof(*demands));
	size_t *index = arena_array(s->arena, 2 * count, sizeof(*index));
	for (size_t i = 0; i < count; i++) {
		struct demand *demand = &s->demands.at.at[s->packed_demands.index[i]];
		const struct ray_request *request = demand->request;
		int64_t living = standing->demands[i], stuck = 0;
		if (living > 0)
			stuck = update_mark(s, demand_key(s->arena, request), living);
		if (stuck < demand->count) {
			index[used] = s->packed_demands.index[i];
			demands[used++] = (struct schedule_demand){
				.request = request,
				.count = demand->count - stuck,
			};
		}
		if (stuck > 0) {
			demand->stuck = true;
			index[used] = s->packed_demands.index[i];
			demands[used++] = (struct schedule_demand){
				.request = request,
				.count = stuck,
				.place = SCHEDULE_DEMAND_NEW_ONLY,
			};
		}
	}
	s->problem.demands = demands;
	s->problem.demand_count = used;
	s->packed_demands = (struct packed_list){ index, used };
}

/* A placement group is starved as a whole: which of its bundles Ray cannot place is unknown. */
static void mark_gangs(struct situation *s, const struct standing *standing)
{
	bool *new_only = arena_array(s->arena, s->packed_gangs.count, sizeof(*new_only));
	size_t *packed = arena_array(s->arena, s->gang_count, sizeof(*packed)); /* number + 1 */
	for (size_t i = 0; i < s->packed_gangs.count; i++)
		packed[s->packed_gangs.index[i]] = i + 1;
	for (size_t g = 0; g < s->gang_count; g++) {
		struct gang *gang = &s->gangs[s->gangs_by_content[g]];
		size_t i = packed[s->gangs_by_content[g]] - 1;
		if (gang->reason != NULL || standing->gangs[i] == 0 || standing->gangs_else[i] > 0)
			continue;
		gang->stuck = update_mark(s, demand_gang_key(s->arena, gang->gang),
					  standing->gangs[i]) > 0;
		new_only[i] = gang->stuck;
	}
	s->problem.gangs_new_only = new_only;
}

bool stuck_split(struct situation *s)
{
	struct standing standing;
	count_standing(s, &standing);
	split_demands(s, &standing);
	mark_gangs(s, &standing);
	if (!s->ray_reachable && s->snapshot->memory != NULL)
		s->plan->memory.stuck_demand = s->snapshot->memory->stuck_demand;
	if (s->stuck_bundles == 0)
		return false;
	open_young_workers(s, s->snapshot->now - s->stuck_seconds * MS_PER_SECOND);
	return true;
}
