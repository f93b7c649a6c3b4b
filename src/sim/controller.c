#include "sim/controller.h"

#include <string.h>

#include "core/decide.h"
#include "core/decide/backoff.h"
#include "core/decide/launch.h"
#include "core/decide/limits.h"
#include "core/decide/raylet.h"
#include "sim/baseline.h"
#include "sim/idle.h"
#include "sim/kuberay.h"
#include "sim/place_policy.h"
#include "sim/suspend.h"
#include "sim/view.h"

#define WAKE_MS 100 /* ctl/queue/poll_interval.h POLL_WAKE_MS */
/* The start grace of a worker has ended by then. */
#define YOUNG_MS (RAYLET_UNUSED_MS + RAYLET_IN_USE_MS + 5000)

/* ---- when a pass runs ---- */

static bool is_scaled(const struct sim_ray *ray)
{
	return ray->world->input->policy != SIM_POLICY_ALWAYS_ON;
}

static void plan_pass(struct sim_ray *ray, int64_t at_ms)
{
	struct sim_world *world = ray->world;

	if (at_ms >= ray->next_pass_ms || !is_scaled(ray))
		return;
	ray->next_pass_ms = at_ms;
	ray->pass_id = ++world->next_id;
	event_queue_push(&world->events, at_ms, SIM_EVENT_PASS, ray, ray->pass_id);
}

/* The first regular pass at or after this time and now. */
static int64_t regular_ms(const struct sim_ray *ray, int64_t at_ms)
{
	int64_t interval_ms = baseline_interval_ms(ray->world->input);
	int64_t now_ms = ray->world->now_ms;
	int64_t span_ms = (at_ms > now_ms ? at_ms : now_ms) - ray->phase_ms;

	if (span_ms <= interval_ms)
		return ray->phase_ms + interval_ms;
	return ray->phase_ms + (span_ms + interval_ms - 1) / interval_ms * interval_ms;
}

/* Its idle timeout has passed one millisecond later. */
static int64_t idle_due_ms(const struct sim_worker *worker)
{
	return worker->idle_since_ms + worker->ray->idle_timeouts_ms[worker->type - 1];
}

/* The first time from now on at which the last plan may differ although nothing changes. */
static int64_t next_due_ms(const struct sim_ray *ray)
{
	int64_t now_ms = ray->world->now_ms, next_ms = ray->due_ms;

	for (size_t i = 0; i < ray->workers.count; i++) {
		const struct sim_worker *worker = ray->workers.at[i];
		int64_t due_ms = SIM_NEVER_MS;

		if (worker->state == SIM_WORKER_REGISTERED && worker->type > 0 &&
		    worker->holds == NULL)
			due_ms = idle_due_ms(worker);
		due_ms += due_ms == ray->last_pass_ms;
		if (due_ms > ray->last_pass_ms && due_ms < next_ms)
			next_ms = due_ms;
	}
	return next_ms > now_ms ? next_ms : now_ms;
}

/* matters: a decision may depend on it. wakes: the controller runs a pass soon. */
static void note_change(struct sim_ray *ray, bool matters, bool wakes)
{
	int64_t now_ms = ray->world->now_ms, regular = regular_ms(ray, now_ms);
	/* After the last regular pass, which may have been skipped. */
	int64_t early_ms = regular - baseline_interval_ms(ray->world->input) + WAKE_MS;

	ray->changed |= matters;
	if (matters)
		plan_pass(ray, regular);
	if (wakes && baseline_wakes(ray->world->input))
		plan_pass(ray, early_ms > now_ms ? early_ms : now_ms);
}

void controller_pod_changed(struct sim_ray *ray, bool matters)
{
	note_change(ray, matters, true);
}

void controller_changed(struct sim_ray *ray)
{
	note_change(ray, true, false);
}

void controller_waiting_changed(struct sim_class *class_)
{
	if (!class_->ray->nothing_served || !class_->seen)
		note_change(class_->ray, true, false);
}

