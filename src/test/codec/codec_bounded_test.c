/* Decisions within limits: each golden case is decided with memory and work that end at every part of
 * the way. In each feature the decision is left without a crash or a leak, never has
 * more memory than its limit, and terminates nothing. */
#include "base/bounded.h"

#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "core/decide.h"
#include "test/support/golden_case.h"
#include "test/support/support.h"

#define PARTS 12            /* at which a case is left */
#define UNITS ((int64_t)50) /* of work between two questions */
#define PATH_BYTES 512
#define TEXT_BYTES_MAX ((size_t)64 << 20)
/* Memory that the plan of the RayCluster alone may take above the limit. */
#define RESERVE_BYTES ((size_t)64 << 10)
#define RESERVE_BYTES_OF_GROUP ((size_t)8 << 10)

struct watch {
	int64_t asked, allowed;
	enum cpu_spent then;
};

/* The ways that were seen over all cases: none of the ways may be without a case. */
static struct seen {
	size_t whole, cut, by_work, by_memory, on_cluster;
} seen;

static enum cpu_spent spent(void *context)
{
	struct watch *watch = context;

	return ++watch->asked > watch->allowed ? watch->then : CPU_LEFT;
}

static char *text_of(const struct plan *plan)
{
	struct buf text;
	struct err err;

	buf_init(&text, TEXT_BYTES_MAX);
	assert_int_equal(plan_write(plan, false, &text, &err), 0);
	return buf_steal(&text);
}

/* But Ray hears of workers that Kubernetes is about to end. */
static void expect_nothing_terminated(const char *name, const struct plan *plan, bool exhausted)
{
	for (size_t g = 0; g < plan->groups.count; g++)
		VEC_EACH(const struct plan_termination, item, &plan->groups.at[g].terminate)
			if (exhausted || item->reason != REASON_LEAVING)
				fail_msg("%s: %s terminates: %s", name, item->pod,
					 reason_word(item->reason));
	if (exhausted && (plan->patch.count > 0 || plan->resizes.count > 0))
		fail_msg("%s: an undecided plan patches", name);
	if (exhausted && plan->conditions.at[0].reason != REASON_DECISION_TOO_EXPENSIVE)
		fail_msg("%s: %s", name, reason_word(plan->conditions.at[0].reason));
}

/* Decides within the limits and looks at the plan; returns the peak of memory. */
static size_t decide_within(const char *name, struct snapshot *snapshot, const char *whole,
			    struct watch *watch, size_t limit)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct budget memory = { .name = "one pass", .fix = "raise it", .limit_bytes = limit };
	struct cpu_budget budget = {
		.spent = spent, .context = watch, .ms = 250, .memory = &memory, .units = UNITS
	};
	size_t reserve = RESERVE_BYTES + snapshot->cluster.group_count * RESERVE_BYTES_OF_GROUP;
	const struct plan *plan;
	char *text;

	arena.budget = &memory;
	snapshot->cpu_budget = &budget;
	plan = decide(snapshot, &arena);
	text = text_of(plan); /* reads all of it: nothing may be freed */
	if (!budget.exhausted && !budget.cut && strcmp(text, whole) != 0)
		fail_msg("%s: another plan within its limits", name);
	if (budget.exhausted || budget.cut)
		expect_nothing_terminated(name, plan, budget.exhausted);
	if (limit > 0 && memory.peak_bytes > limit) {
		if (!budget.exhausted || memory.peak_bytes > limit + reserve)
			fail_msg("%s: %zu bytes of %zu", name, memory.peak_bytes, limit);
		seen.on_cluster++;
	}
	seen.whole += !budget.exhausted && !budget.cut;
	seen.cut += budget.cut;
	seen.by_memory += budget.exhausted && budget.err.kind != ERR_NONE;
	seen.by_work += budget.exhausted && budget.err.kind == ERR_NONE;
	memory_free(text);
	snapshot->cpu_budget = NULL;
	arena_done(&arena);
	assert_int_equal(memory.used_bytes, 0);
	return memory.peak_bytes;
}

static void check_case(const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct watch all = { .allowed = INT64_MAX };
	struct snapshot snapshot;
	char path[PATH_BYTES], *whole;
	struct err err;
	size_t peak;

	(void)snprintf(path, sizeof(path), "%s/%s", golden_directory(), name);
	if (golden_snapshot(path, &arena, &snapshot, &err))
		fail_msg("%s: %s", name, err.text);
	whole = text_of(decide(&snapshot, &scratch));
	peak = decide_within(name, &snapshot, whole, &all, 0);
	for (size_t part = 0; part < PARTS; part++) {
		int64_t asked = all.asked * (int64_t)part / PARTS;

		decide_within(name, &snapshot, whole, &(struct watch){ .allowed = INT64_MAX },
			      1 + peak * part / PARTS);
		for (enum cpu_spent then = CPU_CUT; then <= CPU_OVER; then++)
			decide_within(name, &snapshot, whole,
				      &(struct watch){ .allowed = asked, .then = then }, 0);
	}
	memory_free(whole);
}

static void test_golden_cases(void **state)
{
	struct golden_names names;
	struct err err;

	(void)state;
	if (golden_names_read(golden_directory(), &names, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < names.count; i++)
		check_case(names.at[i]);
	golden_names_free(&names);
	assert_true(seen.whole && seen.cut && seen.by_work && seen.by_memory && seen.on_cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
