/* The rule of a time zone as POSIX writes it in the variable TZ: "CET-1CEST,M3.5.0,M10.5.0/3"
 * (POSIX.1, 8.3; RFC 8536, 3.3.1: hours of a rule from -167 to 167). Pure. */
#ifndef CODEC_TEXT_POSIX_TZ_H
#define CODEC_TEXT_POSIX_TZ_H

#include <stdbool.h>

#include "core/model/calendar.h"

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

/* The whole text. -1: invalid. Daylight saving time without a rule is invalid. */
int posix_tz_parse(const char *text, struct posix_tz *ret_rule);
/* The two changes of a year (1 to 9998), in the order begin, end. */
void posix_tz_changes(const struct posix_tz *rule, int64_t year, struct time_zone_change ret[2]);

#endif