/* Some bundle of waiting work fits the free amounts of the worker, maybe not its single devices or
 * the strategy of a group. */
static bool could_serve(const struct sim_worker *worker, const struct sim_class *except)
{
	const struct sim_ray *ray = worker->ray;

	for (size_t i = 0; i < ray->active_count; i++)
		for (size_t b = 0; ray->active[i] != except && b < ray->active[i]->bundle_count;
		     b++)
			if (policy_fits_amounts(&ray->active[i]->bundles[b], worker))
				return true;
	return false;
}

void controller_work_changes(struct sim_worker *worker, const struct sim_class *starts)
{
	struct sim_ray *ray = worker->ray;
	int64_t age_ms = ray->world->now_ms - worker->registered_ms;

	if (ray->changed || worker->state != SIM_WORKER_REGISTERED)
		return;
	if (ray->watches_work || age_ms < YOUNG_MS || could_serve(worker, starts))
		note_change(ray, true, false);
	else if (starts == NULL && worker->type > 0 && worker->holds == NULL)
		plan_pass(ray, regular_ms(ray, idle_due_ms(worker)));
}

bool controller_is_done(const struct sim_ray *ray)
{
	return !is_scaled(ray) || (!ray->changed && next_due_ms(ray) == SIM_NEVER_MS);
}

/* ---- until when a plan stays as it is ---- */

/* Decisions compare with "longer than" and with "as long as": the time itself, and the one after
 * it. */
static void add_due(struct sim_ray *ray, time_ms since, int64_t span_ms)
{
	int64_t now_ms = ray->world->now_ms, at_ms;

	if (since == TIME_NONE)
		return;
	at_ms = since - SIM_EPOCH_MS + span_ms;
	if (at_ms < now_ms)
		return;
	at_ms += at_ms == now_ms;
	if (at_ms < ray->due_ms)
		ray->due_ms = at_ms;
}

static void add_due_seconds(struct sim_ray *ray, time_ms since, int64_t seconds)
{
	add_due(ray, since, seconds * MS_PER_SECOND);
}

/* The spans that core/decide compares with the age of a mark. */
static void add_dues_of_mark(struct sim_ray *ray, const struct memory_mark *mark)
{
	const struct settings *settings = &ray->settings;

	switch (mark->kind) {
	case MARK_RAYLET_GONE:
	case MARK_NOT_REGISTERED:
		add_due_seconds(ray, mark->since, settings->raylet_gone_seconds);
		add_due_seconds(ray, mark->since, settings->unregistered_seconds);
		add_due_seconds(ray, mark->since, settings->start_timeout_seconds);
		break;
	case MARK_START_GRACE:
		/* The grace of a worker in use matters to work that waits; once it is over, an old
		 * mark counts as none. RAYLET_STARTING has no span. */
		if (mark->count == RAYLET_UNUSED)
			add_due(ray, mark->since, RAYLET_UNUSED_MS);
		else if (mark->count == RAYLET_IN_USE && ray->active_count > 0)
			add_due(ray, mark->since, RAYLET_IN_USE_MS);
		break;
	case MARK_STARVED_DEMAND:
		add_due_seconds(ray, mark->since, settings->stuck_demand_seconds);
		break;
	case MARK_REPLICA_CONFLICT: /* there is no other writer */
	case MARK_REPLICA_RAISE:
	case MARK_LOWERED:
	case MARK_DISRUPTED: /* Pods are not disrupted before they are deleted */
	case MARK_RAY_SESSION:
	case MARK_CLUSTER_IDLE:
	case MARK_DELETE_DENIED:
	case MARK_KIND_COUNT:
		break;
	}
}

static void add_dues_of_pod(struct sim_ray *ray, const struct sim_worker *worker)
{
	const time_ms times[] = { worker->pod.created, worker->conditions[0].last_transition,
				  worker->status.started_at };
	const struct settings *settings = &ray->settings;
	const int64_t spans[] = { settings->node_provision_timeout_seconds,
				  settings->start_timeout_seconds, settings->unregistered_seconds,
				  settings->raylet_gone_seconds };

	for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
		for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
			add_due_seconds(ray, times[t], spans[i]);
}

