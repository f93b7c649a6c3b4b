/* The schedules of the RayClusterAutoscaler: within a window the minimum of a group is that of the
 * schedule, if it is above minReplicas, and at most maxReplicas; of several the greatest. It acts as
 * a request, so backoff, GPU limits and limits on starting workers hold it back. The bundles of a
 * schedule are a list of request_resources of their own (demand.h), its warmWorkers further entries
 * of warmWorkers (feature/warm_workers).
 *
 * A schedule that cannot be understood (start, duration or time zone) launches nothing. Whether
 * its workers are wanted now is unknown, so those that exist are kept: up to its minimum and its
 * warm workers, and all of them if it has bundles. Malformed bundles keep all workers within their
 * window. */
#ifndef CORE_DECIDE_WINDOW_H
#define CORE_DECIDE_WINDOW_H

#include "core/decide/facts.h"

/* Sets `schedules`, and whether they forbid terminations; adds problems. */
void window_find(struct facts *facts);
/* Sets the minimums of the groups, and adds problems. Needs the workers. */
void window_apply(struct facts *facts);
/* "minReplicas 2", or "schedule office (4 replicas until 2026-11-20T17:00:00Z)". */
const char *window_minimum_text(const struct group *group, struct arena *arena);
/* "schedule office (bundles until 2026-11-20T17:00:00Z)". */
const char *window_bundles_text(const struct plan_schedule *schedule, struct arena *arena);
/* "active until 2026-11-20T17:00:00Z", "inactive", "unknown: time zone ...". */
const char *window_state_text(const struct plan_schedule *schedule, struct arena *arena);

#endif
