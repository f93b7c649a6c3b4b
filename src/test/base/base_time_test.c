#include "base/time.h"

#include <time.h>

#include "test/support/support.h"

static void test_known_points(void **state)
{
	static const struct {
		struct civil_time civil;
		time_ms time;
	} cases[] = {
		{ { 1970, 1, 1, 0, 0, 0, 0 }, 0 },
		{ { 1969, 12, 31, 23, 59, 59, 999 }, -1 },
		{ { 2000, 2, 29, 12, 0, 0, 0 }, INT64_C(951825600000) },
		{ { 2026, 11, 20, 10, 0, 0, 0 }, INT64_C(1795168800000) },
		{ { 1900, 3, 1, 0, 0, 0, 0 }, INT64_C(-2203891200000) },
		{ { 9999, 12, 31, 23, 59, 59, 999 }, INT64_C(253402300799999) },
		{ { 0, 1, 1, 0, 0, 0, 0 }, INT64_C(-62167219200000) },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct civil_time civil;

		assert_int_equal(time_from_civil(&cases[i].civil), cases[i].time);
		time_to_civil(cases[i].time, &civil);
		assert_memory_equal(&civil.year, &cases[i].civil.year, sizeof(civil.year));
		assert_int_equal(civil.month, cases[i].civil.month);
		assert_int_equal(civil.day, cases[i].civil.day);
		assert_int_equal(civil.hour, cases[i].civil.hour);
		assert_int_equal(civil.minute, cases[i].civil.minute);
		assert_int_equal(civil.second, cases[i].civil.second);
		assert_int_equal(civil.millisecond, cases[i].civil.millisecond);
	}
}

/* Every day of the years 0 to 9999 against the C library, and there and back. */
static void test_every_day_matches_libc(void **state)
{
	const time_ms first = INT64_C(-62167219200000), day_ms = INT64_C(86400000);

	(void)state;
	for (int64_t day = 0; day < 3652425; day++) {
		time_ms time = first + day * day_ms + (day * 7919) % day_ms;
		time_t seconds = (time - (time % 1000 + 1000) % 1000) / 1000;
		struct civil_time civil;
		struct tm tm;

		gmtime_r(&seconds, &tm);
		time_to_civil(time, &civil);
		if (civil.year != tm.tm_year + 1900 || civil.month != tm.tm_mon + 1 ||
		    civil.day != tm.tm_mday || civil.hour != tm.tm_hour ||
		    civil.minute != tm.tm_min || civil.second != tm.tm_sec ||
		    civil.millisecond != (int)(((time % 1000) + 1000) % 1000))
			fail_msg("wrong civil time of %lld ms", (long long)time);
		if (time_from_civil(&civil) != time)
			fail_msg("wrong way back of %lld ms", (long long)time);
	}
}

static void test_leap_second_is_the_next_minute(void **state)
{
	const struct civil_time leap = { 2016, 12, 31, 23, 59, 60, 0 };
	const struct civil_time next = { 2017, 1, 1, 0, 0, 0, 0 };

	(void)state;
	assert_int_equal(time_from_civil(&leap), time_from_civil(&next));
}

static void test_fields_out_of_range_are_checked(void **state)
{
	struct civil_time civil = { 2026, 13, 1, 0, 0, 0, 0 };

	(void)state;
	EXPECT_CHECK(time_from_civil(&civil));
	civil = (struct civil_time){ 2026, 1, 0, 0, 0, 0, 0 };
	EXPECT_CHECK(time_from_civil(&civil));
	civil = (struct civil_time){ 10000, 1, 1, 0, 0, 0, 0 };
	EXPECT_CHECK(time_from_civil(&civil));
	EXPECT_CHECK(time_to_civil(TIME_NONE, &civil));
}

static void test_far_points_do_not_overflow(void **state)
{
	struct civil_time civil;

	(void)state;
	time_to_civil(INT64_MAX, &civil);
	assert_int_equal(civil.year, 292278994);
	time_to_civil(INT64_MIN + 1, &civil);
	assert_int_equal(civil.year, -292275055);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_points),
		cmocka_unit_test(test_every_day_matches_libc),
		cmocka_unit_test(test_leap_second_is_the_next_minute),
		cmocka_unit_test(test_fields_out_of_range_are_checked),
		cmocka_unit_test(test_far_points_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
