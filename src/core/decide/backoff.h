/* Back-off of groups whose Pods do not become workers: entered on evidence (Pods, events,
 * conditions), with doubling length, kept in memory and in the status (inherited once), ended by time (the next launch is the
 * probe) or by a worker that registers. Sets backed_off, cancels, raises_held, gangs_held_until and backoff of
 * the groups, starved of their workers, and the back-offs of the new memory. Must not cancel launches:
 * launch.h does.
 *
 * A gang of which only a part comes is paid for as long as the part waits, gangHoldSeconds in each group. So a group
 * where that has happened launches none for (2 n - 1) times as long since then, where n groups have failed: the n of
 * them take turns, and together hold parts for at most half of the time. Other demand waits only for the end of the
 * back-off. Example: two groups, 1,200 s each. A fails at 0:20, B at 0:40; A is tried again at 1:20, B at 1:40. */
#ifndef CORE_DECIDE_BACKOFF_H
#define CORE_DECIDE_BACKOFF_H

#include "core/decide/health.h"

/* Ray 2.60, cloud_resource_monitor.py: the availability of a type that failed is 0 for this long,
 * and again 1 after RECOVERY. */
#define BACKOFF_FLOOR_MS (10 * MS_PER_SECOND)
#define BACKOFF_RECOVERY_MS (600 * MS_PER_SECOND)
/* Evidence older than the end of the last back-off counts again this long after that end. */
#define BACKOFF_STALE_MS (30 * MS_PER_SECOND)
#define BACKOFF_FORGET_MS (3600 * MS_PER_SECOND)

/* Needs workers with obstacles. */
void backoff_update(struct health *health);
/* The availability of a failed type as Ray's scheduler scores it (ray:
 * recoverable_resource_availabilities and cloud_resource_availabilities); 1.0: never failed. Both
 * are 1.0 again when the back-off ends: its end is the probe, so the group then ranks as before the
 * failure. */
double backoff_recoverable(const struct health *health, const struct group *group);
double backoff_recency(const struct health *health, const struct group *group);
/* Until when the group holds gangs, where so many groups have failed; TIME_NONE: it does not. */
time_ms backoff_holds_gangs(const struct health *health, const struct group *group, int64_t failed);
#endif
