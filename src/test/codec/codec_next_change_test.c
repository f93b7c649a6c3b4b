/* The contract of plan.next_change on the snapshots of all golden cases, as they are and without their
 * demand. GOLDEN_DIR names another directory. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/memory.h"
#include "core/decide.h"
#include "test/support/golden_case.h"
#include "test/support/plan_stays.h"
#include "test/support/support.h"

static void load(const char *name, struct arena *arena, struct snapshot *ret_snapshot)
{
	struct err err = { .kind = ERR_NONE };

	if (golden_snapshot(arena_printf(arena, "%s/%s", golden_directory(), name), arena,
			    ret_snapshot, &err))
		fail_msg("%s: %s", name, err.text);
}

static void check(const char *name, const struct snapshot *snapshot, struct arena *arena,
		  struct plan_stays *counts)
{
	const char *broken = plan_stays_check(snapshot, arena, counts);

	if (broken)
		fail_msg("%s: %s", name, broken);
}

static void strip(struct snapshot *snapshot, struct arena *arena)
{
	struct ray_state *state = ARENA_NEW(arena, struct ray_state);

	*state = *snapshot->ray_state;
	state->request_count = state->gang_count = state->constraint_count = 0;
	snapshot->ray_state = state;
	snapshot->cluster.request = NULL;
	snapshot->event_count = snapshot->node_count = snapshot->other_pod_count = 0;
	snapshot->memory = NULL;
}

static void test_the_plan_stays(void **state)
{
	AUTO(golden_names_free) struct golden_names names = { .at = NULL };
	struct plan_stays counts = { .snapshots = 0 };
	struct err err = { .kind = ERR_NONE };

	(void)state;
	assert_int_equal(golden_names_read(golden_directory(), &names, &err), 0);
	for (size_t i = 0; i < names.count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct snapshot snapshot;

		load(names.at[i], &arena, &snapshot);
		check(names.at[i], &snapshot, &arena, &counts);
		if (snapshot.ray_state) {
			strip(&snapshot, &arena);
			check(names.at[i], &snapshot, &arena, &counts);
		}
	}
	print_message("%lld snapshots: %lld plans stay, %lld of them for ever, %lld change at "
		      "their next change\n",
		      (long long)counts.snapshots, (long long)counts.stay,
		      (long long)counts.for_ever, (long long)counts.change);
	if (getenv("GOLDEN_DIR"))
		return;
	assert_true(counts.for_ever >= 100);
	assert_true(counts.change >= 100);
}

/* A mark of a worker that is not in Ray yet is made and read by the same decision, so that the next one is not
 * made for its sake. */
static void test_a_mark_that_is_read_already_wakes_nobody(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot;
	struct memory_state memory;

	(void)state;
	load("0901_left_out_not_long_enough.yaml", &arena, &snapshot);
	for (int i = 0; i < 2; i++) {
		memory = decide(&snapshot, &arena)->memory;
		snapshot.memory = &memory;
	}
	assert_true(memory_next_mark(&memory, MARK_NOT_REGISTERED, NULL));
	assert_true(memory_next_mark(&memory, MARK_START_GRACE, NULL));
	for (size_t i = memory.marks.count; i-- > 0;)
		if (memory.marks.at[i].kind == MARK_NOT_REGISTERED ||
		    memory.marks.at[i].kind == MARK_START_GRACE)
			memory.marks.at[i] = memory.marks.at[--memory.marks.count];
	assert_true(decide(&snapshot, &arena)->next_change > snapshot.now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_plan_stays),
		cmocka_unit_test(test_a_mark_that_is_read_already_wakes_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
