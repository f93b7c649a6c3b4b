/* How the scan interval of one cluster follows the size and the time of its GCS's replies. */
#include "ctl/queue/poll_interval.h"

#include "test/support/support.h"

#define SCAN_MS 1000
#define MIB ((size_t)1 << 20)

static struct poll poll;

static int setup(void **state)
{
	(void)state;
	poll = (struct poll){ .next = 0 };
	return 0;
}

static int64_t after(int64_t took_ms, size_t bytes)
{
	struct poll_reading reading = { .took_us = took_ms * 1000, .bytes = bytes };

	(void)poll_update(&poll, SCAN_MS, &reading);
	return poll_interval_ms(&poll, SCAN_MS, SCAN_MS);
}

static void test_small_and_fast_is_as_asked_for(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(after(20, 100000), SCAN_MS);
	assert_string_equal(poll.text, "");
	assert_int_equal(poll_wake_ms(&poll, 0), 100);
}

/* Below the scan interval: at most 2 % of the time of a GCS, and 1 MiB a second. */
static void test_a_head_does_not_feel_short_intervals(void **state)
{
	static const struct {
		int64_t took_us;
		size_t bytes;
		int64_t interval_ms;
	} cases[] = {
		{ 800, 1000, 100 },      { 2000, 1000, 100 },      { 2400, 1000, 120 },
		{ 15000, 1000, 750 },    { 40000, 1000, SCAN_MS }, { 800, MIB / 4, 250 },
		{ 15000, MIB / 2, 750 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct poll_reading reading = { .took_us = cases[i].took_us,
						.bytes = cases[i].bytes };

		poll = (struct poll){ .next = 0 };
		for (int j = 0; j < POLL_READINGS; j++)
			assert_false(poll_update(&poll, SCAN_MS, &reading));
		assert_int_equal(poll_interval_ms(&poll, 100, SCAN_MS), cases[i].interval_ms);
		assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), SCAN_MS);
	}
	/* A reading faster than the others is not what a reading takes. */
	poll = (struct poll){ .next = 0 };
	for (int j = 0; j < POLL_READINGS; j++)
		(void)poll_update(&poll, SCAN_MS,
				  &(struct poll_reading){ .took_us = 5000 + 5000 * (j > 0) });
	assert_int_equal(poll_interval_ms(&poll, 100, SCAN_MS), 500);
	/* Beyond it as with a fixed one. */
	(void)after(1900, 5 * MIB);
	assert_int_equal(poll_interval_ms(&poll, 100, SCAN_MS), 8000);
}

static void test_large_replies_are_read_less_often(void **state)
{
	(void)state;
	assert_int_equal(after(20, MIB), SCAN_MS);
	assert_int_equal(after(20, 5 * MIB), 8000);
	assert_string_equal(poll.text,
			    "it is read every 8 s, because its replies are large (5.0 MiB)");
	/* A change in Kubernetes wakes it sooner, but not at will. */
	assert_int_equal(poll_wake_ms(&poll, 0), 4000);
	assert_int_equal(after(20, 6 * MIB), 8000);
	assert_int_equal(after(20, 200000), SCAN_MS);
	assert_string_equal(poll.text, "");
}

/* A cluster that changes without end: ten passes at once, then one a second; one that rests for a while
 * has them again. */
static void test_changes_without_end(void **state)
{
	int64_t now_ms = 0;
	unsigned passes = 0;

	(void)state;
	poll_init(&poll, now_ms);
	while (now_ms < 60000) {
		poll_woken(&poll, now_ms);
		passes++;
		now_ms += poll_wake_ms(&poll, now_ms);
	}
	assert_in_range(passes, 60, 60 + POLL_WAKES);
	poll_woken(&poll, now_ms);
	assert_int_equal(poll_wake_ms(&poll, now_ms), 1000);
	assert_int_equal(poll_wake_ms(&poll, now_ms + 2000), POLL_WAKE_MS);
}

static void test_it_is_bounded(void **state)
{
	struct poll_reading huge = { .took_us = INT32_MAX * INT64_C(1000),
				     .bytes = (size_t)1 << 40 };

	(void)state;
	assert_int_equal(after(20, 63 * MIB), POLL_MAX_MS);
	for (int i = 0; i < 5; i++)
		assert_int_equal(after(INT32_MAX, 63 * MIB), POLL_MAX_MS);
	/* A longer interval than the bound is kept when it is configured. */
	poll = (struct poll){ .next = 0 };
	assert_false(poll_update(&poll, 60000, &huge));
	assert_int_equal(poll_interval_ms(&poll, 60000, 60000), 60000);
}

static void test_once_slow_is_a_hiccup(void **state)
{
	(void)state;
	assert_int_equal(after(1900, 1000), SCAN_MS);
	assert_int_equal(after(1900, 1000), SCAN_MS);
	assert_int_equal(after(20, 1000), SCAN_MS);
	assert_int_equal(after(1900, 1000), SCAN_MS);
}

static void test_slow_replies_are_asked_for_less_often(void **state)
{
	(void)state;
	(void)after(1900, 1000);
	(void)after(1500, 1000);
	assert_int_equal(after(1700, 1000), 8000);
	assert_string_equal(poll.text,
			    "it is read every 8 s, because its replies are slow (1500 ms or more)");
	assert_int_equal(after(30, 1000), SCAN_MS);
}

