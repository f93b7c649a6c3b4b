/* The rows of GPU pools in the tables of core/model/reason.h. */
#ifndef FEATURE_POOLS_MODEL_POOL_REASON_H
#define FEATURE_POOLS_MODEL_POOL_REASON_H

#define POOL_GROUP_REASONS(X)                                                                      \
	X(SCALE_DOWN_RELEASED, "ScaleDownReleased", "workers released by a GPUPool", "nothing")

#define POOL_TERMINATE_REASONS(X)                                                                  \
	X(RELEASED_FOR_OTHERS, "ReleasedForOthers",                                                \
	  "its GPUPool gives its GPUs to a RayCluster that waits",                                 \
	  "raise guaranteed of its queue to keep it")

#define POOL_DEMAND_REASONS(X)                                                                     \
	X(WAITS_FOR_POOL, "WaitsForPool", "its GPUPool has no GPUs left for it", "wait")           \
	X(RESERVED_FOR_GANG, "ReservedForGang", "its GPUPool keeps GPUs for a placement group",    \
	  "wait")

#endif
