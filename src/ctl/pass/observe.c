#include "ctl/pass/observe.h"

#include <string.h>

#include "base/map.h"
#include "base/sort.h"
#include "core/model/identity.h"

static int compare_pods(const void *a, const void *b)
{
	return strcmp((*(const struct pod *const *)a)->name, (*(const struct pod *const *)b)->name);
}

static int compare_name(const void *name, const void *pod)
{
	return strcmp(name, (*(const struct pod *const *)pod)->name);
}

/* One that the cache had then and has no longer was deleted. */
static size_t fresh_pods(const struct observation *observation, const struct pod **cached,
			 size_t count, const struct pod **ret_pods)
{
	size_t found = 0;

	sort_stable(cached, count, sizeof(*cached), compare_pods);
	ARRAY_EACH(const struct fresh_pod, fresh, observation->fresh, observation->fresh_count) {
		const struct pod *pod = fresh->pod, **same;

		if (!pod) {
			same = SORT_FIND(fresh->name, cached, count, compare_name);
			pod = same ? *same : NULL;
		}
		if (pod)
			ret_pods[found++] = pod;
	}
	return found;
}

static void observe_pods(const struct observation *observation, struct arena *arena,
			 struct snapshot *snapshot)
{
	size_t count = snapshot->pod_count;
	const struct pod **pods = ARENA_COPY(arena, snapshot->pods, count);

	if (observation->verified) {
		const struct pod **fresh =
			arena_array(arena, observation->fresh_count, sizeof(*fresh));

		count = fresh_pods(observation, pods, count, fresh);
		pods = fresh;
	}
	snapshot->pods = pods;
	snapshot->pod_count = identity_divide(&snapshot->cluster, pods, count, arena);
	snapshot->foreign_pods = pods + snapshot->pod_count;
	snapshot->foreign_pod_count = count - snapshot->pod_count;
}

static void apply_answer(struct ray_node *node, const struct drain_answer *answer)
{
	static const char *const rejected[] = { "Ray rejected the drain" };
	static const char *const accepted[] = { "Ray drains it for its end" };

	node->idle_duration_ms = 0;
	if (answer->accepted && answer->busy) {
		node->status = RAY_NODE_DRAINING;
		node->activity = (struct strings){ .at = accepted, .count = 1 };
	} else if (answer->accepted) {
		node->status = RAY_NODE_DRAINING;
		node->available = node->total;
		node->activity = (struct strings){ .count = 0 };
	} else {
		node->status = RAY_NODE_RUNNING;
		node->activity = (struct strings){ .at = rejected, .count = 1 };
	}
}

static const struct ray_node *answered_nodes(const struct observation *observation,
					     struct arena *arena)
{
	const struct ray_state *state = observation->snapshot.ray_state;
	struct ray_node *nodes = arena_array(arena, state->node_count, sizeof(*nodes));
	struct map drains = MAP_IN(arena);

	ARRAY_EACH(const struct ray_drain, drain, observation->ray_drains,
		   observation->ray_drain_count)
		map_set(&drains, drain->node_id, drain);
	for (size_t i = 0; i < state->node_count; i++) {
		const struct drain_answer *answer;
		const struct ray_drain *drain = map_get(&drains, state->nodes[i].id);

		nodes[i] = state->nodes[i];
		if (drain)
			nodes[i].drain_deadline_ms = drain->deadline_ms;
		answer = ARRAY_FIND(observation->drains, observation->drain_count, node_id,
				    nodes[i].id);
		if (answer)
			apply_answer(&nodes[i], answer);
	}
	return nodes;
}

static void observe_ray(const struct observation *observation, struct arena *arena,
			struct snapshot *snapshot)
{
	struct ray_state *state;

	snapshot->ray_problem = snapshot->ray_problem ? snapshot->ray_problem : "";
	snapshot->ray_note = snapshot->ray_note ? snapshot->ray_note : "";
	if (!snapshot->ray_state)
		return;
	state = ARENA_NEW(arena, struct ray_state);
	*state = *snapshot->ray_state;
	if (observation->drain_count + observation->ray_drain_count > 0)
		state->nodes = answered_nodes(observation, arena);
	if (observation->kv_requests && state->constraint_count == 0) {
		state->constraints = observation->kv_requests;
		state->constraint_count = 1;
	}
	snapshot->ray_state = state;
}

void observe(const struct observation *observation, struct arena *arena,
	     struct snapshot *ret_snapshot)
{
	*ret_snapshot = observation->snapshot;
	ret_snapshot->cluster = *observation->cluster;
	if (!ret_snapshot->device_table)
		ret_snapshot->device_table = device_table_builtin();
	observe_pods(observation, arena, ret_snapshot);
	observe_ray(observation, arena, ret_snapshot);
}
