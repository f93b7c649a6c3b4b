/* Who has which accelerators of which Node: whole GPUs, partitions and shared memory alike, with the
 * worker group of each user, totals, and what is free and of no use for the Pods that are there: the
 * inventory that `rayscaler status --gpus` shows. Made from Nodes and their Pods; pure; lives in the
 * arena, as its sources must.
 * Which whole GPU or partition a Pod has is not known to Kubernetes: those are counted (node_room.h). */
#ifndef CORE_NODES_INVENTORY_H
#define CORE_NODES_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/nodes/node_room.h"

#define INVENTORY_NO_DEVICE SIZE_MAX

/* A Pod's part of a resource, on one device where that is known. */
struct inventory_user {
	const struct pod *pod;
	const char *cluster, *group; /* of Ray; "" where the Pod is none of a RayCluster */
	int64_t amount;
	size_t device; /* INVENTORY_NO_DEVICE: which one is not known */
};

struct inventory_resource {
	const struct node_amount *amount;
	VEC(struct inventory_user) users; /* by namespace, name and device */
	/* Free here, and nothing that is needed can use it; why is "" for 0. */
	int64_t stranded;
	const char *stranded_why;
};

struct inventory_node {
	const struct node_room *room;
	bool ready, shared;            /* label gpushare=true */
	struct inventory_resource *at; /* accelerators that the Node names, sorted by resource */
	size_t count;
};

/* Of one resource name in the whole cluster. */
struct inventory_total {
	const char *resource;
	const struct device_row *row;
	int64_t allocatable, used, stranded;
	size_t nodes;
	/* The request that stranded is judged by: the smallest that waits, else the smallest there
	 * is; 0: nobody asks for it. */
	int64_t yardstick;
	bool yardstick_waits;
	const char *yardstick_pod; /* "namespace/name"; "" with 0 */
	/* Pods without a Node that ask for it. */
	size_t waiting_pods;
	int64_t waiting;
};

struct inventory {
	const struct node_rooms *rooms;
	struct inventory_node *nodes; /* those with accelerators, by name */
	size_t node_count;
	struct inventory_total *totals; /* by resource */
	size_t total_count;
	size_t other_nodes; /* without accelerators */
};

/* pods: all that stand on Nodes, and those that wait for one; sums of several (core/nodes/pod_digest) are
 * fine for those without accelerators. */
void inventory_make(struct inventory *ret, const struct node *nodes, size_t node_count,
		    const struct pod *pods, size_t pod_count, const struct device_table *devices,
		    struct arena *arena);

#endif
