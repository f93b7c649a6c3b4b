#include "sim/pass_time.h"

#include "core/decide/raylet.h"
#include "sim/baseline.h"
#include "sim/place_policy.h"

#define WAKE_MS 100 /* ctl/queue/poll_interval.h POLL_WAKE_MS */
/* The start grace of a worker has ended by then. */
#define YOUNG_MS (RAYLET_UNUSED_MS + RAYLET_IN_USE_MS + 5000)

void pass_time_plan(struct sim_ray *ray, int64_t at_ms)
{
	struct sim_world *world = ray->world;

	if (at_ms >= ray->next_pass_ms || ray->world->input->policy == SIM_POLICY_ALWAYS_ON)
		return;
	ray->next_pass_ms = at_ms;
	ray->pass_id = ++world->next_id;
	event_queue_push(&world->events, at_ms, SIM_EVENT_PASS, ray, ray->pass_id);
}

int64_t pass_time_regular_ms(const struct sim_ray *ray, int64_t at_ms)
{
	int64_t interval_ms = baseline_interval_ms(ray->world->input);
	int64_t now_ms = ray->world->now_ms;
	int64_t span_ms = (at_ms > now_ms ? at_ms : now_ms) - ray->phase_ms;

	if (span_ms <= interval_ms)
		return ray->phase_ms + interval_ms;
	return ray->phase_ms + (span_ms + interval_ms - 1) / interval_ms * interval_ms;
}

static int64_t idle_due_ms(const struct sim_worker *worker)
{
	return worker->idle_since_ms + worker->ray->idle_timeouts_ms[worker->type - 1] + 1;
}

void pass_time_add_due(struct sim_ray *ray, int64_t at_ms)
{
	if (at_ms < ray->due_ms)
		ray->due_ms = at_ms;
	if (at_ms < ray->age_due_ms)
		ray->age_due_ms = at_ms;
}

/* matters: a decision may depend on it. wakes: the controller runs a pass soon. */
static void note_change(struct sim_ray *ray, bool matters, bool wakes)
{
	int64_t now_ms = ray->world->now_ms, regular = pass_time_regular_ms(ray, now_ms);
	/* After the last regular pass, which may have been skipped. */
	int64_t early_ms = regular - baseline_interval_ms(ray->world->input) + WAKE_MS;

	ray->changed |= matters;
	if (matters)
		pass_time_plan(ray, regular);
	if (wakes && baseline_wakes(ray->world->input))
		pass_time_plan(ray, early_ms > now_ms ? early_ms : now_ms);
}

void pass_time_pod_changed(struct sim_ray *ray, bool matters)
{
	note_change(ray, matters, true);
}

void pass_time_changed(struct sim_ray *ray)
{
	note_change(ray, true, false);
}

void pass_time_waiting_changed(struct sim_class *class_)
{
	if (!class_->ray->nothing_served || !class_->seen)
		note_change(class_->ray, true, false);
}

/* Some bundle of waiting work fits the free amounts of the worker, maybe not its single devices or
 * the strategy of a group. */
static bool could_serve(const struct sim_worker *worker, const struct sim_class *except)
{
	const struct sim_ray *ray = worker->ray;

	for (size_t i = 0; i < ray->active_count; i++) {
		if (ray->active[i] == except)
			continue;
		for (size_t b = 0; b < ray->active[i]->bundle_count; b++)
			if (policy_fits_amounts(&ray->active[i]->bundles[b], worker))
				return true;
	}
	return false;
}

void pass_time_work_changes(struct sim_worker *worker, const struct sim_class *starts)
{
	struct sim_ray *ray = worker->ray;
	int64_t age_ms = ray->world->now_ms - worker->registered_ms;

	if (ray->changed || worker->state != SIM_WORKER_REGISTERED)
		return;
	if (ray->watches_work || age_ms < YOUNG_MS || could_serve(worker, starts)) {
		note_change(ray, true, false);
	} else if (!starts && worker->type > 0 && !worker->holds) {
		pass_time_add_due(ray, idle_due_ms(worker));
		pass_time_plan(ray, pass_time_regular_ms(ray, ray->due_ms));
	}
}
