/* Warm workers, spec.warmWorkers of the RayClusterAutoscaler and those of its schedules within their
 * windows: free workers of a group that stay ready beyond demand; of several entries the largest. A free worker counts whatever else keeps it: minReplicas, request_resources,
 * an idle timeout that has not passed. Those that demand takes are replaced, within maxReplicas and
 * the GPU limits, after all demand has its place. */
#ifndef CORE_DECIDE_WARM_H
#define CORE_DECIDE_WARM_H

#include "core/decide/packing.h"

/* After packing and disruption_replace(). */
void warm_keep(struct packing *packing);

#endif
