/* GPUPools of a simulation: one allocation over all RayClusters (feature/pools/core), as the
 * controller makes it. It is made again SHARING_INTERVAL_MS after the last one when an ask, a Pod, a
 * number of replicas or the idleness of a worker has changed; a cluster whose terms differ runs a pass
 * soon. A pass that asks for more has an allocation at once, if the last one is old enough or left
 * nothing waiting, and decides again with it: then a pool without contention delays nothing.
 *
 * The policies: the pools as given; first come, first served, one limit without queues and releases;
 * a static partition, in which a queue has its guarantee and, by weight, its part of the rest, and
 * no more. Ray's autoscaler knows no pools: only the Nodes limit it. The figures of the queues are
 * counted with all of them. */
#ifndef FEATURE_POOLS_SIM_POOL_SHARING_H
#define FEATURE_POOLS_SIM_POOL_SHARING_H

#include "sim/sharing.h"

#define SHARING_INTERVAL_MS 250 /* ctl: at most so often */

extern const struct sim_sharing pool_sharing;

#endif
