#include "codec/text/tzif.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "core/model/time_zone.h"

#define HEADER_SIZE 44
#define COUNTS_AT 20
#define TYPE_SIZE 6
#define FOOTER_SIZE_MAX 100
#define YEAR_MIN 1
#define YEAR_MAX 9998

/* ---- the rule of the footer ---- */

/* The rule of a time zone as POSIX writes it in the variable TZ: "CET-1CEST,M3.5.0,M10.5.0/3"
 * (POSIX.1, 8.3; RFC 8536, 3.3.1: hours of a rule from -167 to 167). Pure. */

struct posix_tz_day {
	enum { POSIX_TZ_MONTH, POSIX_TZ_JULIAN, POSIX_TZ_ZERO_BASED } kind;
	int month, week, weekday; /* of MONTH; week 5 is the last */
	int day;                  /* of JULIAN 1 to 365, without 29 February; else 0 to 365 */
	int64_t seconds;          /* of local time after midnight; may be negative */
};

struct posix_tz {
	int64_t standard_seconds; /* local time minus UTC */
	bool has_daylight;        /* else nothing below is set */
	int64_t daylight_seconds;
	struct posix_tz_day begin, end; /* of daylight saving time */
};

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

/* The whole text. -1: invalid. Daylight saving time without a rule is invalid. */
static int posix_tz_parse(const char *text, struct posix_tz *ret_rule)
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
	int64_t day;

	if (rule->kind == POSIX_TZ_ZERO_BASED)
		return day_number(year, 1, 1) + rule->day;
	if (rule->kind == POSIX_TZ_JULIAN)
		return day_number(year, 1, 1) + rule->day - 1 +
		       (is_leap(year) && rule->day >= FEBRUARY_29 ? 1 : 0);
	int64_t first = day_number(year, rule->month, 1);
	int64_t length = (rule->month == 12 ? day_number(year + 1, 1, 1) :
					      day_number(year, rule->month + 1, 1)) -
			 first;
	int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
	day = (rule->weekday - weekday + 7) % 7 + (int64_t)(rule->week - 1) * 7;
	return first + (day < length ? day : day - 7);
}

/* The two changes of a year (1 to 9998), in the order begin, end. */
static void posix_tz_changes(const struct posix_tz *rule, int64_t year,
			     struct time_zone_change ret[2])
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

static const char problem_form[] = "is not a time zone file (TZif, RFC 8536)";
static const char problem_version[] = "is a time zone file of version 1, without 64-bit times";
static const char problem_leap[] = "counts leap seconds, as the zones in right/ do";
static const char problem_footer[] = "has an unknown rule for future changes at its end";

/* The counts of a header, in its order. */
struct header {
	uint32_t utc_count, standard_count, leap_count, time_count, type_count, char_count;
};

struct data {
	struct header header;
	const unsigned char *times, *indices, *types, *end;
};

static uint32_t read_32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_64(const unsigned char *at)
{
	return (int64_t)((uint64_t)read_32(at) << 32 | read_32(at + 4));
}

static int read_header(const unsigned char *data, size_t size, struct header *ret_header)
{
	uint32_t counts[6];

	if (size < HEADER_SIZE || memcmp(data, "TZif", 4) != 0)
		return -1;
	for (size_t i = 0; i < 6; i++)
		counts[i] = read_32(data + COUNTS_AT + 4 * i);
	*ret_header =
		(struct header){ counts[0], counts[1], counts[2], counts[3], counts[4], counts[5] };
	return 0;
}

/* Bytes of a block whose times have `width` bytes. The counts have 32 bits: no overflow. */
static uint64_t block_size(const struct header *header, uint64_t width)
{
	return header->time_count * (width + 1) + header->type_count * (uint64_t)TYPE_SIZE +
	       header->char_count + header->leap_count * (width + 4) +
	       (uint64_t)header->standard_count + header->utc_count;
}

/* The second block, with 64-bit times. */
static int find_data(const unsigned char *bytes, size_t size, struct data *ret_data,
		     const char **ret_problem)
{
	struct data data;

	*ret_problem = problem_form;
	if (size > TZIF_BYTES_MAX || read_header(bytes, size, &data.header))
		return -1;
	uint64_t skipped = HEADER_SIZE + block_size(&data.header, 4);
	if (bytes[4] < '2') {
		*ret_problem = problem_version;
		return -1;
	}
	if (skipped > size || read_header(bytes + skipped, size - skipped, &data.header) ||
	    block_size(&data.header, 8) > size - skipped - HEADER_SIZE ||
	    data.header.type_count == 0)
		return -1;
	if (data.header.leap_count > 0) {
		*ret_problem = problem_leap;
		return -1;
	}
	data.times = bytes + skipped + HEADER_SIZE;
	data.indices = data.times + (size_t)data.header.time_count * 8;
	data.types = data.indices + data.header.time_count;
	data.end = bytes + skipped + HEADER_SIZE + block_size(&data.header, 8);
	*ret_data = data;
	return 0;
}

