#include "core/decide/dead_raylet.h"

#include <string.h>

#include "core/decide/progress.h"

static time_ms since(const struct health *health, const char *pod)
{
	const struct memory_state *memory = health->snapshot->memory;
	for (size_t i = 0; memory != NULL && i < memory->raylet_gone.count; i++) {
		const struct memory_since *mark = &memory->raylet_gone.at[i];
		if (strcmp(mark->key, pod) == 0 && mark->since <= health->snapshot->now)
			return mark->since;
	}
	return health->snapshot->now;
}

void dead_raylet_update(struct health *health)
{
	int64_t limit = health->snapshot->settings.raylet_gone_seconds * MS_PER_SECOND;
	if (!health->facts->ray_reachable) {
		/* Ray is unreachable, so the state of raylets is unknown: memory keeps its
		 * entries. */
		if (health->snapshot->memory != NULL)
			health->memory.raylet_gone = health->snapshot->memory->raylet_gone;
		return;
	}
	for (size_t i = 0; i < health->facts->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[i];
		if (!worker->raylet_gone || worker->finished || worker->deleting)
			continue;
		time_ms first = since(health, worker->pod_name);
		time_ms started = progress_ray_start(health->facts, worker->pod);
		/* A raylet may restart: a container or a head that started since then gets the
		 * whole time. */
		health->workers[i].raylet_expired =
			health->snapshot->now - (started > first ? started : first) >= limit;
		VEC_PUSH(health->arena, &health->memory.raylet_gone,
			 ((struct memory_since){ .key = worker->pod_name, .since = first }));
	}
}
