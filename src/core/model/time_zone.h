/* Time zones as plain data. Made by codec/text/tzif and the decoder of a snapshot; read by feature/schedules. */
#ifndef CORE_MODEL_TIME_ZONE_H
#define CORE_MODEL_TIME_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/model/calendar.h"
#include "core/model/field.h"

/* The range of RFC 8536, 3.2. */
#define TIME_ZONE_OFFSET_MIN (-89999)
#define TIME_ZONE_OFFSET_MAX 93599
#define TIME_ZONE_CHANGES_MAX 1000
/* How much of a time zone a snapshot holds, before and after its time. Windows are not longer than
 * the first; the next change is searched for CALENDAR_SEARCH_DAYS. */
#define TIME_ZONE_PAST_DAYS 40
#define TIME_ZONE_FUTURE_DAYS 410

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

#endif
