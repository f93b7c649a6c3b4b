#include "ctl/pass/observe.h"

#include <string.h>

#include "codec/objects/request_resources.h"
#include "core/model/identity.h"

static void observe_pods(const struct observation *observation, struct arena *arena,
			 struct snapshot *snapshot)
{
	const struct pod **pods = arena_array(arena, observation->pod_count, sizeof(struct pod *));

	for (size_t i = 0; i < observation->pod_count; i++)
		pods[i] = observation->pods[i];
	snapshot->pods = pods;
	snapshot->pod_count =
		identity_divide(observation->cluster, pods, observation->pod_count, arena);
	snapshot->foreign_pods = pods + snapshot->pod_count;
	snapshot->foreign_pod_count = observation->pod_count - snapshot->pod_count;
}

static void apply_answer(struct ray_node *node, const struct drain_answer *answer)
{
	static const char *const rejected[] = { "Ray rejected the drain" };

	node->idle_duration_ms = 0;
	if (answer->accepted) {
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
	const struct ray_state *state = observation->ray_state;
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

	snapshot->ray_problem = observation->ray_problem ? observation->ray_problem : "";
	snapshot->ray_note = observation->ray_note ? observation->ray_note : "";
	snapshot->ray_state_time = observation->ray_state_time;
	if (!observation->ray_state)
		return;
	state = ARENA_NEW(arena, struct ray_state);
	*state = *observation->ray_state;
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
	*ret_snapshot = (struct snapshot){
		.now = observation->now,
		.cluster = *observation->cluster,
		.events_known = observation->events_known,
		.events = observation->events,
		.event_count = observation->event_count,
		.nodes_known = observation->nodes_known,
		.nodes = observation->nodes,
		.node_count = observation->node_count,
		.other_pods_known = observation->other_pods_known,
		.other_pods = observation->other_pods,
		.other_pod_count = observation->other_pod_count,
		.view_problem = observation->view_problem,
		.settings = *observation->settings,
		.device_table = observation->device_table ? observation->device_table :
							    device_table_builtin(),
		.price_table = observation->price_table,
		.autoscaler = observation->autoscaler,
		.time_zones = observation->time_zones,
		.time_zone_count = observation->time_zone_count,
		.lint = observation->lint,
		.second_controller = observation->second_controller,
		.memory = observation->memory,
	};
	if (observation->gpu_budget) {
		ret_snapshot->has_gpu_budget = observation->gpu_budget->has_ceiling;
		ret_snapshot->gpu_budget = observation->gpu_budget->amount;
		ret_snapshot->gpu_budget_of = observation->gpu_budget->ceiling;
	}
	observe_pods(observation, arena, ret_snapshot);
	observe_ray(observation, arena, ret_snapshot);
	request_resources_observe(ret_snapshot, arena);
}
