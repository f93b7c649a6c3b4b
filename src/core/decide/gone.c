#include "core/decide/gone.h"

#include <string.h>

#include "core/decide/progress.h"

static time_ms since(const struct situation *s, const char *pod)
{
	const struct memory_state *memory = s->snapshot->memory;
	for (size_t i = 0; memory != NULL && i < memory->raylet_gone.count; i++) {
		const struct memory_since *mark = &memory->raylet_gone.at[i];
		if (strcmp(mark->key, pod) == 0 && mark->since <= s->snapshot->now)
			return mark->since;
	}
	return s->snapshot->now;
}

void gone_update(struct situation *s)
{
	int64_t limit = s->snapshot->settings.raylet_gone_seconds * MS_PER_SECOND;
	if (!s->ray_reachable) {
		/* Ray is unreachable, so the state of raylets is unknown: memory keeps its
		 * entries. */
		if (s->snapshot->memory != NULL)
			s->plan->memory.raylet_gone = s->snapshot->memory->raylet_gone;
		return;
	}
	for (size_t i = 0; i < s->worker_count; i++) {
		struct worker *worker = &s->workers[i];
		if (!worker->raylet_gone || worker->finished || worker->deleting)
			continue;
		time_ms first = since(s, worker->pod_name);
		time_ms started = progress_ray_start(s, worker->pod);
		/* A raylet may restart: a container or a head that started since then gets the
		 * whole time. */
		worker->expired = s->snapshot->now - (started > first ? started : first) >= limit;
		VEC_PUSH(s->arena, &s->plan->memory.raylet_gone,
			 ((struct memory_since){ .key = worker->pod_name, .since = first }));
	}
}
