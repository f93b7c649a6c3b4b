/* Windows of schedules at changes of a time zone, and windows that overlap. The golden cases have
 * the rules of decisions; a year in nine zones is in e2e/tests/test_schedules.py. */

#include "feature/schedules/core/calendar.h"

#include "base/memory.h"
#include "test/support/support.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define MARCH INT64_C(1774746000000)   /* 2026-03-29T01:00:00Z: 02:00 becomes 03:00 */
#define OCTOBER INT64_C(1792890000000) /* 2026-10-25T01:00:00Z: 03:00 becomes 02:00 */

static const struct time_zone_change changes[] = { { MARCH, 7200 }, { OCTOBER, 3600 } };
static const struct time_zone berlin = { .offset_seconds = 3600,
					 .changes = changes,
					 .change_count = 2 };
static const struct time_zone utc = { .offset_seconds = 0 };

/* Every day at these minutes of the hour `hour`. */
static struct cron daily(int hour, uint64_t minutes)
{
	return (struct cron){ .minutes = minutes,
			      .hours = UINT32_C(1) << hour,
			      .days = UINT32_MAX,
			      .months = UINT32_MAX,
			      .weekdays = UINT32_MAX };
}

static void expect(const struct cron *cron, int64_t duration_ms, const struct time_zone *zone,
		   time_ms now, bool active, time_ms next)
{
	struct calendar_window window = calendar_window(cron, duration_ms, zone, now);

	assert_int_equal(window.active, active);
	assert_int_equal(window.next_change, next);
}

static void skipped_starts_are_one_at_the_change(void **state)
{
	struct cron cron = daily(2, UINT64_C(1) | UINT64_C(1) << 30);

	(void)state;
	expect(&cron, HOUR_MS, &berlin, MARCH - 1, false, MARCH);
	expect(&cron, HOUR_MS, &berlin, MARCH, true, MARCH + HOUR_MS);
	expect(&cron, HOUR_MS, &berlin, MARCH + HOUR_MS, false, MARCH + 23 * HOUR_MS);
}

/* America/Nuuk: 23:00 on Saturday becomes 00:00 on Sunday, which has no starts. */
static void a_skipped_start_of_the_day_before_the_change(void **state)
{
	static const struct time_zone_change spring = { MARCH, -3600 };
	static const struct time_zone nuuk = { .offset_seconds = -7200,
					       .changes = &spring,
					       .change_count = 1 };
	struct cron cron = daily(0, 1);

	(void)state;
	cron.hours = UINT32_MAX;
	cron.weekdays = 1 << 6;
	expect(&cron, HOUR_MS, &nuuk, MARCH, true, MARCH + HOUR_MS);
	expect(&cron, HOUR_MS, &nuuk, MARCH + HOUR_MS - 1, true, MARCH + HOUR_MS);
	expect(&cron, HOUR_MS, &nuuk, MARCH + HOUR_MS, false, MARCH + 6 * 24 * HOUR_MS);
}

static void a_repeated_start_is_the_first(void **state)
{
	struct cron cron = daily(2, UINT64_C(1) << 30);

	(void)state;
	expect(&cron, 10 * MINUTE_MS, &berlin, OCTOBER - 30 * MINUTE_MS, true,
	       OCTOBER - 20 * MINUTE_MS);
	expect(&cron, 10 * MINUTE_MS, &berlin, OCTOBER, false,
	       OCTOBER + 24 * HOUR_MS + 30 * MINUTE_MS);
	expect(&cron, 10 * MINUTE_MS, &berlin, OCTOBER + 30 * MINUTE_MS, false,
	       OCTOBER + 24 * HOUR_MS + 30 * MINUTE_MS);
}

/* The length of a window is time that passes: over the change it ends one hour later or earlier on
 * the clock. */
static void a_window_over_a_change_keeps_its_length(void **state)
{
	struct cron cron = daily(22, 1);

	(void)state;
	expect(&cron, 8 * HOUR_MS, &berlin, MARCH, true, MARCH + 4 * HOUR_MS);
	expect(&cron, 8 * HOUR_MS, &berlin, OCTOBER, true, OCTOBER + 3 * HOUR_MS);
}

static void windows_that_touch_are_one(void **state)
{
	struct cron cron = daily(10, UINT64_C(1) | UINT64_C(1) << 15 | UINT64_C(1) << 30);

	(void)state;
	expect(&cron, 15 * MINUTE_MS, &utc, 10 * HOUR_MS, true, 10 * HOUR_MS + 45 * MINUTE_MS);
	expect(&cron, 14 * MINUTE_MS, &utc, 10 * HOUR_MS, true, 10 * HOUR_MS + 14 * MINUTE_MS);
	cron = daily(10, UINT64_MAX);
	cron.hours = UINT32_MAX;
	expect(&cron, MINUTE_MS, &utc, 10 * HOUR_MS, true, TIME_NONE);
	cron = daily(10, 1);
	expect(&cron, 24 * HOUR_MS, &utc, 11 * HOUR_MS, true, TIME_NONE);
}

