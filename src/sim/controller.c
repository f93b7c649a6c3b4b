/* A pass is an event of the queue. At most one is planned (next_pass_ms); an earlier one replaces it, and
 * the pass_id of the replaced event no longer counts.
 *
 *   planned ──► due ──► needed? ── no ──► plan_next: the first regular time at or after due_ms
 *                          │ yes
 *                          ▼
 *   decide, drain, decide again, remember, patch ──► plan_next
 *
 * `changed` means that facts or memory differ from those of the last plan; `due_ms`, that the plan may
 * differ at this time although nothing changes. Facts that change set `changed` (sim/pass_time.c, note_change), unless
 * a decision cannot depend on them (judge, could_serve); a worker that gets idle only adds its due time.
 *
 * Invariants: with `changed` a pass is planned at most one interval ahead. Without it, every pass before
 * due_ms would make the same plan, which the input every_pass verifies (sim_laws_test). Regular times
 * count from phase_ms, also over skipped passes, so that skipping moves no later pass. */
#include "sim/controller.h"

#include <string.h>

#include "core/decide.h"
#include "core/decide/limits.h"
#include "core/model/cpu_budget.h"
#include "sim/baseline.h"
#include "sim/kuberay.h"
#include "sim/pass_time.h"
#include "sim/place.h"
#include "sim/pod.h"
#include "sim/repair.h"
#include "sim/resize.h"
#include "sim/sharing.h"
#include "sim/stock.h"
#include "sim/view.h"

static bool is_scaled(const struct sim_ray *ray)
{
	return ray->world->input->policy != SIM_POLICY_ALWAYS_ON;
}

bool controller_is_done(const struct sim_ray *ray)
{
	return !is_scaled(ray) || (!ray->changed && ray->age_due_ms == SIM_NEVER_MS);
}

/* ---- a pass ---- */

/* True when Ray accepted a drain. */
static bool drain(struct sim_ray *ray, const struct plan *plan)
{
	bool accepted = false;

	for (size_t g = 0; g < plan->groups.count; g++)
		VEC_EACH(const struct plan_termination, item, &plan->groups.at[g].terminate) {
			struct sim_worker *worker =
				item->action == TERMINATE_DRAIN ? pod_find(ray, item->pod) : NULL;

			if (!worker)
				continue;
			/* A raylet refuses a drain for idleness while work runs, and accepts one
			 * for preemption: it takes no more work. */
			worker->draining = worker->state == SIM_WORKER_REGISTERED &&
					   (!worker->holds || item->busy);
			accepted |= worker->draining;
			if (worker->draining)
				place_drained(worker);
		}
	return accepted;
}

static const struct plan *decide_on(struct sim_ray *ray, struct snapshot *snapshot)
{
	struct sim_world *world = ray->world;
	struct cpu_budget *budget = world->input->cpu_budget;
	const struct plan *plan;

	if (budget)
		*budget = (struct cpu_budget){ .spent = budget->spent,
					       .context = budget->context,
					       .units = budget->units,
					       .factor = ray->cpu_factor };
	snapshot->cpu_budget = budget;
	world->result->decisions++;
	plan = decide(snapshot, &world->pass_arena);
	if (budget)
		ray->cpu_factor = cpu_budget_next_factor(budget, plan->patch.count > 0);
	return plan;
}

static const struct plan *decide_now(struct sim_ray *ray, struct sim_view *view)
{
	view_make(ray, &ray->world->pass_arena, view);
	return decide_on(ray, &view->snapshot);
}

/* Ray's lists: all work is on nodes here, so they show no more than the nodes do. */
static const struct plan *decide_with_lists(struct sim_ray *ray, struct sim_view *view)
{
	struct cluster_work *work = ARENA_NEW(&ray->world->pass_arena, struct cluster_work);

	*work = (struct cluster_work){
		.begun = view->snapshot.now, .problem = "", .in_use = "", .ended = TIME_NONE
	};
	view->snapshot.cluster_work = work;
	return decide_on(ray, &view->snapshot);
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
	ray->watches_work = plan->cluster.message != NULL || sharing_watches_work(ray) ||
			    autoscaler_has_warm_workers(ray->input->autoscaler) ||
			    baseline_resizes(ray);
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

static int64_t from_wall_ms(time_ms at)
{
	return at == PLAN_NEVER_CHANGES ? SIM_NEVER_MS : at - SIM_EPOCH_MS;
}

/* A node whose work ended in this moment is idle in the next one. */
static void find_due(struct sim_ray *ray, const struct plan *plan)
{
	int64_t now_ms = ray->world->now_ms;

	ray->due_ms = from_wall_ms(plan->next_change);
	ray->age_due_ms = from_wall_ms(plan->next_age_change);
	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->state == SIM_WORKER_REGISTERED &&
		    !ray->workers.at[i]->holds && ray->workers.at[i]->idle_since_ms == now_ms)
			pass_time_add_due(ray, now_ms + 1);
}

