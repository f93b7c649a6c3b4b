/* How the budget of reads is divided between clusters. */
#include "ctl/queue/scan_pace.h"

#include "test/support/support.h"

#define SCAN_MS 1000

static struct scan_pace pace_of(size_t awake, size_t asleep)
{
	struct scan_pace pace = { .reads_per_second = 200 };

	for (size_t i = 0; i < awake + asleep; i++)
		scan_pace_move(&pace, SCAN_FIXED, i < awake ? SCAN_AWAKE : SCAN_ASLEEP);
	return pace;
}

static void test_intervals_of_fleets(void **state)
{
	static const struct {
		size_t awake, asleep;
		int64_t awake_ms, asleep_ms;
	} cases[] = {
		{ 1, 0, 100, 100 },    { 0, 1, 100, 100 },      { 0, 20, 100, 100 },
		{ 10, 40, 100, 400 },  { 0, 50, 100, 250 },     { 50, 0, 250, 1000 },
		{ 2, 400, 510, 1000 }, { 0, 1000, 1000, 1000 }, { 10000, 0, 1000, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		const struct scan_pace pace = pace_of(cases[i].awake, cases[i].asleep);

		assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), cases[i].awake_ms);
		assert_int_equal(scan_pace_ms(&pace, SCAN_ASLEEP, SCAN_MS), cases[i].asleep_ms);
		assert_int_equal(scan_pace_ms(&pace, SCAN_FIXED, SCAN_MS), SCAN_MS);
	}
}

static void test_a_fixed_interval(void **state)
{
	struct scan_pace pace = pace_of(1, 0);

	(void)state;
	pace.reads_per_second = 0;
	assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), SCAN_MS);
}

static void test_clusters_that_wake_and_leave(void **state)
{
	struct scan_pace pace = pace_of(0, 50);

	(void)state;
	for (size_t i = 0; i < 50; i++)
		scan_pace_move(&pace, SCAN_ASLEEP, SCAN_AWAKE);
	assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), 250);
	for (size_t i = 0; i < 49; i++)
		scan_pace_move(&pace, SCAN_AWAKE, SCAN_FIXED);
	assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), 100);
}

static int64_t used_us;

static int64_t cpu_us(void)
{
	return used_us;
}

/* Passes that begin each interval_ms and use each_us. */
static void read_for(struct scan_pace *pace, int count, int64_t interval_ms, int64_t each_us)
{
	static int64_t now_ms = 5000;

	for (int i = 0; i < count; i++) {
		used_us += each_us;
		scan_pace_read(pace, now_ms += interval_ms, cpu_us);
	}
}

/* 20 clusters that are awake: 200 reads a second of 0.1 ms are 2 % of a core, of 1 ms would be 20 %. */
static void test_the_budget_of_cpu_time(void **state)
{
	struct scan_pace pace = pace_of(20, 0);

	(void)state;
	used_us = 700000;
	read_for(&pace, 2000, 5, 100);
	assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), 100);
	read_for(&pace, 4000, 5, 1000);
	assert_in_range(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), 390, 410);
	read_for(&pace, 100, 1000, 900000);
	assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), SCAN_MS);
	read_for(&pace, 8000, 5, 100);
	assert_int_equal(scan_pace_ms(&pace, SCAN_AWAKE, SCAN_MS), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_of_fleets),
		cmocka_unit_test(test_a_fixed_interval),
		cmocka_unit_test(test_clusters_that_wake_and_leave),
		cmocka_unit_test(test_the_budget_of_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
