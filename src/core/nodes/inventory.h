/* The users of the accelerators of each Node: whole GPUs, partitions and shared memory alike, with
 * the worker group of each user, totals, and free devices that the existing Pods cannot use: the
 * inventory that `rayscaler status --gpus` shows. Made from Nodes and their Pods; pure; lives in
 * the arena, as its sources must. Kubernetes does not expose which whole GPU or partition a Pod
 * has, so those are only counted (node_capacity.h). */
#ifndef CORE_NODES_INVENTORY_H
#define CORE_NODES_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/nodes/node_capacity.h"

#define INVENTORY_NO_DEVICE SIZE_MAX

/* A Pod's part of a resource, on one device where that is known. */
struct inventory_user {
	const struct pod *pod;
	const char *cluster, *group; /* of Ray; "" for a Pod without a RayCluster */
	int64_t amount;
	size_t device; /* INVENTORY_NO_DEVICE: unknown */
};

struct inventory_resource {
	const struct node_amount *amount;
	VEC(struct inventory_user) users; /* by namespace, name and device */
	/* Free here, but not usable by the measuring Pod; stranded_why is "" for 0. */
	int64_t stranded;
	const char *stranded_why;
};

struct inventory_node {
	const struct node_capacity *capacity;
	bool ready, shared;            /* label gpushare=true */
	struct inventory_resource *at; /* accelerators that the Node names, sorted by resource */
	size_t count;
};

/* The totals of one resource name in the whole Kubernetes cluster. */
struct inventory_total {
	const char *resource;
	const struct device_row *row;
	int64_t allocatable, used, stranded;
	size_t nodes;
	/* The request that measures stranded devices: the smallest waiting one, else the smallest
	 * one; 0: no Pod requests the resource. */
	int64_t smallest_request;
	bool smallest_request_waits;
	const char *smallest_request_pod; /* "namespace/name"; "" with 0 */
	/* Pods without a Node that request it. */
	size_t waiting_pods;
	int64_t waiting;
};

struct inventory {
	const struct node_capacities *capacities;
	struct inventory_node *nodes; /* those with accelerators, by name */
	size_t node_count;
	struct inventory_total *totals; /* by resource */
	size_t total_count;
	size_t other_nodes; /* without accelerators */
};

/* pods: all that are scheduled to Nodes, and those that wait for one; Pods without accelerators may
 * be summed (core/nodes/pod_digest). */
void inventory_make(struct inventory *ret, const struct node *nodes, size_t node_count,
		    const struct pod *pods, size_t pod_count, const struct device_table *devices,
		    struct arena *arena);

#endif
