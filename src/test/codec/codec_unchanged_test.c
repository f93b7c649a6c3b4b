/* The contract of core/decide/unchanged, tested on the snapshots of all golden cases, as they are and
 * without their demand: until the time that it returns, the clock and Ray's idle durations alone do
 * not change the plan. GOLDEN_DIR names another directory. */
#include "core/decide/unchanged.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "core/decide.h"
#include "test/support/golden_case.h"
#include "test/support/support.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)
#define DAY_MS INT64_C(86400000)

/* Counts of the cases, so that the test cannot pass without any. */
static struct {
	int cases, unchanged, ending, for_ever, changed_after;
} seen;

static void load(const char *name, struct arena *arena, struct snapshot *ret_snapshot)
{
	struct err err = { .kind = ERR_NONE };

	if (golden_snapshot(arena_printf(arena, "%s/%s", golden_directory(), name), arena,
			    ret_snapshot, &err))
		fail_msg("%s: %s", name, err.text);
}

/* The same facts `ms` later: idle nodes have been idle for longer. */
static struct snapshot later(const struct snapshot *snapshot, const struct plan *plan, int64_t ms,
			     struct arena *arena)
{
	struct snapshot next = *snapshot;
	struct ray_state *state = ARENA_NEW(arena, struct ray_state);
	struct ray_node *nodes;

	*state = *snapshot->ray_state;
	nodes = arena_array(arena, state->node_count, sizeof(*nodes));
	for (size_t i = 0; i < state->node_count; i++) {
		nodes[i] = state->nodes[i];
		if (nodes[i].idle_duration_ms > 0 || nodes[i].status == RAY_NODE_IDLE)
			nodes[i].idle_duration_ms += ms;
	}
	state->nodes = nodes;
	state->version++;
	next.ray_state = state;
	next.now += ms;
	next.ray_state_time += ms;
	next.memory = &plan->memory;
	return next;
}

/* All of a plan but for times in messages. */
static char *gist(const struct plan *plan)
{
	struct plan copy = *plan;
	struct buf text;
	struct err err;

	copy.memory = (struct memory_state){ .templates.count = 0 };
	copy.workers.count = copy.groups.count = copy.conditions.count = 0;
	buf_init(&text, TEXT_BYTES_MAX);
	assert_int_equal(plan_write(&copy, false, &text, &err), 0);
	for (size_t i = 0; i < plan->groups.count; i++) {
		const struct plan_group *group = &plan->groups.at[i];

		(void)buf_printf(&text, "%s %lld %lld %lld %zu %s\n", group->name,
				 (long long)group->replicas, (long long)group->target_replicas,
				 (long long)group->to_launch, group->terminate.count,
				 group->reason);
	}
	for (size_t i = 0; i < plan->workers.count; i++)
		(void)buf_printf(&text, "%s %s %s\n", plan->workers.at[i].pod,
				 worker_state_name(plan->workers.at[i].state),
				 plan->workers.at[i].reason);
	for (size_t i = 0; i < plan->conditions.count; i++)
		(void)buf_printf(&text, "%s %s %s\n", plan->conditions.at[i].type,
				 plan->conditions.at[i].status, plan->conditions.at[i].reason);
	return buf_steal(&text);
}

static bool same_after(const struct snapshot *snapshot, const struct plan *plan, int64_t ms,
		       struct arena *arena)
{
	struct snapshot next = later(snapshot, plan, ms, arena);
	char *before = gist(plan), *after = gist(decide(&next, arena));
	bool same = strcmp(before, after) == 0;

	memory_free(before);
	memory_free(after);
	return same;
}

static void check(const char *name, const struct snapshot *snapshot, struct arena *arena)
{
	static const int64_t spans[] = { 1, 1000, 5000, 61000, 3600000, 400 * DAY_MS };
	const struct plan *plan = decide(snapshot, arena);
	time_ms until = unchanged_until(snapshot, plan);

	assert_true(until >= snapshot->now);
	seen.cases++;
	if (until == snapshot->now)
		return;
	seen.unchanged++;
	seen.for_ever += until == UNCHANGED_FOR_EVER;
	for (size_t i = 0; i < SUPPORT_COUNT(spans); i++)
		if (spans[i] < until - snapshot->now &&
		    !same_after(snapshot, plan, spans[i], arena))
			fail_msg("%s: %lld ms later the plan is another one", name,
				 (long long)spans[i]);
	if (until == UNCHANGED_FOR_EVER)
		return;
	seen.ending++;
	if (!same_after(snapshot, plan, until - snapshot->now, arena))
		fail_msg("%s: at its end the plan is another one", name);
	seen.changed_after += !same_after(snapshot, plan, until - snapshot->now + 1, arena);
}

static void strip(struct snapshot *snapshot, struct arena *arena)
{
	struct ray_state *state = ARENA_NEW(arena, struct ray_state);

	*state = *snapshot->ray_state;
	state->request_count = state->gang_count = state->constraint_count = 0;
	snapshot->ray_state = state;
	snapshot->has_annotation_request = false;
	snapshot->event_count = snapshot->node_count = snapshot->other_pod_count = 0;
	snapshot->memory = NULL;
}

static void test_the_plan_stands(void **state)
{
	AUTO(golden_names_free) struct golden_names names = { .at = NULL };
	struct err err = { .kind = ERR_NONE };

	(void)state;
	assert_int_equal(golden_names_read(golden_directory(), &names, &err), 0);
	for (size_t i = 0; i < names.count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct snapshot snapshot;

		load(names.at[i], &arena, &snapshot);
		check(names.at[i], &snapshot, &arena);
		if (snapshot.ray_state) {
			strip(&snapshot, &arena);
			check(names.at[i], &snapshot, &arena);
		}
	}
	print_message(
		"%d snapshots: %d calm, %d of them for ever, %d until a worker is idle for too"
		" long, then %d plans change\n",
		seen.cases, seen.unchanged, seen.for_ever, seen.ending, seen.changed_after);
	if (getenv("GOLDEN_DIR"))
		return;
	assert_true(seen.for_ever >= 100);
	assert_true(seen.ending >= 10);
	assert_int_equal(seen.changed_after, seen.ending);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_plan_stands) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