/* Windows of one and five minutes, without a gap for hours and days: their end is known at once. */
static void many_windows_that_touch_have_an_end(void **state)
{
	struct cron cron = daily(8, UINT64_MAX);

	(void)state;
	cron.hours = UINT32_C(0x3ff) << 8; /* 8:00 to 17:59 */
	expect(&cron, MINUTE_MS, &utc, 8 * HOUR_MS, true, 18 * HOUR_MS);
	cron.hours |= UINT32_C(3) << 21; /* 21:00 to 22:59 */
	expect(&cron, MINUTE_MS, &utc, 8 * HOUR_MS, true, 18 * HOUR_MS);
	/* From Sunday, 1970-01-04, to Friday. */
	cron = daily(0, UINT64_C(0x84210842108421));
	cron.hours = UINT32_MAX;
	cron.weekdays = 0x1f;
	expect(&cron, 5 * MINUTE_MS, &utc, 3 * 24 * HOUR_MS, true, 8 * 24 * HOUR_MS);
	expect(&cron, 4 * MINUTE_MS, &utc, 3 * 24 * HOUR_MS, true,
	       3 * 24 * HOUR_MS + 4 * MINUTE_MS);
	/* Over the changes of the zone to Friday; a repeated hour has no starts. */
	expect(&cron, 5 * MINUTE_MS, &berlin, MARCH, true, MARCH + 117 * HOUR_MS);
	expect(&cron, 5 * MINUTE_MS, &berlin, OCTOBER - 2 * HOUR_MS, true, OCTOBER);
	expect(&cron, 5 * MINUTE_MS, &berlin, OCTOBER + HOUR_MS, true, OCTOBER + 118 * HOUR_MS);
	/* Four months of windows have no end in sight, 99 days have one. */
	cron = daily(0, 1);
	cron.months = UINT32_C(0x1e);
	expect(&cron, 24 * HOUR_MS, &utc, 0, true, TIME_NONE);
	expect(&cron, 24 * HOUR_MS, &utc, 21 * 24 * HOUR_MS, true, 120 * 24 * HOUR_MS);
}

static void window_of_an_impossible_date_never_opens(void **state)
{
	struct cron cron = daily(10, 1);

	(void)state;
	cron.months = UINT32_C(1) << 2;
	cron.days = UINT32_C(1) << 30;
	expect(&cron, HOUR_MS, &utc, 0, false, TIME_NONE);
}

static void times_of_any_year_have_a_state(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct cron cron = daily(0, 1);

	(void)state;
	expect(&cron, HOUR_MS, &utc, INT64_C(-62167219200000), true,
	       INT64_C(-62167219200000) + HOUR_MS);
	expect(&cron, HOUR_MS, &utc, INT64_C(253402300799999), false, INT64_C(253402300800000));
	assert_string_equal(time_text(&arena, MARCH), "2026-03-29T01:00:00Z");
}

/* The days 1 to 31 of `days` in the months of `months`. */
static bool never(uint32_t days, uint32_t months, bool either_day)
{
	const struct cron cron = { .minutes = 1,
				   .hours = 1,
				   .days = days,
				   .months = months,
				   .weekdays = 1,
				   .either_day = either_day };

	return calendar_never_starts(&cron);
}

static void cron_without_a_date_never_starts(void **state)
{
	const uint32_t day_31 = UINT32_C(1) << 31, day_30 = 1 << 30, day_29 = 1 << 29;
	const uint32_t february = 1 << 2, short_months = 1 << 4 | 1 << 6 | 1 << 9 | 1 << 11;

	(void)state;
	assert_true(never(day_31, february, false));
	assert_true(never(day_30 | day_31, february, false));
	assert_true(never(day_31, february | short_months, false));
	/* In a leap year, a longer month, or on the day of the week. */
	assert_false(never(day_29, february, false));
	assert_false(never(day_30, february | short_months, false));
	assert_false(never(day_31, february | 1 << 3, false));
	assert_false(never(1 << 28 | day_31, february, false));
	assert_false(never(day_31, february, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skipped_starts_are_one_at_the_change),
		cmocka_unit_test(a_skipped_start_of_the_day_before_the_change),
		cmocka_unit_test(a_repeated_start_is_the_first),
		cmocka_unit_test(a_window_over_a_change_keeps_its_length),
		cmocka_unit_test(windows_that_touch_are_one),
		cmocka_unit_test(many_windows_that_touch_have_an_end),
		cmocka_unit_test(window_of_an_impossible_date_never_opens),
		cmocka_unit_test(cron_without_a_date_never_starts),
		cmocka_unit_test(times_of_any_year_have_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
