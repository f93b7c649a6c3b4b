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
#ifndef FEATURE_SCHEDULES_CORE_WINDOW_H
#define FEATURE_SCHEDULES_CORE_WINDOW_H

#include "core/decide/feature.h"

extern const struct decision_feature schedules_decisions;

#endif
