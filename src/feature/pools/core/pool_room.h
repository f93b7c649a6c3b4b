/* The free amounts of the Nodes of GPUPools: made when Nodes are listed, then changed by one Pod at a time, so
 * that an allocation does not read all Pods. Pure; on the heap,
 * owned by the caller. */
#ifndef FEATURE_POOLS_CORE_POOL_ROOM_H
#define FEATURE_POOLS_CORE_POOL_ROOM_H

#include "base/map.h"
#include "core/model/field.h"
#include "core/nodes/node_capacity.h"
#include "feature/pools/core/pool_match.h"

struct pool_room_node {
	int64_t gpus; /* in 1/10000, of the empty Node */
	bool *in;     /* by pool: its groups may have Pods here */
};

struct pool_room {
	struct arena arena;
	struct node_capacities
		capacities; /* of the Nodes of any pool; the forecast of devices is not made */
	struct node *own;   /* what `capacities` refers to */
	struct pool_room_node *nodes; /* beside them */
	int64_t *gpus;                /* by pool */
	size_t pool_count;            /* 0: it is not made */
	struct map
		claimers; /* Pods of RayClusters with claims, by "namespace/name": not counted, because
			      * the devices that they have depend on other objects */
};

struct pool_room_input {
	const struct gpu_pool *const *pools; /* that of the flags has no Nodes */
	size_t pool_count;
	const struct node *nodes;
	size_t node_count;
	const struct settings *settings;
	const struct device_table *devices; /* its rows stay as long as the content */
	/* Of struct node, to copy what the Nodes point to; NULL: it stays as long as the content. */
	const struct field *node_fields;
};

/* Replaces the content: no Pod is counted. */
void pool_room_make(struct pool_room *free, const struct pool_room_input *input);
void pool_room_done(struct pool_room *free); /* of a zeroed one as well */
/* For simulations: a Node is cordoned, or not any longer. Unknown names have no effect. */
void pool_room_cordon(struct pool_room *free, const char *name, bool unschedulable);
/* A Pod exists, sign 1, or exists no longer, -1, with the same content. NULL: no effect. */
void pool_room_count(struct pool_room *free, const struct pod *pod, int sign);
/* The index of the Pod's Node; SIZE_MAX: it uses none of these. */
size_t pool_room_node_of(const struct pool_room *free, const struct pod *pod);

#endif
