#include "sim/simulate.h"

#include "base/check.h"
#include "base/memory.h"
#include "core/decide.h"
#include "core/report/verdict.h"
#include "feature_sim.h"
#include "sim/controller.h"
#include "sim/kuberay.h"
#include "sim/pass_time.h"
#include "sim/place.h"
#include "sim/pod.h"
#include "sim/record.h"
#include "sim/repair.h"
#include "sim/resize.h"
#include "sim/sharing.h"
#include "sim/stock.h"
#include "sim/view.h"
#include "sim/world_init.h"

/* NULL: no feature has it. */
static const struct sim_sharing *const sharings[] = { FEATURE_SIM_SHARINGS NULL };
static const struct sim_resizing *const resizings[] = { FEATURE_SIM_RESIZINGS NULL };
static const struct sim_repairing *const repairings[] = { FEATURE_SIM_REPAIRINGS NULL };

#define REST_MS (INT64_C(3600) * 1000)

void sim_models_init(struct sim_models *models)
{
	*models = (struct sim_models){
		.scan_interval_ms = 1000,
		.operator_ms = 200,
		.pod_start_ms = 20000,
		.register_ms = 5000,
		.process_start_ms = 1000,
		.ray_pass_ms = 50,
		.terminate_ms = 2000,
		.resize_ms = 2000,
	};
}

/* ---- events ---- */

static void submit_request(struct sim_world *world, struct sim_ray *ray, size_t item)
{
	int64_t duration_ms = world->input->workload->items[item].duration_ms;

	if (duration_ms > SIM_TIME_MAX_MS)
		duration_ms = SIM_TIME_MAX_MS;
	VEC_PUSH(world->arena, &ray->requests, item);
	event_queue_push(&world->events, world->now_ms + duration_ms, SIM_EVENT_REQUEST, ray, item);
	pass_time_changed(ray);
}

static void end_request(struct sim_ray *ray, size_t item)
{
	size_t kept = 0;

	for (size_t i = 0; i < ray->requests.count; i++)
		if (ray->requests.at[i] != item)
			ray->requests.at[kept++] = ray->requests.at[i];
	ray->requests.count = kept;
	ray->world->last_work_ms = ray->world->now_ms;
	pass_time_changed(ray);
}

static void plan_submit(struct sim_world *world)
{
	const struct workload *workload = world->input->workload;

	if (world->next_item < workload->count)
		event_queue_push(&world->events, workload->items[world->next_item].submit_ms,
				 SIM_EVENT_SUBMIT, NULL, 0);
}

/* All items of this time, and then an event for the next one. */
static void submit(struct sim_world *world)
{
	const struct workload *workload = world->input->workload;

	for (; world->next_item < workload->count &&
	       workload->items[world->next_item].submit_ms <= world->now_ms;
	     world->next_item++) {
		const struct work_item *item = &workload->items[world->next_item];
		struct sim_class *class_ = world->class_of[world->next_item];

		if (item->kind == WORK_REQUEST_RESOURCES)
			submit_request(world, class_->ray, world->next_item);
		else
			place_submit(class_, world->next_item, item->count);
		kuberay_submitted(class_->ray);
	}
	world->last_work_ms = world->now_ms;
	plan_submit(world);
}

static void handle_worker(enum sim_event_kind kind, struct sim_worker *worker)
{
	bool starting = worker->state == SIM_WORKER_STARTING;

	if (kind == SIM_EVENT_RUNNING && starting && worker->status.state == CONTAINER_WAITING)
		pod_running(worker);
	else if (kind == SIM_EVENT_REGISTER && starting)
		pod_registered(worker);
	else if (kind == SIM_EVENT_GONE)
		kuberay_gone(worker);
}

static void handle(struct sim_world *world, const struct sim_event *event)
{
	struct sim_run *run = event->object;
	struct sim_worker *worker = event->object;

	switch (event->kind) {
	case SIM_EVENT_SUBMIT:
		submit(world);
		break;
	case SIM_EVENT_END:
		if (run->id == event->id)
			place_end(run);
		break;
	case SIM_EVENT_REQUEST:
		end_request(event->object, event->id);
		break;
	case SIM_EVENT_REPORT:
		place_reported(event->object);
		break;
	case SIM_EVENT_OPERATOR:
		kuberay_reconcile(event->object);
		break;
	case SIM_EVENT_NODE:
		stock_node_ready(world, event->id);
		break;
	case SIM_EVENT_SPOT:
		kuberay_interrupt(world, event->id);
		break;
	case SIM_EVENT_RUNNING:
	case SIM_EVENT_REGISTER:
	case SIM_EVENT_GONE:
		if (worker->id == event->id)
			handle_worker(event->kind, worker);
		break;
	case SIM_EVENT_RESIZE:
		if (world->resizing->is_due(worker, event->id))
			world->resizing->applied(worker);
		break;
	case SIM_EVENT_SHARE:
		world->shares->allocate(world);
		break;
	case SIM_EVENT_PASS:
		controller_pass(event->object, event->id);
		break;
	}
}

/* ---- the end ---- */

