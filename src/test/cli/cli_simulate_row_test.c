/* The figures of one row of `simulate`, and which rows are the best ones. */

#include "cli/simulate_row.h"

#include "core/model/workload.h"
#include "test/support/support.h"

static void best_rows_and_the_trade(void **state)
{
	const struct simulate_row list[] = {
		{ .provisioned = 10, .waits = { .p95_ms = 90, .waited = 9 } },
		{ .provisioned = 11, .waits = { .p95_ms = 20, .waited = 2 } },
		{ .provisioned = 12, .waits = { .p95_ms = 20, .waited = 2 } },
		{ .provisioned = 30, .waits = { .p95_ms = 0 } },
		{ .provisioned = 1, .waits = { .p95_ms = 0, .unstarted = 1 } },
	};
	const struct simulate_row *rows[] = { &list[0], &list[1], &list[2], &list[3], &list[4] };
	const bool best[] = { true, true, false, true, true };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++)
		assert_int_equal(simulate_row_is_starred(rows, SUPPORT_COUNT(rows), i), best[i]);
	assert_int_equal(simulate_row_trade(rows, SUPPORT_COUNT(rows)), 1);
}

static void percentiles_count_instances(void **state)
{
	const struct work_item a = { .job = "a" }, b = { .job = "b" };
	const struct sim_wait waits[] = { { &b, 9000, 1, 0 },
					  { &a, 1000, 94, 0 },
					  { &a, 5000, 5, 0 } };
	const struct sim_unstarted unstarted[] = { { &b, 2, 0, "X", "full" } };
	const struct sim_result result = { .waits = waits,
					   .wait_count = SUPPORT_COUNT(waits),
					   .unstarted = unstarted,
					   .unstarted_count = 1 };
	struct arena arena = ARENA_INIT;
	struct simulate_row row;

	(void)state;
	simulate_row_make(&result, &arena, &row);
	assert_int_equal(row.waits.started, 100);
	assert_int_equal(row.waits.unstarted, 2);
	assert_int_equal(row.waits.p50_ms, 1000);
	assert_int_equal(row.waits.p95_ms, 5000);
	assert_int_equal(row.waits.max_ms, 9000);
	assert_int_equal(row.job_count, 2);
	assert_string_equal(row.jobs[1].job, "b");
	assert_int_equal(row.jobs[1].waits.p50_ms, 9000);
	assert_int_equal(row.jobs[1].waits.unstarted, 2);
	assert_int_equal(row.never_count, 1);
	arena_done(&arena);
}

/* Three placement groups of 8 x 8 GPUs that wait 40 minutes beside 800 small tasks, and a row that
 * removes this wait for 3.6 % more. */
static void a_few_large_groups_count_beside_many_tasks(void **state)
{
	const struct work_item task = { .job = "" }, gang = { .job = "" };
	struct sim_wait waits[] = { { &task, 30000, 800, 10000 }, { &gang, 2400000, 3, 640000 } };
	struct sim_result result = { .waits = waits, .wait_count = SUPPORT_COUNT(waits) };
	struct arena arena = ARENA_INIT;
	struct simulate_row slow, fast;
	const struct simulate_row *rows[] = { &slow, &fast };

	(void)state;
	simulate_row_make(&result, &arena, &slow);
	assert_int_equal(slow.waits.p95_ms, 2400000);
	assert_int_equal(slow.waits.p50_ms, 30000);
	assert_int_equal(slow.waits.item_p95_ms, 30000);
	assert_true(slow.waits.waited > 134.6 && slow.waits.waited < 134.7);
	waits[1].wait_ms = 60000;
	result.course = 1;
	simulate_row_make(&result, &arena, &fast);
	slow.provisioned = 1000;
	fast.provisioned = 1036;
	assert_true(simulate_row_is_starred(rows, 2, 0) && simulate_row_is_starred(rows, 2, 1));
	assert_int_equal(simulate_row_trade(rows, 2), 1);
	assert_int_equal(simulate_row_thrifty(rows, 2), 0);
	assert_int_equal(simulate_row_fast(rows, 2), 1);
	/* Waiting that is not worth the price. */
	fast.provisioned = 1200;
	assert_int_equal(simulate_row_trade(rows, 2), 0);
	arena_done(&arena);
}

/* A time that only the slowest unit has. */
static void the_longest_wait_takes_part(void **state)
{
	const struct simulate_row list[] = {
		{ .provisioned = 10, .course = 1, .waits = { .p95_ms = 20, .max_ms = 90 } },
		{ .provisioned = 11, .course = 2, .waits = { .p95_ms = 20, .max_ms = 30 } },
		{ .provisioned = 11, .course = 2, .waits = { .p95_ms = 20, .max_ms = 30 } },
	};
	const struct simulate_row *rows[] = { &list[0], &list[1], &list[2] };

	(void)state;
	assert_true(simulate_row_is_starred(rows, 3, 0));
	assert_true(simulate_row_is_starred(rows, 3, 1));
	assert_false(simulate_row_is_starred(rows, 3, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_rows_and_the_trade),
		cmocka_unit_test(percentiles_count_instances),
		cmocka_unit_test(a_few_large_groups_count_beside_many_tasks),
		cmocka_unit_test(the_longest_wait_takes_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
