/* The figures of one row of `simulate`, and which rows are the best ones. */

#include "cli/simulate_row.h"

#include "core/model/workload.h"
#include "test/support/support.h"

static void best_rows_and_the_trade(void **state)
{
	const struct simulate_row list[] = {
		{ .provisioned = 10, .waits = { .p95_ms = 90 } },
		{ .provisioned = 11, .waits = { .p95_ms = 20 } },
		{ .provisioned = 12, .waits = { .p95_ms = 20 } },
		{ .provisioned = 30, .waits = { .p95_ms = 0 } },
		{ .provisioned = 1, .waits = { .p95_ms = 0, .unstarted = 1 } },
	};
	const struct simulate_row *rows[] = { &list[0], &list[1], &list[2], &list[3], &list[4] };
	const bool best[] = { true, true, false, true, true };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++)
		assert_int_equal(simulate_row_is_best(rows, SUPPORT_COUNT(rows), i), best[i]);
	assert_int_equal(simulate_row_trade(rows, SUPPORT_COUNT(rows)), 1);
}

static void percentiles_count_instances(void **state)
{
	const struct work_item a = { .job = "a" }, b = { .job = "b" };
	const struct sim_wait waits[] = { { &b, 9000, 1 }, { &a, 1000, 94 }, { &a, 5000, 5 } };
	const struct sim_unstarted unstarted[] = { { &b, 2, "X", "full" } };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_rows_and_the_trade),
		cmocka_unit_test(percentiles_count_instances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
