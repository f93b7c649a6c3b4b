#include "core/decide/not_registered.h"

#include "core/decide/progress.h"
#include "core/decide/since_index.h"

static time_ms since(const struct health *health, const struct since_index *index, const char *pod)
{
	const struct memory_since *old = since_index_find(index, pod);

	return old != NULL && old->since <= health->snapshot->now ? old->since :
								    health->snapshot->now;
}

static int64_t sure_after_ms(const struct settings *settings)
{
	int64_t seconds = settings->raylet_gone_seconds;

	if (seconds > settings->start_timeout_seconds)
		seconds = settings->start_timeout_seconds;
	return seconds * MS_PER_SECOND;
}

/* `since`: of the first reply without it. */
static bool is_unregistered(const struct health *health, const struct worker *worker, time_ms since)
{
	time_ms start = progress_ray_start(health->facts, worker->pod), now = health->snapshot->now;
	int64_t wait_ms = health->snapshot->settings.unregistered_seconds * MS_PER_SECOND;

	return now - since >= wait_ms && (start == TIME_NONE || now - start >= wait_ms);
}

void not_registered_update(struct health *health)
{
	const struct memory_state *memory = health->snapshot->memory;
	int64_t sure_ms = sure_after_ms(&health->snapshot->settings);

	/* Without an earlier reply, it is unknown whether they had registered. */
	if (memory == NULL || memory->ray_sessions.count == 0)
		return;
	if (!health->facts->ray_reachable) {
		health->memory.not_registered = memory->not_registered;
		return;
	}
	struct since_index index = since_index_of(health->arena, memory->not_registered.at,
						  memory->not_registered.count);

	for (size_t i = 0; i < health->facts->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[i];

		if (worker->pod == NULL || worker->node != NULL || worker->never_started ||
		    worker->finished || worker->deleting)
			continue;
		struct memory_since mark = { .key = worker->pod_name,
					     .since = since(health, &index, worker->pod_name) };

		health->workers[worker->index].unsure = health->snapshot->now - mark.since <
							sure_ms;
		health->workers[worker->index].unregistered =
			is_unregistered(health, worker, mark.since);
		VEC_PUSH(health->arena, &health->memory.not_registered, mark);
	}
}
