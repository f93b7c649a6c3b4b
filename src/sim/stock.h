/* Nodes for Pods, shared by all RayClusters. A Pod gets the first Node with room, in the order of
 * the pools, then of the Nodes (nodeSelector, required affinity, taints and requests count, as in
 * core/nodes; of a pool without allocatable, a Node has room for one worker). Without one, the node
 * autoscaler adds a Node of the first pool that may have more and where the Pod fits; it is there after
 * provision_ms, and an added Node is removed STOCK_EMPTY_MS after its last Pod. During a refusal of its
 * pool no Node is added, and the Pod waits.
 * Source: kubernetes/autoscaler, cluster-autoscaler/FAQ.md (scale-down-unneeded-time 10 minutes). */
#ifndef SIM_STOCK_H
#define SIM_STOCK_H

#include "sim/world.h"

#define STOCK_EMPTY_MS INT64_C(600000)

void stock_init(struct sim_world *world);
/* A Node for a new Pod: at once, later, or after a change of the stock. */
void stock_request(struct sim_worker *worker);
void stock_release(struct sim_worker *worker); /* its Pod has ended */
/* Why no pool can ever have a Node for a worker of this RayCluster that waits for one; "": one can. */
const char *stock_why(const struct sim_ray *ray, struct arena *arena);
struct stock_refusal {
	const char *resource;
	int64_t asked, used, capacity; /* 1/10000; used: by other Pods */
};
/* Its spec in place of what is allocated to it; false: its Node has no room. */
bool stock_resize(struct sim_worker *worker, struct stock_refusal *ret_refusal);
void stock_node_ready(struct sim_world *world, uint64_t id); /* SIM_EVENT_NODE */

#endif
