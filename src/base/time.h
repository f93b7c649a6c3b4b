/* Points in time and spans as plain integers in milliseconds; no clock is read here. The clock is
 * net/loop.h; "now" is read once per iteration of the loop and passed down. */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include <stdint.h>

#include "base/arena.h"

/* Milliseconds since 1970-01-01T00:00:00Z (wall clock). TIME_NONE: unknown. */
typedef int64_t time_ms;

#define TIME_NONE INT64_MIN
#define MS_PER_SECOND INT64_C(1000)

struct civil_time {
	int64_t year; /* 0 to 9999 */
	int month;    /* 1 to 12 */
	int day;      /* 1 to 31 */
	int hour, minute, second, millisecond;
};

/* Proleptic Gregorian calendar, UTC. The fields must be in range (codec/text/rfc3339 checks). */
time_ms time_from_civil(const struct civil_time *civil);
void time_to_civil(time_ms time, struct civil_time *ret_civil);
/* "2026-11-20T10:00:00Z". */
const char *time_text(struct arena *arena, time_ms time);

#endif
