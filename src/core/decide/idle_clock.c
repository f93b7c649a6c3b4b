#include "core/decide/idle_clock.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/mark.h"

/* Idle times of two replies differ by this without a restart: they are as old as a raylet's report. */
#define SLACK_MS 3000
/* Between the death in our view and the restart in a raylet's report, either way. */
#define AROUND_DEATH_MS 10000

/* Marks of nodes: `since` is the idle time that counts, `count` Ray's own after the restart in ms, 0 before
 * it. The mark of the cluster: `since` is the first death. */
struct reader {
	struct idle_clock clock;
	struct arena *arena;
	struct facts old; /* for its marks alone */
	time_ms death;    /* TIME_NONE: no node has died */
};

/* Since when Ray says it is idle; TIME_NONE: it does not. */
static time_ms reported_since(const struct snapshot *snapshot, const struct ray_node *node)
{
	if (node->status != RAY_NODE_IDLE || !ray_node_is_unused(node) ||
	    node->idle_duration_ms <= 0)
		return TIME_NONE;
	return snapshot->ray_state_time - node->idle_duration_ms;
}

static bool is_near(time_ms a, time_ms b, int64_t most_ms)
{
	return a - b <= most_ms && b - a <= most_ms;
}

static bool has_dead(const struct ray_state *state)
{
	return ray_state_living(state) < (int64_t)state->node_count;
}

static void find_death(struct reader *reader)
{
	const struct snapshot *snapshot = reader->clock.snapshot;
	const struct memory_mark *mark;

	reader->death = TIME_NONE;
	if (!has_dead(snapshot->ray_state))
		return;
	mark = mark_find(&reader->old, MARK_IDLE_SINCE, CLUSTER_MARK_KEY);
	reader->death = mark ? mark->since : snapshot->ray_state_time;
}

static void remember(struct reader *reader, const char *key, time_ms since, int64_t count)
{
	VEC_PUSH(reader->arena, &reader->clock.marks,
		 ((struct memory_mark){
			 .kind = MARK_IDLE_SINCE, .key = key, .since = since, .count = count }));
}

/* Without a death: since when it is idle, as before where the two differ by a report's age alone. */
static void remember_idle(struct reader *reader, const struct ray_node *node, time_ms reported)
{
	const struct memory_mark *mark = mark_find(&reader->old, MARK_IDLE_SINCE, node->id);

	if (mark && mark->count == 0 && is_near(mark->since, reported, SLACK_MS))
		reported = mark->since;
	remember(reader, node->id, reported, 0);
}

/* The idle time that counts after the first death. */
static time_ms continued(struct reader *reader, const struct ray_node *node, time_ms reported)
{
	const struct memory_mark *mark = mark_find(&reader->old, MARK_IDLE_SINCE, node->id);
	bool restarted;

	if (!mark)
		return reported;
	restarted = mark->count != 0 ? is_near(reported, mark->count, SLACK_MS) :
				       reported > mark->since + SLACK_MS &&
					       is_near(reported, reader->death, AROUND_DEATH_MS);
	if (restarted) {
		remember(reader, node->id, mark->since, mark->count ? mark->count : reported);
		return mark->since;
	}
	/* Raylets restart it a moment after the death. */
	if (mark->count == 0 && is_near(mark->since, reported, SLACK_MS) &&
	    reader->clock.snapshot->ray_state_time <= reader->death + AROUND_DEATH_MS)
		remember(reader, node->id, mark->since, 0);
	return reported;
}

static void read_nodes(struct reader *reader)
{
	const struct snapshot *snapshot = reader->clock.snapshot;
	const struct ray_state *state = snapshot->ray_state;
	struct ray_node *nodes = NULL;

	for (size_t i = 0; i < state->node_count; i++) {
		const struct ray_node *node = &state->nodes[i];
		time_ms reported = reported_since(snapshot, node), since;

		if (reported == TIME_NONE)
			continue;
		if (reader->death == TIME_NONE) {
			remember_idle(reader, node, reported);
			continue;
		}
		since = continued(reader, node, reported);
		if (since == reported)
			continue;
		if (!nodes)
			nodes = ARENA_COPY(reader->arena, state->nodes, state->node_count);
		nodes[i].idle_duration_ms = snapshot->ray_state_time - since;
	}
	if (reader->death != TIME_NONE && reader->clock.marks.count > 0)
		remember(reader, CLUSTER_MARK_KEY, reader->death, 0);
	if (nodes) {
		struct ray_state *changed = ARENA_COPY(reader->arena, state, 1);
		struct snapshot *copy = ARENA_COPY(reader->arena, snapshot, 1);

		changed->nodes = nodes;
		copy->ray_state = changed;
		reader->clock.snapshot = copy;
	}
}

/* So that the order of the nodes does not matter. */
static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct memory_mark *)a)->key, ((const struct memory_mark *)b)->key);
}

struct idle_clock idle_clock_read(const struct snapshot *snapshot, struct arena *arena)
{
	struct reader reader = {
		.clock = { .snapshot = snapshot },
		.arena = arena,
		.old = { .snapshot = snapshot, .arena = arena },
	};

	if (!snapshot->ray_state || snapshot->ray_state_time == TIME_NONE)
		return reader.clock;
	mark_index(&reader.old);
	find_death(&reader);
	read_nodes(&reader);
	if (reader.clock.marks.count > 0)
		qsort(reader.clock.marks.at, reader.clock.marks.count,
		      sizeof(*reader.clock.marks.at), compare_keys);
	return reader.clock;
}

void idle_clock_remember(const struct idle_clock *clock, struct facts *facts)
{
	if (!facts->ray_reachable)
		return;
	VEC_EACH(const struct memory_mark, mark, &clock->marks)
		VEC_PUSH(facts->arena, &facts->memory.marks, *mark);
}
