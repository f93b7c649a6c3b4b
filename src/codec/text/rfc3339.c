#include "codec/text/rfc3339.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char problem_form[] = "is not an RFC 3339 time like 2026-11-20T10:00:00Z";
static const char problem_range[] = "is not a time that exists";

/* Exactly `digits` digits; moves *text behind them. */
static int parse_digits(const char **text, int digits, int *ret_value)
{
	int value = 0;

	for (int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return -1;
		value = value * 10 + (**text - '0');
	}
	*ret_value = value;
	return 0;
}

static int take(const char **text, const char *any_of)
{
	if (**text == '\0' || !strchr(any_of, **text))
		return -1;
	(*text)++;
	return 0;
}

/* The fraction is cut after the milliseconds. */
static int parse_fraction(const char **text, int *ret_millisecond)
{
	int scale = 100, value = 0;

	if (**text != '.')
		return 0;
	(*text)++;
	if (**text < '0' || **text > '9')
		return -1;
	for (; text_is_digit(**text); (*text)++) {
		value += (**text - '0') * scale;
		scale /= 10;
	}
	*ret_millisecond = value;
	return 0;
}

static int parse_offset(const char **text, int *ret_minutes)
{
	bool negative = **text == '-';
	int hours, minutes;

	if (take(text, "Zz") == 0) {
		*ret_minutes = 0;
		return 0;
	}
	if (take(text, "+-") || parse_digits(text, 2, &hours) || take(text, ":") ||
	    parse_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
		return -1;
	minutes += hours * 60;
	*ret_minutes = negative ? -minutes : minutes;
	return 0;
}

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

static bool in_range(int year, const struct civil_time *civil)
{
	return civil->month >= 1 && civil->month <= 12 && civil->day >= 1 &&
	       civil->day <= days_of(year, civil->month) && civil->hour <= 23 &&
	       civil->minute <= 59 && civil->second <= 60;
}

/* `leap_ms` is the first moment after second 59; it must be the end of a day in UTC. */
static bool is_leap_second(time_ms leap_ms)
{
	struct civil_time civil;

	time_to_civil(leap_ms, &civil);
	return civil.hour == 0 && civil.minute == 0 && civil.second == 0;
}

/* A leap second is computed as the second after 59, without its fraction, and must then be the
 * start of a day in UTC. */
int rfc3339_parse(const char *text, time_ms *ret_time, const char **ret_problem)
{
	struct civil_time civil = { .millisecond = 0 };
	int year, offset_minutes;

	*ret_problem = problem_form;
	if (parse_digits(&text, 4, &year) || take(&text, "-") ||
	    parse_digits(&text, 2, &civil.month) || take(&text, "-") ||
	    parse_digits(&text, 2, &civil.day) || take(&text, "Tt") ||
	    parse_digits(&text, 2, &civil.hour) || take(&text, ":") ||
	    parse_digits(&text, 2, &civil.minute) || take(&text, ":") ||
	    parse_digits(&text, 2, &civil.second) || parse_fraction(&text, &civil.millisecond) ||
	    parse_offset(&text, &offset_minutes) || *text != '\0')
		return -1;
	*ret_problem = problem_range;
	if (!in_range(year, &civil))
		return -1;
	civil.year = year;
	bool leap = civil.second == 60;
	if (leap) {
		civil.second = 59;
		civil.millisecond = 0;
	}
	time_ms time = time_from_civil(&civil) - (time_ms)offset_minutes * 60 * MS_PER_SECOND;
	if (leap) {
		time += MS_PER_SECOND;
		if (!is_leap_second(time))
			return -1;
	}
	*ret_problem = NULL;
	*ret_time = time;
	return 0;
}

/* Up to the second, and the milliseconds of it; 0 for TIME_NONE. */
static size_t print_second(time_ms time, char ret_text[static RFC3339_SIZE], int *ret_millisecond)
{
	static const struct civil_time first = { .year = 0, .month = 1, .day = 1 };
	static const struct civil_time last = { 9999, 12, 31, 23, 59, 59, 999 };
	struct civil_time civil;

	ret_text[0] = '\0';
	if (time == TIME_NONE)
		return 0;
	if (time < time_from_civil(&first))
		civil = first;
	else if (time > time_from_civil(&last))
		civil = last;
	else
		time_to_civil(time, &civil);
	int size = snprintf(ret_text, RFC3339_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u",
			    (unsigned)civil.year % 10000, (unsigned)civil.month % 100,
			    (unsigned)civil.day % 100, (unsigned)civil.hour % 100,
			    (unsigned)civil.minute % 100, (unsigned)civil.second % 100);
	*ret_millisecond = civil.millisecond;
	return (size_t)size;
}

void rfc3339_print(time_ms time, char ret_text[static RFC3339_SIZE])
{
	int millisecond = 0;
	size_t size = print_second(time, ret_text, &millisecond);

	if (size > 0 && millisecond)
		snprintf(ret_text + size, RFC3339_SIZE - size, ".%03uZ",
			 (unsigned)millisecond % 1000);
	else if (size > 0)
		snprintf(ret_text + size, RFC3339_SIZE - size, "Z");
}

void rfc3339_print_micro(time_ms time, char ret_text[static RFC3339_SIZE])
{
	int millisecond = 0;
	size_t size = print_second(time, ret_text, &millisecond);

	if (size > 0)
		snprintf(ret_text + size, RFC3339_SIZE - size, ".%03u000Z",
			 (unsigned)millisecond % 1000);
}

int rfc3339_decode(const struct json_at *at, const char *name, time_ms *ret_time)
{
	struct json_at member = json_member(at, name);
	const char *text, *problem;

	if (json_type(&member) == JSON_STRING)
		text = json_text_value(&member); /* not kept */
	else if (json_text(at, name, &text))
		return -1;
	*ret_time = TIME_NONE;
	if (*text != '\0' && rfc3339_parse(text, ret_time, &problem))
		json_problem(&member, "\"%.40s\" %s", text, problem);
	return 0;
}
