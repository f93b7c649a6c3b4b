#include "base/time.h"

#include "base/check.h"

#define MS_PER_MINUTE (60 * MS_PER_SECOND)
#define MS_PER_HOUR (60 * MS_PER_MINUTE)
#define MS_PER_DAY (24 * MS_PER_HOUR)
/* The Gregorian calendar repeats every 400 years. */
#define YEARS_PER_CYCLE 400
#define DAYS_PER_CYCLE 146097
/* 1970-01-01 counted from 0000-03-01. Years start in March here: the leap day is their last. */
#define DAYS_TO_EPOCH 719468

static int64_t floor_divide(int64_t value, int64_t divisor)
{
	return value / divisor - (value % divisor < 0 ? 1 : 0);
}

/* Days from the first of March to the first of the month, `month` 0 being March. */
static int64_t days_before_month(int64_t month)
{
	return (153 * month + 2) / 5;
}

time_ms time_from_civil(const struct civil_time *civil)
{
	int64_t year;

	CHECK(civil->month >= 1 && civil->month <= 12);
	CHECK(civil->day >= 1 && civil->day <= 31);
	CHECK(civil->year >= 0 && civil->year <= 9999);
	year = civil->year - (civil->month <= 2 ? 1 : 0);
	int64_t cycle = floor_divide(year, YEARS_PER_CYCLE);
	int64_t year_of_cycle = year - cycle * YEARS_PER_CYCLE;
	int64_t days = cycle * DAYS_PER_CYCLE + year_of_cycle * 365 + year_of_cycle / 4 -
		       year_of_cycle / 100 + days_before_month((civil->month + 9) % 12) +
		       civil->day - 1 - DAYS_TO_EPOCH;
	return days * MS_PER_DAY + civil->hour * MS_PER_HOUR + civil->minute * MS_PER_MINUTE +
	       civil->second * MS_PER_SECOND + civil->millisecond;
}

void time_to_civil(time_ms time, struct civil_time *ret_civil)
{
	int64_t days = floor_divide(time, MS_PER_DAY) + DAYS_TO_EPOCH;
	int64_t ms = time % MS_PER_DAY + (time % MS_PER_DAY < 0 ? MS_PER_DAY : 0);
	int64_t year;

	CHECK(time != TIME_NONE);
	int64_t cycle = floor_divide(days, DAYS_PER_CYCLE);
	int64_t day = days - cycle * DAYS_PER_CYCLE;
	/* Removes the leap days passed so far in the cycle; the rest is years of 365 days. */
	year = (day - day / 1460 + day / 36524 - day / (DAYS_PER_CYCLE - 1)) / 365;
	day -= year * 365 + year / 4 - year / 100;
	int64_t month = (5 * day + 2) / 153;
	*ret_civil = (struct civil_time){
		.year = cycle * YEARS_PER_CYCLE + year + (month >= 10 ? 1 : 0),
		.month = (int)(month < 10 ? month + 3 : month - 9),
		.day = (int)(day - days_before_month(month) + 1),
		.hour = (int)(ms / MS_PER_HOUR),
		.minute = (int)(ms / MS_PER_MINUTE % 60),
		.second = (int)(ms / MS_PER_SECOND % 60),
		.millisecond = (int)(ms % MS_PER_SECOND),
	};
}

const char *time_text(struct arena *arena, time_ms time)
{
	struct civil_time civil;

	time_to_civil(time, &civil);
	return arena_printf(arena, "%04lld-%02d-%02dT%02d:%02d:%02dZ", (long long)civil.year,
			    civil.month, civil.day, civil.hour, civil.minute, civil.second);
}
