#include "core/decide/unchanged.h"

#include <string.h>

#include "core/decide/limits.h"

/* All inputs are present, and there is no demand. */
static bool facts_are_unchanged(const struct snapshot *snapshot, const struct plan *plan)
{
	const struct ray_state *state = snapshot->ray_state;

	return plan->head_node != NULL && state != NULL && state->request_count == 0 &&
	       state->gang_count == 0 && state->constraint_count == 0 &&
	       !snapshot->has_annotation_request && snapshot->event_count == 0 &&
	       snapshot->node_count == 0 && snapshot->cluster_work == NULL &&
	       (snapshot->view_problem == NULL || snapshot->view_problem[0] == '\0');
}

/* The entries for templates, Ray sessions and lowered replicas do not depend on time; a second
 * session is accepted after some time. */
static bool memory_is_unchanged(const struct memory_state *memory)
{
	size_t sessions = 0;

	for (size_t i = 0; i < memory->marks.count; i++) {
		enum mark_kind kind = memory->marks.at[i].kind;

		sessions += kind == MARK_RAY_SESSION;
		if (kind != MARK_RAY_SESSION && kind != MARK_LOWERED && kind != MARK_CLUSTER_IDLE)
			return false;
	}
	return memory->backoffs.count == 0 && memory->launches.count == 0 && sessions <= 1;
}

static bool plan_is_unchanged(const struct plan *plan)
{
	if (plan->patch.count > 0 || plan->infeasible.count > 0 || plan->unserved.count > 0)
		return false;
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		if (group->to_launch != 0 || group->terminate.count > 0 || group->missing != 0 ||
		    group->backoff != NULL || group->target_replicas != group->replicas)
			return false;
	}
	return memory_is_unchanged(&plan->memory);
}

static int64_t idle_timeout_ms(const struct snapshot *snapshot, const struct plan_worker *worker)
{
	const struct worker_group *group = ARRAY_FIND(
		snapshot->cluster.groups, snapshot->cluster.group_count, name, worker->group);

	return group != NULL ? limits_idle_timeout_ms(snapshot, group) : 0;
}

/* Bundles of an open window are requested in each decision. */
static bool schedules_request_bundles(const struct snapshot *snapshot, const struct plan *plan)
{
	for (size_t i = 0; i < plan->schedule_count; i++)
		if (plan->schedules[i].active && snapshot->autoscaler->schedules[i].bundles != NULL)
			return true;
	return false;
}

time_ms unchanged_next_change(const struct plan *plan, time_ms now)
{
	time_ms next = UNCHANGED_FOR_EVER;

	for (size_t i = 0; i < plan->schedule_count; i++)
		if (plan->schedules[i].next_change > now && plan->schedules[i].next_change < next)
			next = plan->schedules[i].next_change;
	if (plan->idle != NULL && plan->idle->until > now && plan->idle->until < next)
		next = plan->idle->until;
	return next;
}

time_ms unchanged_until(const struct snapshot *snapshot, const struct plan *plan)
{
	time_ms next = unchanged_next_change(plan, snapshot->now);
	time_ms until = next == UNCHANGED_FOR_EVER ? next : next - 1;
	bool idle_has_passed = plan->idle != NULL && plan->idle->until != TIME_NONE &&
			       plan->idle->until <= snapshot->now;
	if (!facts_are_unchanged(snapshot, plan) || !plan_is_unchanged(plan) || idle_has_passed ||
	    schedules_request_bundles(snapshot, plan))
		return snapshot->now;
	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		int64_t left;
		if ((worker->state != WORKER_RUNNING && worker->state != WORKER_IDLE) ||
		    worker->node == NULL)
			return snapshot->now;
		if (worker->state == WORKER_RUNNING && worker->node->idle_duration_ms == 0)
			continue;
		/* The timeout has passed once the duration exceeds it. A worker that is past its
		 * timeout and is kept by minReplicas stays as long as minReplicas keeps it. */
		left = idle_timeout_ms(snapshot, worker) - worker->node->idle_duration_ms;
		if (left >= 0 && left < until - snapshot->now)
			until = snapshot->now + left;
	}
	return until;
}