/* A regular pass is skipped when nothing changed and no time is due. */
static bool is_needed(const struct sim_ray *ray)
{
	return ray->changed || ray->world->input->every_pass || ray->due_ms <= ray->world->now_ms;
}

static void plan_next(struct sim_ray *ray)
{
	if (ray->changed || ray->world->input->every_pass)
		pass_time_plan(ray, ray->phase_ms + baseline_interval_ms(ray->world->input));
	else if (ray->due_ms != SIM_NEVER_MS)
		pass_time_plan(ray, pass_time_regular_ms(ray, ray->due_ms));
}

void controller_pass(struct sim_ray *ray, uint64_t id)
{
	struct sim_world *world = ray->world;
	struct sim_view view;

	if (id != ray->pass_id)
		return;
	ray->next_pass_ms = SIM_NEVER_MS;
	ray->phase_ms = world->now_ms;
	/* While the head starts, Ray gives no reply, and nothing is decided without one. */
	if (!is_needed(ray) || (!ray->cluster.suspend && !pod_of_head_is_registered(ray))) {
		plan_next(ray);
		return;
	}
	arena_reset(&world->pass_arena);
	const struct plan *plan = decide_now(ray, &view);
	if (sharing_asked(ray, plan))
		plan = decide_now(ray, &view);
	if (world->repairing && world->repairing->decided(ray, plan))
		plan = decide_now(ray, &view);
	if (plan->cluster.action == CLUSTER_READ_WORK)
		plan = decide_with_lists(ray, &view);
	bool drained = drain(ray, plan);
	if (drained && baseline_deletes_drained(world->input)) {
		ray->memory = memory_state_drained(ray->memory, &plan->memory, &world->pass_arena);
		plan = decide_now(ray, &view);
	}
	ray->changed = plan->next_change <= view.snapshot.now;
	ray->memory =
		baseline_memory(world->input, &plan->memory, world_next_arena(ray->memory_arenas));
	judge(ray, plan, &view, drained || plan->patch.count > 0);
	find_due(ray, plan);
	kuberay_patch(ray, plan);
	if (ray->world->resizing)
		ray->world->resizing->plan(ray, plan);
	sharing_patched(ray, plan);
	kuberay_suspend(ray, plan);
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

	ray->settings = baseline_settings(ray->world, ray->input->settings);
	kuberay_suspend_init(ray);
	find_idle_timeouts(ray);
	ray->phase_ms = first_ms - baseline_interval_ms(ray->world->input);
	ray->due_ms = ray->age_due_ms = SIM_NEVER_MS;
	ray->changed = true;
	ray->cpu_factor = 1;
	ray->next_pass_ms = SIM_NEVER_MS;
	pass_time_plan(ray, first_ms);
}

static void explain(struct sim_class *class_, const struct plan_demand *demand)
{
	struct arena *arena = class_->ray->world->result_arena;

	class_->reason = reason_word(demand->reason);
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
	return class_->ray->world->unplaced > 0 ?
		       arena_printf(class_->ray->world->result_arena,
				    "its workers got no Node of the pools%s",
				    stock_why(class_->ray, class_->ray->world->result_arena)) :
		       "its workers were starting at the end";
}

void controller_explain(struct sim_ray *ray)
{
	struct sim_view view;

	for (size_t c = 0; c < ray->classes.count; c++) {
		ray->classes.at[c]->reason = "";
		ray->classes.at[c]->message = message_without_plan(ray->classes.at[c]);
	}
	if (!is_scaled(ray) || ray->active_count == 0)
		return;
	arena_reset(&ray->world->pass_arena);
	sharing_refresh(ray);
	const struct plan *plan = decide_now(ray, &view);
	for (size_t i = 0; i < plan->infeasible.count; i++)
		explain_demand(&view, &plan->infeasible.at[i]);
	for (size_t i = 0; i < plan->unserved.count; i++)
		explain_demand(&view, &plan->unserved.at[i]);
}
