#include "feature/schedules/core/calendar.h"

#include "base/check.h"

#define MS_PER_MINUTE (60 * MS_PER_SECOND)
#define MS_PER_HOUR (60 * MS_PER_MINUTE)
#define MS_PER_DAY (24 * MS_PER_HOUR)
#define THURSDAY 4 /* 1970-01-01 */
/* Of end_of_windows: one or two a day, more only where a time zone changes often. */
#define STEPS_MAX 1000

/* A local time as the milliseconds that UTC would have. */
typedef int64_t local_ms;

static int64_t floor_divide(int64_t value, int64_t divisor)
{
	return value / divisor - (value % divisor < 0 ? 1 : 0);
}

/* The first moment of the zone that shows the local time. The pieces between two changes are tried
 * in their order: in the first one that ends after the local time it is shown, or it was skipped
 * when that piece began. Greater local times give no earlier moments. */
static time_ms first_moment(const struct time_zone *zone, local_ms local)
{
	int64_t offset_seconds = zone->offset_seconds;
	time_ms begin = INT64_MIN;

	for (size_t i = 0;; i++) {
		time_ms moment = local - offset_seconds * MS_PER_SECOND;

		if (i == zone->change_count || moment < zone->changes[i].at)
			return moment < begin ? begin : moment;
		begin = zone->changes[i].at;
		offset_seconds = zone->changes[i].offset_seconds;
	}
}

/* Local times from time + smallest to time + greatest can be shown at the time. */
static void find_offsets(const struct time_zone *zone, int64_t *ret_smallest_ms,
			 int64_t *ret_greatest_ms)
{
	int64_t smallest = zone->offset_seconds, greatest = smallest;

	for (size_t i = 0; i < zone->change_count; i++) {
		int64_t offset = zone->changes[i].offset_seconds;

		smallest = offset < smallest ? offset : smallest;
		greatest = offset > greatest ? offset : greatest;
	}
	*ret_smallest_ms = smallest * MS_PER_SECOND;
	*ret_greatest_ms = greatest * MS_PER_SECOND;
}

static bool has_bit(uint64_t bits, int bit)
{
	return (bits >> bit & 1) != 0;
}

static bool day_matches(const struct cron *cron, int64_t day)
{
	struct civil_time civil;
	bool of_month, of_week;

	time_to_civil(day * MS_PER_DAY, &civil);
	of_month = has_bit(cron->days, civil.day);
	of_week = has_bit(cron->weekdays,
			  (int)(day + THURSDAY - floor_divide(day + THURSDAY, 7) * 7));
	return has_bit(cron->months, civil.month) &&
	       (cron->either_day ? of_month || of_week : of_month && of_week);
}

static bool minute_matches(const struct cron *cron, int64_t minute_of_day)
{
	return has_bit(cron->hours, (int)(minute_of_day / 60)) &&
	       has_bit(cron->minutes, (int)(minute_of_day % 60));
}

/* The first start after `after` and not after `until`; TIME_NONE: there is none. */
static time_ms next_start(const struct cron *cron, const struct time_zone *zone, time_ms after,
			  time_ms until)
{
	int64_t smallest_ms, greatest_ms, first, last_day;

	find_offsets(zone, &smallest_ms, &greatest_ms);
	first = floor_divide(after + smallest_ms, MS_PER_MINUTE);
	last_day = floor_divide(until + greatest_ms, MS_PER_DAY);
	for (int64_t day = floor_divide(first, 24 * 60); day <= last_day; day++) {
		int64_t minute = first > day * 24 * 60 ? first - day * 24 * 60 : 0;

		if (!day_matches(cron, day))
			continue;
		for (; minute < 24 * 60; minute++) {
			time_ms start;

			if (!minute_matches(cron, minute))
				continue;
			start = first_moment(zone, day * MS_PER_DAY + minute * MS_PER_MINUTE);
			if (start > after)
				return start <= until ? start : TIME_NONE;
		}
	}
	return TIME_NONE;
}

