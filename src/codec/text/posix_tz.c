#include "codec/text/posix_tz.h"

#include <ctype.h>

#define SECONDS_PER_HOUR 3600
#define MS_PER_DAY (86400 * MS_PER_SECOND)
#define NAME_SIZE_MIN 3
#define RULE_HOURS_MAX 167
#define OFFSET_HOURS_MAX 24
#define DEFAULT_CHANGE_SECONDS (2 * SECONDS_PER_HOUR)
#define FEBRUARY_29 60 /* of the year */
#define LAST_WEEK 5

/* At most three digits. */
static int read_number(const char **text, int minimum, int maximum, int *ret_value)
{
	int digits = 0, value = 0;

	for (; isdigit((unsigned char)**text); (*text)++) {
		if (++digits > 3)
			return -1;
		value = value * 10 + (**text - '0');
	}
	*ret_value = value;
	return digits > 0 && value >= minimum && value <= maximum ? 0 : -1;
}

/* "CET" or "<+1030>". */
static int skip_name(const char **text)
{
	bool quoted = **text == '<';
	int size = 0;

	*text += quoted;
	for (; isalpha((unsigned char)**text) ||
	       (quoted && (isdigit((unsigned char)**text) || **text == '+' || **text == '-'));
	     (*text)++)
		size++;
	if (quoted && **text != '>')
		return -1;
	*text += quoted;
	return size >= NAME_SIZE_MIN ? 0 : -1;
}

/* [+-]hh[:mm[:ss]] */
static int read_time(const char **text, int hours_max, int64_t *ret_seconds)
{
	int hours, minutes = 0, seconds = 0, sign = **text == '-' ? -1 : 1;

	*text += **text == '-' || **text == '+';
	if (read_number(text, 0, hours_max, &hours))
		return -1;
	if (**text == ':') {
		(*text)++;
		if (read_number(text, 0, 59, &minutes))
			return -1;
		if (**text == ':') {
			(*text)++;
			if (read_number(text, 0, 59, &seconds))
				return -1;
		}
	}
	*ret_seconds = sign * ((int64_t)hours * SECONDS_PER_HOUR + minutes * 60 + seconds);
	return 0;
}

static int expect(const char **text, char c)
{
	if (**text != c)
		return -1;
	(*text)++;
	return 0;
}

static int read_day(const char **text, struct posix_tz_day *day)
{
	switch (**text) {
	case 'M':
		(*text)++;
		day->kind = POSIX_TZ_MONTH;
		return read_number(text, 1, 12, &day->month) || expect(text, '.') ||
		       read_number(text, 1, LAST_WEEK, &day->week) || expect(text, '.') ||
		       read_number(text, 0, 6, &day->weekday);
	case 'J':
		(*text)++;
		day->kind = POSIX_TZ_JULIAN;
		return read_number(text, 1, 365, &day->day);
	default:
		day->kind = POSIX_TZ_ZERO_BASED;
		return read_number(text, 0, 365, &day->day);
	}
}

/* ",M3.5.0/2" */
static int read_rule(const char **text, struct posix_tz_day *day)
{
	if (expect(text, ',') || read_day(text, day))
		return -1;
	day->seconds = DEFAULT_CHANGE_SECONDS;
	if (**text != '/')
		return 0;
	(*text)++;
	return read_time(text, RULE_HOURS_MAX, &day->seconds);
}

int posix_tz_parse(const char *text, struct posix_tz *ret_rule)
{
	struct posix_tz rule = { .has_daylight = false };
	int64_t west;

	if (skip_name(&text) || read_time(&text, OFFSET_HOURS_MAX, &west))
		return -1;
	rule.standard_seconds = -west;
	if (*text != '\0') {
		rule.has_daylight = true;
		if (skip_name(&text))
			return -1;
		west -= SECONDS_PER_HOUR;
		if (*text != ',' && read_time(&text, OFFSET_HOURS_MAX, &west))
			return -1;
		rule.daylight_seconds = -west;
		if (read_rule(&text, &rule.begin) || read_rule(&text, &rule.end))
			return -1;
	}
	if (*text != '\0')
		return -1;
	*ret_rule = rule;
	return 0;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t day_number(int64_t year, int month, int day)
{
	struct civil_time civil = { .year = year, .month = month, .day = day };

	return time_from_civil(&civil) / MS_PER_DAY -
	       (time_from_civil(&civil) % MS_PER_DAY < 0 ? 1 : 0);
}

/* The day of the rule in the year, counted from 1970-01-01. */
static int64_t day_of(const struct posix_tz_day *rule, int64_t year)
{
	int64_t first, length, weekday, day;

	if (rule->kind == POSIX_TZ_ZERO_BASED)
		return day_number(year, 1, 1) + rule->day;
	if (rule->kind == POSIX_TZ_JULIAN)
		return day_number(year, 1, 1) + rule->day - 1 +
		       (is_leap(year) && rule->day >= FEBRUARY_29 ? 1 : 0);
	first = day_number(year, rule->month, 1);
	length = (rule->month == 12 ? day_number(year + 1, 1, 1) :
				      day_number(year, rule->month + 1, 1)) -
		 first;
	weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
	day = (rule->weekday - weekday + 7) % 7 + (int64_t)(rule->week - 1) * 7;
	return first + (day < length ? day : day - 7);
}

void posix_tz_changes(const struct posix_tz *rule, int64_t year, struct time_zone_change ret[2])
{
	ret[0] = (struct time_zone_change){ day_of(&rule->begin, year) * MS_PER_DAY +
						    (rule->begin.seconds - rule->standard_seconds) *
							    MS_PER_SECOND,
					    rule->daylight_seconds };
	ret[1] = (struct time_zone_change){ day_of(&rule->end, year) * MS_PER_DAY +
						    (rule->end.seconds - rule->daylight_seconds) *
							    MS_PER_SECOND,
					    rule->standard_seconds };
}