static void find_due(struct sim_ray *ray)
{
	const struct memory_state *memory = ray->memory;

	ray->due_ms = SIM_NEVER_MS;
	for (size_t i = 0; i < memory->marks.count; i++)
		add_dues_of_mark(ray, &memory->marks.at[i]);
	for (size_t i = 0; i < memory->launches.count; i++) {
		add_due_seconds(ray, memory->launches.at[i].unneeded_since,
				ray->settings.cancel_launch_seconds);
		add_due(ray, memory->launches.at[i].round, LAUNCH_ROUND_MS);
	}
	for (size_t i = 0; i < memory->backoffs.count; i++) {
		add_due(ray, memory->backoffs.at[i].until, 0);
		add_due(ray, memory->backoffs.at[i].until, BACKOFF_STALE_MS);
		add_due(ray, memory->backoffs.at[i].until, BACKOFF_FORGET_MS);
	}
	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->state != SIM_WORKER_REGISTERED)
			add_dues_of_pod(ray, ray->workers.at[i]);
}

/* Memory that the next decision reads in another way than by its age: find_due has the ages. */
static bool is_same_memory(const struct memory_state *a, const struct memory_state *b)
{
	const struct memory_mark *of_a = NULL, *of_b = NULL;

	if (b == NULL || a->launches.count != b->launches.count ||
	    a->backoffs.count != b->backoffs.count)
		return false;
	for (size_t i = 0; i < a->backoffs.count; i++)
		if (a->backoffs.at[i].until != b->backoffs.at[i].until)
			return false;
	do {
		of_a = memory_next_mark(a, MARK_STARVED_DEMAND, of_a);
		of_b = memory_next_mark(b, MARK_STARVED_DEMAND, of_b);
		if (of_a != NULL && of_b != NULL &&
		    (of_a->since != of_b->since || of_a->count != of_b->count))
			return false;
	} while (of_a != NULL && of_b != NULL);
	return of_a == of_b;
}

/* ---- a pass ---- */

static struct sim_worker *find_worker(struct sim_ray *ray, const char *pod)
{
	for (size_t i = 0; i < ray->workers.count; i++)
		if (strcmp(ray->workers.at[i]->name, pod) == 0)
			return ray->workers.at[i];
	return NULL;
}

/* True when Ray accepted a drain. */
static bool drain(struct sim_ray *ray, const struct plan *plan)
{
	bool accepted = false;

	for (size_t g = 0; g < plan->groups.count; g++)
		for (size_t i = 0; i < plan->groups.at[g].terminate.count; i++) {
			const struct plan_termination *item = &plan->groups.at[g].terminate.at[i];
			struct sim_worker *worker = item->action == TERMINATE_DRAIN ?
							    find_worker(ray, item->pod) :
							    NULL;

			accepted |= worker != NULL && idle_drain(worker);
		}
	return accepted;
}

static const struct plan *decide_now(struct sim_ray *ray, struct sim_view *view)
{
	struct sim_world *world = ray->world;

	view_make(ray, &world->pass_arena, view);
	world->result->decisions++;
	return decide(&view->snapshot, &world->pass_arena);
}

/* Ray's lists: all work is on nodes here, so they show no more than the nodes do. */
static const struct plan *decide_with_lists(struct sim_ray *ray, struct sim_view *view)
{
	struct cluster_work *work = ARENA_NEW(&ray->world->pass_arena, struct cluster_work);

	*work = (struct cluster_work){
		.begun = view->snapshot.now, .problem = "", .in_use = "", .ended = TIME_NONE
	};
	view->snapshot.cluster_work = work;
	ray->world->result->decisions++;
	return decide(&view->snapshot, &ray->world->pass_arena);
}

