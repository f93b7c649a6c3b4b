/* Which GPUPool a worker group draws from, and which queue of it a namespace belongs to. Pure. Reads
 * only what KubeRay and an administrator wrote, never what Ray reports (docs/internals/threats.md). */
#ifndef FEATURE_POOLS_CORE_POOL_MATCH_H
#define FEATURE_POOLS_CORE_POOL_MATCH_H

#include "core/capacity/gpu_count.h"
#include "core/capacity/pod_claims.h"
#include "feature/pools/core/gpu_pool.h"

#define POOL_NONE SIZE_MAX

/* The first of the pools that matches a Pod of this spec; POOL_NONE: none. Claimed devices count as
 * limits of its Ray container, and their product as the model of its Nodes, unless the spec names
 * one; `claims` NULL: it has none. */
size_t pool_match_spec(const struct gpu_pool *const *pools, size_t count,
		       const struct pod_spec *spec, const struct pod_claims *claims,
		       struct arena *scratch);
/* The first queue that selects a namespace with these labels; queue_count: none of them. */
size_t pool_match_queue(const struct gpu_pool *pool, const struct labels *namespace_labels);
/* Whether the pool's groups may have Pods on a Node with these labels and amounts. */
bool pool_match_node(const struct gpu_pool *pool, const struct node *node, struct arena *scratch);

#endif
