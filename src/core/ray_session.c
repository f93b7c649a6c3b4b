#include "core/ray_session.h"

#include <string.h>

/* Ray's have about 50 characters; what a GCS says goes into the memory. */
#define NAME_MAX_SIZE 128

static const struct memory_since *remembered(const struct situation *s)
{
	const struct memory_state *memory = s->snapshot->memory;

	return memory != NULL && memory->ray_sessions.count > 0 ? &memory->ray_sessions.at[0] :
								  NULL;
}

static time_ms head_start(const struct situation *s)
{
	const struct container_status *status =
		s->head_pod != NULL ? pod_ray_container_status(s->head_pod) : NULL;

	return status != NULL ? status->started_at : TIME_NONE;
}

/* With nothing remembered the head Pod is believed, where it says anything. */
static time_ms since_of(const struct situation *s, const struct memory_since *old, const char *name)
{
	time_ms now = s->snapshot->now;

	if (old == NULL)
		return head_start(s) != TIME_NONE && head_start(s) < now ? head_start(s) : now;
	return strcmp(old->key, name) == 0 && old->since < now ? old->since : now;
}

void ray_session_update(struct situation *s)
{
	const struct memory_since *old = remembered(s);

	s->ray_session_since = TIME_NONE;
	if (!s->ray_reachable) {
		if (old != NULL)
			VEC_PUSH(s->arena, &s->plan->memory.ray_sessions, *old);
		return;
	}
	const char *name = s->snapshot->ray_state->session_name;

	if (name == NULL || name[0] == '\0')
		return;
	name = arena_strndup(s->arena, name, strnlen(name, NAME_MAX_SIZE));
	struct memory_since mark = { .key = name, .since = since_of(s, old, name) };

	s->ray_session_since = mark.since;
	VEC_PUSH(s->arena, &s->plan->memory.ray_sessions, mark);
}