/* The memory of the plan becomes the first of the two arenas. True: it is another one. */
static bool remember(struct sim_ray *ray, const struct plan *plan)
{
	struct arena last = ray->memory_arenas[0];
	const struct memory_state *old = ray->memory;

	ray->memory_arenas[0] = ray->memory_arenas[1];
	ray->memory_arenas[1] = last;
	arena_reset(&ray->memory_arenas[0]);
	ray->memory = baseline_memory(ray->world->input, &plan->memory, &ray->memory_arenas[0]);
	return !is_same_memory(ray->memory, old);
}

/* Facts about the last pass that decide which changes matter. */
static void judge(struct sim_ray *ray, const struct plan *plan, const struct sim_view *view,
		  bool acted)
{
	const struct ray_state *state = view->snapshot.ray_state;
	int64_t waiting = (int64_t)state->gang_count, unserved = 0;
	bool unchanged = state->constraint_count == 0 &&
			 !autoscaler_has_bundles(ray->input->autoscaler);

	for (size_t i = 0; i < state->request_count; i++)
		waiting += state->requests[i].count;
	for (size_t i = 0; i < plan->infeasible.count; i++)
		unserved += plan->infeasible.at[i].count;
	for (size_t i = 0; i < plan->unserved.count; i++)
		unserved += plan->unserved.at[i].count;
	for (size_t i = 0; i < ray->workers.count; i++)
		unchanged = unchanged && ray->workers.at[i]->state == SIM_WORKER_REGISTERED;
	ray->watches_work = suspend_is_set(ray) ||
			    autoscaler_has_warm_workers(ray->input->autoscaler);
	for (size_t i = 0; i < plan->memory.marks.count; i++)
		ray->watches_work |= plan->memory.marks.at[i].kind == MARK_STARVED_DEMAND;
	ray->nothing_served =
		unchanged && !acted && !ray->changed && unserved == waiting && !ray->watches_work &&
		plan->memory.launches.count == 0 && plan->memory.backoffs.count == 0 &&
		state->gang_count < VIEW_GANGS_MAX && state->request_count < VIEW_SHAPES_MAX;
	for (size_t c = 0; c < ray->classes.count; c++)
		ray->classes.at[c]->seen = ray->classes.at[c]->waiting > 0 &&
					   view_reported(ray->classes.at[c]) > 0;
}

static void find_window(struct sim_ray *ray, const struct plan *plan)
{
	ray->window_ms = SIM_NEVER_MS;
	for (size_t i = 0; i < plan->schedule_count; i++) {
		time_ms next = plan->schedules[i].next_change;

		if (next != TIME_NONE && next - SIM_EPOCH_MS < ray->window_ms)
			ray->window_ms = next - SIM_EPOCH_MS;
	}
}

/* A regular pass is skipped when nothing changed and no time is due. */
static bool is_needed(const struct sim_ray *ray)
{
	return ray->changed || ray->world->input->every_pass ||
	       next_due_ms(ray) <= ray->world->now_ms || ray->window_ms <= ray->world->now_ms;
}

static void plan_next(struct sim_ray *ray)
{
	int64_t due_ms = next_due_ms(ray);

	due_ms = ray->window_ms < due_ms ? ray->window_ms : due_ms;
	if (ray->changed || ray->world->input->every_pass)
		plan_pass(ray, ray->phase_ms + baseline_interval_ms(ray->world->input));
	else if (due_ms != SIM_NEVER_MS)
		plan_pass(ray, regular_ms(ray, due_ms));
}

