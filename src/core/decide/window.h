/* The schedules of the RayClusterAutoscaler: within a window the minimum of a group is that of the
 * schedule, if it is above minReplicas, and at most maxReplicas; of several the greatest. It acts as
 * a request, so backoff, GPU limits and limits on starting workers hold it back.
 *
 * A schedule that cannot be understood (start, duration or time zone) launches nothing. Whether
 * its workers are wanted now is unknown, so those that exist are kept up to its minimum. */
#ifndef CORE_DECIDE_WINDOW_H
#define CORE_DECIDE_WINDOW_H

#include "core/decide/facts.h"

/* Sets `schedules` and the minimums of the groups, and adds problems. Needs the workers. */
void window_apply(struct facts *facts);
/* "minReplicas 2", or "schedule office (4 replicas until 2026-11-20T17:00:00Z)". */
const char *window_minimum_text(const struct group *group, struct arena *arena);
/* "active until 2026-11-20T17:00:00Z", "inactive", "unknown: time zone ...". */
const char *window_state_text(const struct plan_schedule *schedule, struct arena *arena);

#endif
