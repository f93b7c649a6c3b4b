#include "core/decide/ray_session.h"

#include "core/model/in_force.h"

#include <string.h>

/* Ray's names have about 50 characters; the GCS controls the name, and it is stored in memory. */
#define NAME_MAX_SIZE 128

const struct memory_mark *ray_session_remembered(const struct facts *facts)
{
	const struct memory_state *memory = facts->snapshot->memory;

	return memory ? memory_next_mark(memory, MARK_RAY_SESSION, NULL) : NULL;
}

static time_ms head_start(const struct facts *facts)
{
	const struct container_status *status =
		facts->head_pod ? pod_ray_container_status(facts->head_pod) : NULL;

	return status ? status->started_at : TIME_NONE;
}

/* Without an entry in memory, the head Pod's start time is used if there is one. */
static time_ms since_of(const struct facts *facts, const struct memory_mark *old, const char *name)
{
	time_ms now = facts->snapshot->now;

	if (!old)
		return head_start(facts) != TIME_NONE &&
				       due_passed(facts->due, head_start(facts), 1) ?
			       head_start(facts) :
			       now;
	return strcmp(old->key, name) == 0 && due_passed(facts->due, old->since, 1) ? old->since :
										      now;
}

/* The run of the head's Ray container. A new run explains a new session. NULL: unknown. */
static const char *head_run(const struct facts *facts)
{
	const struct container_status *status =
		facts->head_pod ? pod_ray_container_status(facts->head_pod) : NULL;

	if (!status)
		return NULL;
	return arena_printf(facts->arena, "%s %lld %lld", facts->head_pod->name,
			    (long long)status->started_at, (long long)status->restart_count);
}

/* A new session in the same run of the head's container: memory keeps the old one and stores the
 * new one beside it, until the container has a new run or the time has passed. */
static void judge_change(struct facts *facts, const struct memory_mark *old,
			 struct memory_mark *mark)
{
	const struct memory_mark *waiting =
		old ? memory_next_mark(facts->snapshot->memory, MARK_RAY_SESSION, old) : NULL;
	int64_t limit_ms = facts->launch.start_ms;

	if (!old || !old->who || !mark->who || strcmp(old->key, mark->key) == 0 ||
	    strcmp(old->who, mark->who) != 0)
		return;
	if (waiting && strcmp(waiting->key, mark->key) == 0 && waiting->since < mark->since)
		mark->since = waiting->since;
	if (due_passed(facts->due, mark->since, limit_ms))
		return;
	VEC_PUSH(facts->arena, &facts->memory.marks, *old);
	if (!facts->head_problem)
		facts->head_problem = arena_printf(
			facts->arena,
			"Ray's session changed from %s to %s while the container of the head Pod "
			"%s did not restart; the new one is believed %lld s after it was first seen, "
			"or when the container restarts",
			resource_name_text(facts->arena, old->key),
			resource_name_text(facts->arena, mark->key), facts->head_pod->name,
			(long long)(limit_ms / MS_PER_SECOND));
}

void ray_session_update(struct facts *facts)
{
	const struct memory_mark *old = ray_session_remembered(facts);

	facts->ray_session_since = TIME_NONE;
	if (!facts->ray_reachable)
		return;
	const char *name = facts->snapshot->ray_state->session_name;

	if (!name || name[0] == '\0')
		return;
	name = arena_strndup(facts->arena, name, strnlen(name, NAME_MAX_SIZE));
	struct memory_mark mark = { MARK_RAY_SESSION, name, since_of(facts, old, name), 0,
				    head_run(facts) };

	judge_change(facts, old, &mark);
	facts->ray_session_since = mark.since;
	VEC_PUSH(facts->arena, &facts->memory.marks, mark);
}
