#include "core/decide/raylet.h"

#include "base/int64.h"
#include "core/decide/mark.h"
#include "core/decide/progress.h"
#include "core/decide/ray_session.h"
#include "core/model/in_force.h"

/* ---- not registered ---- */

static int64_t gone_after_ms(const struct facts *facts, const struct worker *worker)
{
	return int64_min(in_force_raylet_gone_ms(facts->snapshot),
			 facts_launch(facts, worker)->start_ms);
}

/* `since`: of the first reply without it. */
static bool is_unregistered(const struct health *health, const struct worker *worker, time_ms since)
{
	time_ms start = progress_ray_start(health->facts, worker->pod);
	int64_t wait_ms = in_force_unregistered_ms(health->snapshot);

	return due_passed(health->facts->due, since > start ? since : start, wait_ms);
}

static void update_not_registered(struct health *health)
{
	ARRAY_EACH(const struct worker, worker, health->facts->workers,
		   health->facts->worker_count) {
		struct worker_health *own = &health->workers[worker->index];

		if (!worker->pod || worker->node || worker->never_started || worker->finished ||
		    worker->deleting)
			continue;
		struct memory_mark mark = {
			.kind = MARK_NOT_REGISTERED,
			.key = worker->pod_name,
			.since = mark_since(health->facts, MARK_NOT_REGISTERED, worker->pod_name),
		};

		own->unsure = !due_passed(health->facts->due, mark.since,
					  gone_after_ms(health->facts, worker));
		own->unregistered = is_unregistered(health, worker, mark.since);
		VEC_PUSH(health->arena, &health->memory.marks, mark);
	}
}

/* ---- start grace ---- */

static enum raylet_stage stage_of(const struct worker *worker)
{
	if (!worker->registered)
		return RAYLET_STARTING;
	return ray_node_is_unused(worker->node) ? RAYLET_UNUSED : RAYLET_IN_USE;
}

static bool is_start_over(struct due *due, enum raylet_stage stage, time_ms since)
{
	return stage != RAYLET_STARTING &&
	       due_passed(due, since, stage == RAYLET_UNUSED ? RAYLET_UNUSED_MS : RAYLET_IN_USE_MS);
}

static void follow_start(struct health *health, const struct worker *worker)
{
	const struct memory_mark *old =
		mark_find(health->facts, MARK_START_GRACE, worker->pod_name);
	enum raylet_stage stage = stage_of(worker);
	time_ms now = health->snapshot->now;
	struct memory_mark mark = { MARK_START_GRACE, worker->pod_name, now, stage, NULL };

	/* A worker that was never seen without work is not a new one. */
	if (stage != RAYLET_STARTING && (!old || old->count > (int64_t)stage))
		return;
	if (old && old->count == (int64_t)stage && old->since < now)
		mark.since = old->since;
	if (is_start_over(health->facts->due, stage, mark.since))
		return;
	health->workers[worker->index].start_grace = stage == RAYLET_IN_USE;
	VEC_PUSH(health->arena, &health->memory.marks, mark);
}

static void update_start_grace(struct health *health)
{
	ARRAY_EACH(const struct worker, worker, health->facts->workers,
		   health->facts->worker_count) {
		if (worker->pod && !worker->finished && !worker->deleting && !worker->raylet_gone)
			follow_start(health, worker);
	}
}

/* ---- dead ---- */

static void update_dead(struct health *health)
{
	int64_t limit = in_force_raylet_gone_ms(health->snapshot);

	for (size_t i = 0; i < health->facts->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[i];
		if (!worker->raylet_gone || worker->finished || worker->deleting)
			continue;
		time_ms first = mark_since(health->facts, MARK_RAYLET_GONE, worker->pod_name);
		time_ms started = progress_ray_start(health->facts, worker->pod);
		/* A raylet may restart: a container or a head that started since then gets the
		 * whole time. */
		health->workers[i].raylet_expired =
			due_passed(health->facts->due, started > first ? started : first, limit);
		VEC_PUSH(health->arena, &health->memory.marks,
			 ((struct memory_mark){ MARK_RAYLET_GONE, worker->pod_name, first, 0,
						NULL }));
	}
}

void raylet_update(struct health *health)
{
	/* Without an earlier reply, it is unknown whether a worker had registered, and which work is
	 * its first. */
	if (health->facts->ray_reachable && ray_session_remembered(health->facts)) {
		update_not_registered(health);
		update_start_grace(health);
	}
	update_dead(health);
}
