#include "ctl/pass/observe.h"

#include <string.h>

#include "core/model/identity.h"

static void observe_pods(struct arena *arena, struct snapshot *snapshot)
{
	size_t count = snapshot->pod_count;
	const struct pod **pods = arena_array(arena, count, sizeof(struct pod *));

	for (size_t i = 0; i < count; i++)
		pods[i] = snapshot->pods[i];
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

	for (size_t i = 0; i < state->node_count; i++) {
		const struct drain_answer *answer;

		nodes[i] = state->nodes[i];
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
	if (observation->drain_count > 0)
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
	observe_pods(arena, ret_snapshot);
	observe_ray(observation, arena, ret_snapshot);
}
