#include "sim/view.h"

#include <stdlib.h>

#include "sim/baseline.h"
#include "sim/node_repair.h"
#include "sim/repair.h"
#include "sim/sharing.h"

/* A Ray node's idleness, as its raylet reports it, and drains. Source: ray 2.60,
 * src/ray/raylet/scheduling/local_resource_manager.cc (a node is idle since its last resource was
 * released, or since it registered), node_manager.cc HandleDrainRaylet (a drain for idleness is
 * refused while work runs, and a draining node accepts no work), gcs_autoscaler_state_manager.cc
 * (status). Simplified: objects in memory do not keep a node busy, and reports are not delayed. */
static void add_node(const struct sim_worker *worker, struct ray_node *node)
{
	const struct sim_type *type = &worker->ray->types[worker->type];
	int64_t idle_ms = worker->holds ? 0 : worker->ray->world->now_ms - worker->idle_since_ms;

	*node = (struct ray_node){
		.id = worker->ray_id,
		.instance_id = worker->name,
		.type_name = worker->type == 0 ? HEAD_GROUP_NAME :
						 worker->ray->groups[worker->type - 1].name,
		.total = { worker->total, type->total.count },
		.available = { worker->available, type->total.count },
		.labels = type->labels,
		.status = worker->draining ? RAY_NODE_DRAINING :
			  idle_ms > 0      ? RAY_NODE_IDLE :
					     RAY_NODE_RUNNING,
		.idle_duration_ms = idle_ms,
		.ip_address = "",
	};
}

static void add_nodes(const struct sim_ray *ray, struct arena *arena, struct ray_state *state)
{
	struct ray_node *nodes = arena_array(arena, ray->registered + 1, sizeof(*nodes));

	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->state == SIM_WORKER_REGISTERED)
			add_node(ray->workers.at[i], &nodes[state->node_count++]);
	state->nodes = nodes;
}

int64_t view_next_report_ms(int64_t now_ms)
{
	int64_t first_ms = VIEW_REPORT_MS / 2;
	int64_t span_ms = now_ms - first_ms + VIEW_REPORT_MS - 1;

	return now_ms <= first_ms ? first_ms : first_ms + span_ms / VIEW_REPORT_MS * VIEW_REPORT_MS;
}

/* O(items of the class that were submitted since the last report). */
int64_t view_reported(const struct sim_class *class_)
{
	int64_t next_ms = view_next_report_ms(class_->ray->world->now_ms + 1);
	int64_t last_ms = next_ms - VIEW_REPORT_MS, count = class_->waiting;

	if (class_->kind == WORK_PLACEMENT_GROUP)
		return count;
	for (size_t i = class_->queue.count; i > class_->queue.first; i--) {
		if (class_->queue.at[i - 1].since_ms <= last_ms)
			break;
		count -= class_->queue.at[i - 1].count;
	}
	return count;
}

/* The bundles of one group, with the constraint of its strategy, whose label is its own. */
static const struct ray_request *constrain(const struct sim_class *class_, size_t number,
					   const struct ray_request *bundles, struct arena *arena)
{
	bool apart = class_->strategy == PLACEMENT_STRICT_SPREAD;
	bool together = class_->strategy == PLACEMENT_STRICT_PACK;
	struct ray_request *requests;
	struct label label;

	if (!apart && !together)
		return bundles;
	label = (struct label){ arena_printf(arena, "_PG_%zu_%zu", class_->index, number), "" };
	struct placement_constraint *constraint = ARENA_NEW(arena, struct placement_constraint);
	*constraint = (struct placement_constraint){
		.has_anti_affinity = apart,
		.anti_affinity = label,
		.has_affinity = together,
		.affinity = label,
	};
	requests = arena_array(arena, class_->bundle_count, sizeof(*requests));
	for (size_t b = 0; b < class_->bundle_count; b++) {
		requests[b] = bundles[b];
		requests[b].placements = constraint;
		requests[b].placement_count = 1;
	}
	return requests;
}

static const struct ray_request *bundles_of(const struct sim_class *class_, struct arena *arena)
{
	struct ray_request *bundles = arena_array(arena, class_->bundle_count, sizeof(*bundles));

	for (size_t b = 0; b < class_->bundle_count; b++)
		bundles[b] = *class_->bundles[b].request;
	return bundles;
}

static void add_gangs(struct sim_class *class_, struct arena *arena, struct ray_state *state,
		      struct ray_gang *gangs, struct sim_view *view)
{
	const struct ray_request *bundles = bundles_of(class_, arena);

	for (int64_t n = 0; n < class_->waiting && state->gang_count < VIEW_GANGS_MAX; n++) {
		struct bundle_selector *selector = ARENA_NEW(arena, struct bundle_selector);

		selector->requests = constrain(class_, (size_t)n, bundles, arena);
		selector->count = class_->bundle_count;
		view->gangs[state->gang_count] = class_;
		gangs[state->gang_count++] = (struct ray_gang){
			.requests = selector->requests,
			.request_count = selector->count,
			.details = "",
			.selectors = selector,
			.selector_count = 1,
		};
	}
}

