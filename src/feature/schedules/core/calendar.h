/* When a schedule begins and ends: the starts of a cron expression in the local time of a time
 * zone, each followed by a window of fixed length. Pure.
 *
 * Each local time that the expression names is one start, at the first moment at which a clock of
 * the zone shows it. A local time that the clocks skip starts at the moment of the change. The
 * length of a window is time that passes, not a difference of local times. */
#ifndef FEATURE_SCHEDULES_CORE_CALENDAR_H
#define FEATURE_SCHEDULES_CORE_CALENDAR_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/time_zone.h"

#define CALENDAR_DURATION_MIN_MS (60 * MS_PER_SECOND)
#define CALENDAR_DURATION_MAX_MS (31 * 86400 * MS_PER_SECOND)

struct calendar_window {
	bool active;
	/* When `active` changes. TIME_NONE: it does not become active in the next
	 * CALENDAR_SEARCH_DAYS, or stays active for the next CALENDAR_CHAIN_DAYS. */
	time_ms next_change;
};

/* The state at `now`, which depends on nothing before: a start that was missed does not matter.
 * Windows that overlap or touch are one. duration_ms: within the limits above. */
struct calendar_window calendar_window(const struct cron *cron, int64_t duration_ms,
				       const struct time_zone *zone, time_ms now);
/* No date has one of the months and one of the days: "31 2". */
bool calendar_never_starts(const struct cron *cron);

#endif
