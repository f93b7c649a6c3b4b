/* The GPUPools of a simulation by its policy (feature/pools/sim/pool_sharing.h). Pure. */
#ifndef FEATURE_POOLS_SIM_SHARING_POLICY_H
#define FEATURE_POOLS_SIM_SHARING_POLICY_H

#include "feature/pools/core/gpu_pool.h"
#include "sim/input.h"

/* Decisions know of the pools. */
bool sharing_policy_limits(enum sim_policy policy);
/* spec.gpus, or the GPUs of all Nodes that its node pools may have. */
int64_t sharing_policy_capacity(const struct gpu_pool *pool, const struct sim_input *input,
				struct arena *scratch);
/* Of each queue, and last of the namespaces in no queue: its guarantee and, by weight, its part of the
 * rest, in whole GPUs. The last one has nothing beside other queues. */
int64_t *sharing_policy_parts(const struct gpu_pool *pool, int64_t capacity, struct arena *arena);
/* The pool as the policy has it. */
const struct gpu_pool *sharing_policy_pool(const struct gpu_pool *pool, enum sim_policy policy,
					   int64_t capacity, struct arena *arena);

#endif