/* The rule between two line ends; *ret_has false: there is none. */
static int read_footer(const struct data *data, const unsigned char *end, struct posix_tz *ret_rule,
		       bool *ret_has)
{
	size_t size = (size_t)(end - data->end);
	char text[FOOTER_SIZE_MAX];

	*ret_has = false;
	if (size < 2 || size > sizeof(text) || data->end[0] != '\n' || end[-1] != '\n')
		return -1;
	memcpy(text, data->end + 1, size - 2);
	text[size - 2] = '\0';
	if (strlen(text) != size - 2)
		return -1;
	*ret_has = size > 2;
	return size > 2 ? posix_tz_parse(text, ret_rule) : 0;
}

struct maker {
	struct arena *arena;
	time_ms from, until;
	int64_t offset_seconds; /* of the latest change */
	VEC(struct time_zone_change) changes;
	struct time_zone *zone;
};

/* A change before `from` sets the first offset; one that changes nothing is left out. Of two changes
 * at the same moment the later one counts: daylight saving time that lasts all year ends when it
 * begins again. */
static void add_change(struct maker *maker, time_ms at, int64_t offset_seconds)
{
	size_t *count = &maker->changes.count;

	if (at > maker->until || offset_seconds == maker->offset_seconds)
		return;
	maker->offset_seconds = offset_seconds;
	if (at <= maker->from) {
		maker->zone->offset_seconds = offset_seconds;
		return;
	}
	if (*count > 0 && at <= maker->changes.at[*count - 1].at) {
		at = maker->changes.at[--*count].at;
		if (offset_seconds == (*count > 0 ? maker->changes.at[*count - 1].offset_seconds :
						    maker->zone->offset_seconds))
			return;
	}
	VEC_PUSH(maker->arena, &maker->changes, ((struct time_zone_change){ at, offset_seconds }));
}

static int64_t type_offset(const struct data *data, size_t type)
{
	return (int32_t)read_32(data->types + type * TYPE_SIZE);
}

static int add_listed(struct maker *maker, const struct data *data, time_ms *ret_last)
{
	*ret_last = INT64_MIN;
	for (size_t i = 0; i < data->header.time_count; i++) {
		int64_t seconds = read_64(data->times + i * 8);

		/* The first one may be "the beginning of time". */
		if (seconds > INT64_MAX / MS_PER_SECOND)
			return -1;
		seconds = seconds < INT64_MIN / MS_PER_SECOND + 1 ? INT64_MIN / MS_PER_SECOND + 1 :
								    seconds;
		if (seconds * MS_PER_SECOND <= *ret_last ||
		    data->indices[i] >= data->header.type_count)
			return -1;
		*ret_last = seconds * MS_PER_SECOND;
		add_change(maker, *ret_last, type_offset(data, data->indices[i]));
	}
	return 0;
}

static int64_t year_of(time_ms time)
{
	struct civil_time civil;

	time_to_civil(time, &civil);
	return civil.year;
}

/* The changes of the rule after the last one of the list. */
static void add_ruled(struct maker *maker, const struct posix_tz *rule, time_ms last)
{
	if (!rule->has_daylight) {
		add_change(maker, last == INT64_MIN ? maker->from : last, rule->standard_seconds);
		return;
	}
	for (int64_t year = year_of(maker->from) - 1; year <= year_of(maker->until) + 1; year++) {
		struct time_zone_change pair[2];

		posix_tz_changes(rule, year, pair);
		size_t first = pair[0].at <= pair[1].at ? 0 : 1;
		if (pair[first].at > last)
			add_change(maker, pair[first].at, pair[first].offset_seconds);
		if (pair[1 - first].at > last)
			add_change(maker, pair[1 - first].at, pair[1 - first].offset_seconds);
	}
}

static int check_offsets(const struct data *data)
{
	for (size_t i = 0; i < data->header.type_count; i++)
		if (type_offset(data, i) < TIME_ZONE_OFFSET_MIN ||
		    type_offset(data, i) > TIME_ZONE_OFFSET_MAX)
			return -1;
	return 0;
}

int tzif_read(const unsigned char *bytes, size_t size, time_ms from, time_ms until,
	      struct arena *arena, struct time_zone *ret_zone, const char **ret_problem)
{
	struct time_zone zone = { .name = "" };
	struct maker maker = { .arena = arena, .from = from, .until = until, .zone = &zone };
	struct posix_tz rule;
	struct data data;
	bool has_rule;
	time_ms last;

	if (find_data(bytes, size, &data, ret_problem))
		return -1;
	*ret_problem = problem_footer;
	if (read_footer(&data, bytes + size, &rule, &has_rule))
		return -1;
	*ret_problem = problem_form;
	if (check_offsets(&data) || year_of(from) <= YEAR_MIN || year_of(until) >= YEAR_MAX)
		return -1;
	zone.offset_seconds = maker.offset_seconds = type_offset(&data, 0);
	if (add_listed(&maker, &data, &last))
		return -1;
	if (has_rule)
		add_ruled(&maker, &rule, last);
	if (maker.changes.count > TIME_ZONE_CHANGES_MAX)
		return -1;
	zone.changes = maker.changes.at;
	zone.change_count = maker.changes.count;
	*ret_zone = zone;
	*ret_problem = NULL;
	return 0;
}