/* The oldest first: as the queue of the GCS. */
static int compare_classes(const void *left, const void *right)
{
	const struct sim_class *a = *(struct sim_class *const *)left;
	const struct sim_class *b = *(struct sim_class *const *)right;
	size_t of_a = a->queue.at[a->queue.first].item, of_b = b->queue.at[b->queue.first].item;

	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void add_demand(struct sim_ray *ray, struct arena *arena, struct ray_state *state,
		       struct sim_view *view)
{
	struct ray_request_count *requests =
		arena_array(arena, ray->active_count, sizeof(*requests));
	struct sim_class **sorted =
		arena_array(arena, ray->active_count, sizeof(struct sim_class *));
	struct ray_gang *listed;
	int64_t gangs = 0;

	for (size_t i = 0; i < ray->active_count; i++) {
		sorted[i] = ray->active[i];
		if (sorted[i]->kind == WORK_PLACEMENT_GROUP)
			gangs += sorted[i]->waiting;
	}
	gangs = gangs < VIEW_GANGS_MAX ? gangs : VIEW_GANGS_MAX;
	qsort(sorted, ray->active_count, sizeof(struct sim_class *), compare_classes);
	state->requests = requests;
	state->gangs = listed = arena_array(arena, (size_t)gangs, sizeof(*listed));
	view->requests = arena_array(arena, ray->active_count, sizeof(struct sim_class *));
	view->gangs = arena_array(arena, (size_t)gangs, sizeof(struct sim_class *));
	for (size_t i = 0; i < ray->active_count; i++) {
		int64_t count = view_reported(sorted[i]);

		if (sorted[i]->kind == WORK_PLACEMENT_GROUP) {
			add_gangs(sorted[i], arena, state, listed, view);
		} else if (count > 0 && state->request_count < VIEW_SHAPES_MAX) {
			view->requests[state->request_count] = sorted[i];
			requests[state->request_count++] =
				(struct ray_request_count){ *sorted[i]->bundles[0].request, count };
		}
	}
}

/* Ray keeps one list of requested resources: the requests that have not ended, together. */
static void add_constraint(const struct sim_ray *ray, struct arena *arena, struct ray_state *state)
{
	const struct work_item *items = ray->world->input->workload->items;
	struct ray_constraint *constraint = ARENA_NEW(arena, struct ray_constraint);
	struct ray_request_count *requests;
	size_t count = 0;

	for (size_t i = 0; i < ray->requests.count; i++)
		count += items[ray->requests.at[i]].bundle_count;
	requests = arena_array(arena, count, sizeof(*requests));
	for (size_t i = 0; i < ray->requests.count; i++) {
		const struct work_item *item = &items[ray->requests.at[i]];

		for (size_t b = 0; b < item->bundle_count; b++)
			requests[constraint->count++] =
				(struct ray_request_count){ item->bundles[b], item->count };
	}
	constraint->requests = requests;
	state->constraints = constraint;
	state->constraint_count = count > 0 ? 1 : 0;
}

void view_make(struct sim_ray *ray, struct arena *arena, struct sim_view *view)
{
	struct sim_world *world = ray->world;
	struct ray_state *state = ARENA_NEW(arena, struct ray_state);
	const struct pod **pods = arena_array(arena, ray->workers.count, sizeof(*pods));

	for (size_t i = 0; i < ray->workers.count; i++)
		pods[i] = &ray->workers.at[i]->pod;
	state->session_name = "session_simulated";
	add_nodes(ray, arena, state);
	add_demand(ray, arena, state, view);
	add_constraint(ray, arena, state);
	view->snapshot = (struct snapshot){
		.now = SIM_EPOCH_MS + world->now_ms,
		.cluster = ray->cluster,
		.pods = pods,
		.pod_count = ray->workers.count,
		.ray_state = state,
		.ray_problem = "",
		.ray_state_time = SIM_EPOCH_MS + world->now_ms,
		.settings = ray->settings,
		.device_table = world->input->devices,
		.price_table = world->input->prices,
		.autoscaler = baseline_autoscaler(world->input, ray->input->autoscaler, arena),
		.time_zones = ray->input->time_zones,
		.time_zone_count = ray->input->time_zone_count,
		.memory = ray->memory,
		.pools = sharing_terms(ray),
	};
	if (world->input->policy != SIM_POLICY_RAY_AUTOSCALER)
		node_repair_add(world, arena, &view->snapshot);
	if (world->repairing && view->snapshot.node_count > 0)
		world->repairing->observe(ray, arena, &view->snapshot);
}
