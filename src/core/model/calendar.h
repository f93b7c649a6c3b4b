/* Cron expressions and time zones as plain data. Made by feature/schedules/codec/cron, codec/text/tzif and the
 * decoder of a snapshot; read by feature/schedules. */
#ifndef CORE_MODEL_CALENDAR_H
#define CORE_MODEL_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/model/field.h"

/* The range of RFC 8536, 3.2. */
#define TIME_ZONE_OFFSET_MIN (-89999)
#define TIME_ZONE_OFFSET_MAX 93599
#define TIME_ZONE_CHANGES_MAX 1000
/* How much of a time zone a snapshot holds, before and after its time. Windows are not longer than
 * the first; the next change is searched for CALENDAR_SEARCH_DAYS. */
#define TIME_ZONE_PAST_DAYS 40
#define TIME_ZONE_FUTURE_DAYS 410

/* One bit for each value of a field. */
struct cron {
	uint64_t minutes;  /* bits 0 to 59 */
	uint32_t hours;    /* bits 0 to 23 */
	uint32_t days;     /* of the month, bits 1 to 31 */
	uint32_t months;   /* bits 1 to 12 */
	uint32_t weekdays; /* bits 0 (Sunday) to 6 */
	/* Both fields of days are restricted: a day that one of them names matches. */
	bool either_day;
};

struct time_zone_change {
	time_ms at;
	int64_t offset_seconds; /* local time minus UTC from then on */
};

struct time_zone {
	const char *name;
	const char *problem;    /* NULL, or why it is unknown: then nothing below is set */
	int64_t offset_seconds; /* before the first change */
	const struct time_zone_change *changes; /* ascending */
	size_t change_count;
};

extern const struct field time_zone_fields[]; /* of struct time_zone */

/* How far the next change of a schedule is searched for, and the end of windows that follow each other. */
#define CALENDAR_SEARCH_DAYS 366
#define CALENDAR_CHAIN_DAYS 100

#endif