void controller_pass(struct sim_ray *ray, uint64_t id)
{
	struct sim_world *world = ray->world;
	struct sim_view view;
	const struct plan *plan;
	bool drained;

	if (id != ray->pass_id)
		return;
	ray->next_pass_ms = SIM_NEVER_MS;
	ray->phase_ms = world->now_ms;
	/* While the head starts, Ray gives no reply, and nothing is decided without one. */
	if (!is_needed(ray) || (!ray->cluster.suspend && !suspend_has_ray(ray))) {
		plan_next(ray);
		return;
	}
	arena_reset(&world->pass_arena);
	ray->last_pass_ms = world->now_ms;
	plan = decide_now(ray, &view);
	if (plan->idle != NULL && plan->idle->action == IDLE_ACTION_READ)
		plan = decide_with_lists(ray, &view);
	drained = drain(ray, plan);
	if (drained && baseline_deletes_drained(world->input))
		plan = decide_now(ray, &view);
	ray->changed = remember(ray, plan) || (drained && !baseline_deletes_drained(world->input));
	judge(ray, plan, &view, drained || plan->patch.count > 0);
	find_due(ray);
	add_due(ray, SIM_EPOCH_MS, suspend_due_ms(ray, plan));
	find_window(ray, plan);
	kuberay_patch(ray, plan);
	suspend_follow(ray, plan);
	plan_next(ray);
}

static void find_idle_timeouts(struct sim_ray *ray)
{
	struct sim_view view;

	view_make(ray, &ray->world->pass_arena, &view);
	ray->idle_timeouts_ms = arena_array(ray->world->arena, ray->cluster.group_count,
					    sizeof(*ray->idle_timeouts_ms));
	for (size_t g = 0; g < ray->cluster.group_count; g++) {
		int64_t timeout_ms = limits_idle_timeout_ms(&view.snapshot, &ray->groups[g]);

		ray->idle_timeouts_ms[g] = timeout_ms < SIM_TIME_MAX_MS ? timeout_ms :
									  2 * SIM_TIME_MAX_MS;
	}
}

/* The first pass is half an interval after the first report: then work that is submitted at round times
 * waits for its pass as long as work of any other time does on average, with any interval. */
void controller_start(struct sim_ray *ray)
{
	int64_t first_ms = VIEW_REPORT_MS / 2 + baseline_interval_ms(ray->world->input) / 2;

	ray->settings = baseline_settings(ray->world->input, ray->input->settings);
	suspend_init(ray);
	find_idle_timeouts(ray);
	ray->phase_ms = first_ms - baseline_interval_ms(ray->world->input);
	ray->last_pass_ms = ray->phase_ms;
	ray->due_ms = ray->window_ms = SIM_NEVER_MS;
	ray->changed = true;
	ray->next_pass_ms = SIM_NEVER_MS;
	plan_pass(ray, first_ms);
}

static void explain(struct sim_class *class_, const struct plan_demand *demand)
{
	struct arena *arena = class_->ray->world->result_arena;

	class_->reason = arena_strdup(arena, demand->reason);
	class_->message = arena_strdup(arena, demand->message);
}

static void explain_demand(const struct sim_view *view, const struct plan_demand *demand)
{
	const struct ray_state *state = view->snapshot.ray_state;

	for (size_t i = 0; i < state->request_count; i++)
		if (demand->request == &state->requests[i].request)
			explain(view->requests[i], demand);
	for (size_t i = 0; i < state->gang_count; i++)
		if (demand->gang == &state->gangs[i])
			explain(view->gangs[i], demand);
}

static const char *message_without_plan(const struct sim_class *class_)
{
	if (class_->first_group == SIZE_MAX)
		return "no worker group fits it";
	return class_->ray->world->unplaced > 0 ? "its workers got no Node of the pools" :
						  "its workers were starting at the end";
}

void controller_explain(struct sim_ray *ray)
{
	struct sim_view view;
	const struct plan *plan;

	for (size_t c = 0; c < ray->classes.count; c++) {
		ray->classes.at[c]->reason = "";
		ray->classes.at[c]->message = message_without_plan(ray->classes.at[c]);
	}
	if (!is_scaled(ray) || ray->active_count == 0)
		return;
	arena_reset(&ray->world->pass_arena);
	plan = decide_now(ray, &view);
	for (size_t i = 0; i < plan->infeasible.count; i++)
		explain_demand(&view, &plan->infeasible.at[i]);
	for (size_t i = 0; i < plan->unserved.count; i++)
		explain_demand(&view, &plan->unserved.at[i]);
}
