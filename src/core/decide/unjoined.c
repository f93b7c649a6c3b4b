#include "core/decide/unjoined.h"

#include "core/decide/progress.h"
#include "core/decide/since_index.h"

static time_ms since(const struct situation *s, const struct since_index *index, const char *pod)
{
	const struct memory_since *old = since_index_find(index, pod);

	return old != NULL && old->since <= s->snapshot->now ? old->since : s->snapshot->now;
}

static int64_t sure_after_ms(const struct settings *settings)
{
	int64_t seconds = settings->raylet_gone_seconds;

	if (seconds > settings->start_timeout_seconds)
		seconds = settings->start_timeout_seconds;
	return seconds * MS_PER_SECOND;
}

/* `since`: of the first reply without it. */
static bool is_unregistered(const struct situation *s, const struct worker *worker, time_ms since)
{
	time_ms start = progress_ray_start(s, worker->pod), now = s->snapshot->now;
	int64_t wait_ms = s->snapshot->settings.unregistered_seconds * MS_PER_SECOND;

	return now - since >= wait_ms && (start == TIME_NONE || now - start >= wait_ms);
}

void unjoined_update(struct situation *s)
{
	const struct memory_state *memory = s->snapshot->memory;
	int64_t sure_ms = sure_after_ms(&s->snapshot->settings);

	/* Without an earlier reply, it is unknown whether they had registered. */
	if (memory == NULL || memory->ray_sessions.count == 0)
		return;
	if (!s->ray_reachable) {
		s->plan->memory.unjoined = memory->unjoined;
		return;
	}
	struct since_index index =
		since_index_of(s->arena, memory->unjoined.at, memory->unjoined.count);

	for (size_t i = 0; i < s->worker_count; i++) {
		struct worker *worker = &s->workers[i];

		if (worker->pod == NULL || worker->node != NULL || worker->never_started ||
		    worker->finished || worker->deleting)
			continue;
		struct memory_since mark = { .key = worker->pod_name,
					     .since = since(s, &index, worker->pod_name) };

		worker->unsure = s->snapshot->now - mark.since < sure_ms;
		worker->unregistered = is_unregistered(s, worker, mark.since);
		VEC_PUSH(s->arena, &s->plan->memory.unjoined, mark);
	}
}
