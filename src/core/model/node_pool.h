/* Pools of equal Nodes, for the simulator: what a cloud or a cluster can give to all RayClusters. Made
 * by codec/objects/node_pools_json; owned by the arena of the reader. sim/stock.h has
 * the rules. */
#ifndef CORE_MODEL_NODE_POOL_H
#define CORE_MODEL_NODE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "core/model/kubernetes.h"

/* Of a refusal, when the provider has no capacity, or of a repair; times since the start of the workload. */
struct node_pool_window {
	int64_t from_ms, until_ms;
	int64_t nodes; /* of a repair: so many Nodes of the pool, the first ones */
};

struct node_pool {
	/* Name of the pool; labels, taints and allocatable of each Node. Without allocatable a Node
	 * has room for one worker of any size. */
	struct node node;
	int64_t min_nodes;    /* that exist from the start, and stay while they are empty */
	int64_t max_nodes;    /* with those that the node autoscaler adds; at least min_nodes */
	int64_t provision_ms; /* from an unschedulable Pod to the Node that was added for it */
	int64_t life_ms;      /* mean time to an interruption of a Node; 0: never (not spot) */
	const struct node_pool_window *refusals; /* in any order */
	size_t refusal_count;
	const struct node_pool_window *repairs;
	size_t repair_count;
};

struct node_pools {
	const struct node_pool *at; /* in the order of preference */
	size_t count;
};

#endif
