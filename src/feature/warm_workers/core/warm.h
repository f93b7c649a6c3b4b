/* Warm workers, spec.warmWorkers of the RayClusterAutoscaler and those of its schedules within their
 * windows: free workers of a group that stay ready beyond demand; of several entries the largest. A free worker counts whatever else keeps it: minReplicas, request_resources,
 * an idle timeout that has not passed. Those that demand takes are replaced, within maxReplicas and
 * the GPU limits, after all demand has its place. */
#ifndef FEATURE_WARM_WORKERS_CORE_WARM_H
#define FEATURE_WARM_WORKERS_CORE_WARM_H

#include "core/decide/feature.h"

extern const struct decision_feature warm_workers_decisions;

#endif