/* Near the border of two steps the longer interval is kept. */
static void test_it_does_not_go_up_and_down(void **state)
{
	(void)state;
	assert_int_equal(after(20, 2 * MIB + 5000), 4000);
	for (int i = 0; i < 10; i++)
		assert_int_equal(after(20, 2 * MIB - 5000), 4000);
	assert_int_equal(after(20, MIB), 2000);
}

static void test_reply_above_the_ceiling(void **state)
{
	struct err err;
	struct poll_reading reading;

	(void)state;
	err_set(&err, ERR_LIMIT, "too large");
	reading = poll_reading_of(NULL, &err, 300000);
	assert_true(poll_update(&poll, SCAN_MS, &reading));
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), POLL_MAX_MS);
	assert_string_equal(poll.text,
			    "it is read every 30 s, because its reply is above the ceiling");
}

/* A head that hangs may still work on the request; one that refuses the connection does not. */
static void test_readings_that_fail(void **state)
{
	struct err err;
	struct poll_reading reading;

	(void)state;
	err_set(&err, ERR_TIMEOUT, "no reply");
	reading = poll_reading_of(NULL, &err, 2000000);
	assert_int_equal(reading.took_us, 2000000);
	for (int i = 0; i < POLL_READINGS; i++)
		(void)poll_update(&poll, SCAN_MS, &reading);
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), 8000);
	err_set(&err, ERR_RETRY, "connection refused");
	reading = poll_reading_of(NULL, &err, 2000000);
	assert_int_equal(reading.took_us, 0);
	assert_true(poll_update(&poll, SCAN_MS, &reading));
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), SCAN_MS);
}

/* Between the calls that wait for a head that hangs, calls fail at once because its connection is left alone
 * for a moment. Those have asked nothing. */
static void test_a_time_out_that_is_declared_again(void **state)
{
	struct err err;
	struct poll_reading waited, declared;

	(void)state;
	err_set(&err, ERR_TIMEOUT, "no reply");
	waited = poll_reading_of(NULL, &err, 2000000);
	declared = poll_reading_of(NULL, &err, 400);
	for (int i = 0; i < POLL_READINGS; i++) {
		assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), SCAN_MS);
		(void)poll_update(&poll, SCAN_MS, &waited);
		assert_false(poll_update(&poll, SCAN_MS, &declared));
	}
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), 8000);
}

/* Each decision that takes too much CPU time doubles the interval, also for requested passes; the
 * first one that is made ends that. */
static void test_decisions_that_are_too_expensive(void **state)
{
	const struct poll_reading small = { .took_us = 1000, .bytes = 100 };

	(void)state;
	for (int64_t wanted = 2 * SCAN_MS; wanted < 60000; wanted *= 2) {
		poll_decided(&poll, SCAN_MS, true);
		assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), wanted);
		assert_int_equal(poll_wake_ms(&poll, 0), wanted);
		(void)poll_update(&poll, SCAN_MS,
				  &small); /* that it is read well changes nothing */
	}
	poll_decided(&poll, SCAN_MS, true);
	poll_decided(&poll, SCAN_MS, true);
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), POLL_UNDECIDED_MAX_MS);
	poll_decided(&poll, SCAN_MS, false);
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), SCAN_MS);
	assert_int_equal(poll_wake_ms(&poll, 0), 100);
}

/* The number is read from a status that a user may be able to write. */
static void test_an_earlier_process_is_resumed(void **state)
{
	static const struct {
		int64_t seconds, wanted_ms;
	} cases[] = {
		{ 0, 0 },
		{ 1, 1000 },
		{ 60, POLL_UNDECIDED_MAX_MS },
		{ 61, POLL_UNDECIDED_MAX_MS },
		{ INT64_MAX, POLL_UNDECIDED_MAX_MS },
		{ -1, 0 },
		{ INT64_MIN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		poll_resume(&poll, cases[i].seconds);
		assert_int_equal(poll.undecided_ms, cases[i].wanted_ms);
	}
	poll_resume(&poll, 4 * SCAN_MS / 1000);
	assert_int_equal(poll_undecided_next_ms(&poll, SCAN_MS), 8 * SCAN_MS);
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), 4 * SCAN_MS);
	poll_decided(&poll, SCAN_MS, true);
	assert_int_equal(poll_interval_ms(&poll, SCAN_MS, SCAN_MS), 8 * SCAN_MS);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_small_and_fast_is_as_asked_for),
		TEST(test_a_head_does_not_feel_short_intervals),
		TEST(test_large_replies_are_read_less_often),
		TEST(test_changes_without_end),
		TEST(test_it_is_bounded),
		TEST(test_once_slow_is_a_hiccup),
		TEST(test_slow_replies_are_asked_for_less_often),
		TEST(test_it_does_not_go_up_and_down),
		TEST(test_reply_above_the_ceiling),
		TEST(test_readings_that_fail),
		TEST(test_a_time_out_that_is_declared_again),
		TEST(test_decisions_that_are_too_expensive),
		TEST(test_an_earlier_process_is_resumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
