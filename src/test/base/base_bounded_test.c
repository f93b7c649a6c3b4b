/* base/bounded and base/counted: each kind of loop, and a sort, is left at the limit of its run. */
#include "base/bounded_run.h"

#include "base/budget.h"
#include "base/memory.h"
#include "test/support/support.h"

/* The last one: its words are macros from here on. */
#include "base/counted.h"

#define ALLOWED 100 /* units */
#define MANY 1000   /* turns */

struct work {
	int turns;
	int values[MANY];
};

static bool is_over(void *context UNUSED)
{
	return true;
}

static void run_for(void *context)
{
	struct work *work = context;

	for (int i = 0; i < MANY; i++)
		work->turns++;
}

static void run_while(void *context)
{
	struct work *work = context;

	while (work->turns < MANY)
		work->turns++;
}

static void run_do(void *context)
{
	struct work *work = context;

	do
		work->turns++;
	while (work->turns < MANY);
}

static void run_continue(void *context)
{
	struct work *work = context;

	for (int i = 0; i < MANY; i++) {
		if (++work->turns > 0)
			continue;
	}
}

/* Neither leaves a sort of libc, which has memory of its own, nor continues after it. */
static int by_value(const void *a, const void *b)
{
	bounded_count(1);
	return *(const int *)a - *(const int *)b;
}

static void run_sort(void *context)
{
	struct work *work = context;

	qsort(work->values, MANY, sizeof(*work->values), by_value);
	work->turns++;
}

static bool run_within(struct bounded *bounded, void (*run)(void *context), struct work *work)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	return bounded_run(bounded, &arena, run, work);
}

static void expect_left(void (*run)(void *context))
{
	struct bounded bounded = { .check = is_over, .units = ALLOWED };
	struct work work = { .turns = 0 };

	assert_false(run_within(&bounded, run, &work));
	assert_in_range(work.turns, ALLOWED - 1, ALLOWED + 1);
	assert_int_equal(bounded.err.kind, ERR_NONE);
	work.turns = 0;
	assert_true(run_within(&(struct bounded){ .check = NULL }, run, &work));
	assert_int_equal(work.turns, MANY);
}

static void test_each_loop_is_left(void **state)
{
	(void)state;
	expect_left(run_for);
	expect_left(run_while);
	expect_left(run_do);
	expect_left(run_continue);
}

static void test_a_sort_is_left_after_it(void **state)
{
	struct bounded bounded = { .check = is_over, .units = ALLOWED };
	struct work work = { .turns = 0 };

	(void)state;
	UNCOUNTED_FOR(int i = 0; i < MANY; i++)
		work.values[i] = MANY - i;
	assert_false(run_within(&bounded, run_sort, &work));
	assert_int_equal(work.turns, 0);
	UNCOUNTED_FOR(int i = 0; i < MANY; i++)
		assert_int_equal(work.values[i], i + 1);
}

static void run_allocate(void *context)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct work *work = context;

	for (int i = 0; i < MANY; i++) {
		(void)arena_alloc(&arena, 1000);
		work->turns++;
	}
}

/* An arena without a budget is charged to the run. */
static void test_memory_is_refused_before_it_is_taken(void **state)
{
	struct budget memory = { .name = "one run", .fix = "less", .limit_bytes = 100000 };
	struct bounded bounded = { .memory = &memory };
	struct work work = { .turns = 0 };

	(void)state;
	assert_false(run_within(&bounded, run_allocate, &work));
	assert_in_range(work.turns, 10, 100);
	assert_int_equal(bounded.err.kind, ERR_LIMIT);
	assert_true(memory.peak_bytes <= memory.limit_bytes);
	assert_int_equal(memory.used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_loop_is_left),
		cmocka_unit_test(test_a_sort_is_left_after_it),
		cmocka_unit_test(test_memory_is_refused_before_it_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
