#include "core/decide/start_grace.h"

#include "core/decide/since_index.h"

/* Time for which the first work of a registered worker is awaited. */
#define UNUSED_MS 10000
/* One and a half periods of the GCS: one period, and half of one for messages in transit. */
#define IN_USE_MS 1500

/* Values of memory_since.count. */
enum stage { STAGE_STARTING = 0, STAGE_UNUSED = 1, STAGE_IN_USE = 2 };

static enum stage stage_of(const struct worker *worker)
{
	if (!worker->registered)
		return STAGE_STARTING;
	return ray_node_is_unused(worker->node) ? STAGE_UNUSED : STAGE_IN_USE;
}

static bool is_over(enum stage stage, int64_t lasted_ms)
{
	return (stage == STAGE_UNUSED && lasted_ms >= UNUSED_MS) ||
	       (stage == STAGE_IN_USE && lasted_ms >= IN_USE_MS);
}

static void follow(struct health *health, const struct worker *worker,
		   const struct memory_since *old)
{
	enum stage stage = stage_of(worker);
	time_ms now = health->snapshot->now;
	struct memory_since mark = { .key = worker->pod_name, .since = now, .count = stage };

	/* A worker that was never seen without work is not a new one. */
	if (stage != STAGE_STARTING && (old == NULL || old->count > (int64_t)stage))
		return;
	if (old != NULL && old->count == (int64_t)stage && old->since < now)
		mark.since = old->since;
	if (is_over(stage, now - mark.since))
		return;
	health->workers[worker->index].start_grace = stage == STAGE_IN_USE;
	VEC_PUSH(health->arena, &health->memory.start_grace, mark);
}

void start_grace_update(struct health *health)
{
	const struct memory_state *memory = health->snapshot->memory;

	/* Without an earlier reply, it is unknown which work is a worker's first. */
	if (memory == NULL || memory->ray_sessions.count == 0)
		return;
	if (!health->facts->ray_reachable) {
		health->memory.start_grace = memory->start_grace;
		return;
	}
	struct since_index index =
		since_index_of(health->arena, memory->start_grace.at, memory->start_grace.count);

	for (size_t i = 0; i < health->facts->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[i];

		if (worker->pod != NULL && !worker->finished && !worker->deleting &&
		    !worker->raylet_gone)
			follow(health, worker, since_index_find(&index, worker->pod_name));
	}
}
