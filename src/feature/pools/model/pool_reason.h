/* The rows of GPU pools in the tables of core/model/reason.h. */
#ifndef FEATURE_POOLS_MODEL_POOL_REASON_H
#define FEATURE_POOLS_MODEL_POOL_REASON_H

#define POOL_TERMINATE_REASONS(X)                                                                  \
	X(RELEASED_FOR_OTHERS, "ReleasedForOthers",                                                \
	  "its GPUs are for a RayCluster that waits for the same pool",                            \
	  "nothing; a higher guaranteed of the queue of the GPUPool keeps it")

#define POOL_DEMAND_REASONS(X)                                                                     \
	X(WAITS_FOR_POOL, "WaitsForPool", "the GPUPool of the group has no GPUs for it now",       \
	  "wait; `rayscaler explain` has its place and who holds the GPUs")                        \
	X(RESERVED_FOR_GANG, "ReservedForGang",                                                    \
	  "GPUs of the GPUPool are kept for a placement group that has waited longer",             \
	  "wait; the reservation ends when the placement group runs")

#endif
