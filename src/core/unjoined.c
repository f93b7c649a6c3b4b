#include "core/unjoined.h"

#include <stdlib.h>
#include <string.h>

struct index {
	const struct memory_since **at; /* sorted by key */
	size_t count;
};

static int compare_keys(const void *left, const void *right)
{
	const struct memory_since *a = *(const struct memory_since *const *)left;
	const struct memory_since *b = *(const struct memory_since *const *)right;

	return strcmp(a->key, b->key);
}

static struct index index_of(const struct situation *s, const struct memory_state *memory)
{
	struct index index = { .count = memory->unjoined.count };

	index.at = arena_array(s->arena, index.count, sizeof(*index.at));
	for (size_t i = 0; i < index.count; i++)
		index.at[i] = &memory->unjoined.at[i];
	qsort(index.at, index.count, sizeof(*index.at), compare_keys);
	return index;
}

static time_ms since(const struct situation *s, const struct index *index, const char *pod)
{
	const struct memory_since wanted = { .key = pod }, *key = &wanted;
	const struct memory_since *const *found =
		bsearch(&key, index->at, index->count, sizeof(*index->at), compare_keys);

	return found != NULL && (*found)->since <= s->snapshot->now ? (*found)->since :
								      s->snapshot->now;
}

static int64_t sure_after_ms(const struct settings *settings)
{
	int64_t seconds = settings->raylet_gone_seconds;

	if (seconds > settings->start_timeout_seconds)
		seconds = settings->start_timeout_seconds;
	return seconds * MS_PER_SECOND;
}

void unjoined_update(struct situation *s)
{
	const struct memory_state *memory = s->snapshot->memory;
	int64_t sure_ms = sure_after_ms(&s->snapshot->settings);

	/* Without a reply before this one nobody knows whether they had joined. */
	if (memory == NULL || memory->ray_sessions.count == 0)
		return;
	if (!s->ray_reachable) {
		s->plan->memory.unjoined = memory->unjoined;
		return;
	}
	struct index index = index_of(s, memory);

	for (size_t i = 0; i < s->worker_count; i++) {
		struct worker *worker = &s->workers[i];

		if (worker->pod == NULL || worker->node != NULL || worker->never_started ||
		    worker->finished || worker->deleting)
			continue;
		struct memory_since mark = { .key = worker->pod_name,
					     .since = since(s, &index, worker->pod_name) };

		worker->unsure = s->snapshot->now - mark.since < sure_ms;
		VEC_PUSH(s->arena, &s->plan->memory.unjoined, mark);
	}
}