/* The latest start that is not after `now` and after `after`; TIME_NONE: there is none. */
static time_ms last_start(const struct cron *cron, const struct time_zone *zone, time_ms after,
			  time_ms now)
{
	int64_t smallest_ms, greatest_ms, last, first_day;

	find_offsets(zone, &smallest_ms, &greatest_ms);
	last = floor_divide(now + greatest_ms, MS_PER_MINUTE);
	first_day = floor_divide(after + smallest_ms, MS_PER_DAY);
	for (int64_t day = floor_divide(last, 24 * 60); day >= first_day; day--) {
		int64_t minute = last - day * 24 * 60;

		if (!day_matches(cron, day))
			continue;
		minute = minute < 24 * 60 ? minute : 24 * 60 - 1;
		for (; minute >= 0; minute--) {
			time_ms start;

			if (!minute_matches(cron, minute))
				continue;
			start = first_moment(zone, day * MS_PER_DAY + minute * MS_PER_MINUTE);
			if (start <= now)
				return start > after ? start : TIME_NONE;
		}
	}
	return TIME_NONE;
}

static int64_t offset_ms_at(const struct time_zone *zone, time_ms time)
{
	int64_t offset_seconds = zone->offset_seconds;

	for (size_t i = 0; i < zone->change_count && zone->changes[i].at <= time; i++)
		offset_seconds = zone->changes[i].offset_seconds;
	return offset_seconds * MS_PER_SECOND;
}

/* The last start of the local day of `start` that follows it without a gap; `start` itself if there
 * is none. Later local times of a day are not earlier moments. A start that the clocks skip may be
 * of the day before the change: then this day has starts only if it matches too. */
static time_ms last_of_day(const struct cron *cron, int64_t duration_ms,
			   const struct time_zone *zone, time_ms start)
{
	local_ms local = start + offset_ms_at(zone, start);
	int64_t day = floor_divide(local, MS_PER_DAY);

	if (!day_matches(cron, day))
		return start;
	for (int64_t minute = (local - day * MS_PER_DAY) / MS_PER_MINUTE + 1; minute < 24 * 60;
	     minute++) {
		time_ms next;

		if (!minute_matches(cron, minute))
			continue;
		next = first_moment(zone, day * MS_PER_DAY + minute * MS_PER_MINUTE);
		if (next > start + duration_ms)
			break;
		start = next > start ? next : start;
	}
	return start;
}

/* The end of the windows that follow each other without a gap, of which one begins at `start`;
 * TIME_NONE: later than `until`. Goes from day to day, so that many short windows cost little. */
static time_ms end_of_windows(const struct cron *cron, int64_t duration_ms,
			      const struct time_zone *zone, time_ms start, time_ms until)
{
	for (int i = 0; i < STEPS_MAX && start + duration_ms <= until; i++) {
		time_ms next;

		start = last_of_day(cron, duration_ms, zone, start);
		next = last_start(cron, zone, start, start + duration_ms);
		if (next == TIME_NONE)
			return start + duration_ms;
		start = next;
	}
	return TIME_NONE;
}

struct calendar_window calendar_window(const struct cron *cron, int64_t duration_ms,
				       const struct time_zone *zone, time_ms now)
{
	time_ms start = last_start(cron, zone, now - duration_ms, now), change;
	bool active = start != TIME_NONE;

	CHECK(!active || (start <= now && start > now - duration_ms));
	if (active)
		change = end_of_windows(cron, duration_ms, zone, start,
					now + CALENDAR_CHAIN_DAYS * MS_PER_DAY);
	else
		change = next_start(cron, zone, now, now + CALENDAR_SEARCH_DAYS * MS_PER_DAY);
	CHECK(change == TIME_NONE || change > now);
	return (struct calendar_window){ active, change };
}

bool calendar_never_starts(const struct cron *cron)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	for (int month = 1; month <= 12; month++) {
		uint64_t of_month = (UINT64_C(1) << (days[month - 1] + 1)) - 2; /* from bit 1 on */

		if (has_bit(cron->months, month) && (cron->either_day || (cron->days & of_month)))
			return false;
	}
	return true;
}