static bool is_at_rest(const struct sim_world *world)
{
	size_t later = world->events.passes;

	/* An interruption changes something only where Pods wait for its Node. */
	if (world->unplaced == 0)
		later += world->events.interruptions;
	if (world->events.count > later)
		return false;
	for (size_t r = 0; r < world->ray_count; r++)
		if (!controller_is_done(&world->rays[r]))
			return false;
	return true;
}

static bool has_work(const struct sim_world *world)
{
	bool requests = false;

	for (size_t r = 0; r < world->ray_count; r++)
		requests |= world->rays[r].requests.count > 0;
	return requests || world->running > 0 || world->next_item < world->input->workload->count;
}

/* Work that waits may still get a Node when the last refusal or repair has ended. */
static int64_t rests_from(const struct sim_world *world)
{
	bool waits = false;

	for (size_t r = 0; r < world->ray_count; r++)
		VEC_EACH(struct sim_class *const, class_, &world->rays[r].classes)
			waits |= (*class_)->waiting > 0;
	return waits && world->windows_end_ms > world->last_work_ms ? world->windows_end_ms :
								      world->last_work_ms;
}

/* True when the simulation ends before this event, at world->now_ms. */
static bool ends_before(struct sim_world *world, const struct sim_event *event)
{
	int64_t end_ms = world->input->end_ms;

	if (end_ms == 0 && !has_work(world))
		end_ms = rests_from(world) + REST_MS;
	if (end_ms == 0 || event->at_ms <= end_ms)
		return false;
	world->now_ms = end_ms;
	return true;
}

static void run(struct sim_world *world)
{
	struct sim_event event;
	int64_t last_ms = 0; /* of the last event that is not a pass: passes may be skipped */
	bool ended = false;

	while (!world->failed && !ended && event_queue_pop(&world->events, &event)) {
		ended = ends_before(world, &event);
		if (ended)
			break;
		CHECK(event.at_ms >= world->now_ms);
		SHARING_TELL(world, advance(world, event.at_ms));
		world->now_ms = event.at_ms;
		if (event.kind != SIM_EVENT_PASS && event.kind != SIM_EVENT_SPOT)
			last_ms = event.at_ms;
		handle(world, &event);
		if (world->input->end_ms == 0 && is_at_rest(world))
			break;
	}
	if (!ended)
		world->now_ms = world->input->end_ms > 0 ? world->input->end_ms : last_ms;
	SHARING_TELL(world, advance(world, world->now_ms));
}

/* Of a claim that is not in the files; its devices are not counted. */
static bool is_of_claims(const struct facts *facts, const char *problem)
{
	for (size_t g = 0; g < facts->group_count; g++) {
		const struct pod_claims *claims = facts->groups[g].template_capacity.claims;

		if (claims && claims->problem == problem)
			return true;
	}
	return false;
}

/* Settings that a decision reports as invalid would be left out of the simulation. */
static void check_settings(struct sim_ray *ray)
{
	struct arena *arena = &ray->world->pass_arena;
	struct sim_view view;

	view_make(ray, arena, &view);
	/* The baselines ignore a part of the object. */
	view.snapshot.autoscaler = ray->input->autoscaler;
	const struct facts *facts = decide_facts(&view.snapshot, arena);
	VEC_EACH(const char *const, problem, &facts->problems)
		if (!is_of_claims(facts, *problem)) {
			world_fail(ray->world,
				   arena_printf(arena, "RayCluster %s: %s", ray->cluster.name,
						verdict_invalid_text(facts, arena)));
			return;
		}
}

static void all_done(struct sim_world *world)
{
	SHARING_TELL(world, done(world));
	if (world->repairing)
		world->repairing->done(world);
	world_done(world);
}

static int init_sharing(struct sim_world *world, struct err *err)
{
	enum sim_policy policy = world->input->policy;

	if (world->input->gpu_pool_count > 0)
		return world->shares->init(world, err);
	if (policy != SIM_POLICY_FIRST_COME && policy != SIM_POLICY_STATIC)
		return 0;
	return err_set(err, ERR_INPUT, "the policy %s needs a GPUPool among the files",
		       sim_policy_name(policy));
}

struct sim_result *simulate(const struct sim_input *input, struct arena *arena, struct err *err)
{
	AUTO(arena_done) struct arena own = ARENA_INIT;
	AUTO(all_done) struct sim_world world;

	if (world_init(&world, input, resizings[0], &own, arena, err) != 0)
		return NULL;
	world.shares = sharings[0];
	world.repairing = repairings[0];
	if (init_sharing(&world, err) != 0)
		return NULL;
	stock_init(&world);
	for (size_t r = 0; r < world.ray_count; r++) {
		if (world.failed)
			break;
		kuberay_start(&world.rays[r]);
		controller_start(&world.rays[r]);
		check_settings(&world.rays[r]);
	}
	plan_submit(&world);
	run(&world);
	if (world.failed)
		return NULL;
	for (size_t r = 0; r < world.ray_count; r++)
		controller_explain(&world.rays[r]);
	record_finish(&world);
	return world.result;
}
