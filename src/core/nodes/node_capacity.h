/* The capacity of each Node by resource and its used part, device by device where a device's memory
 * is shared. Made from Nodes and the Pods on them; lives in the arena, and so do its sources.
 * Kubernetes does not expose which whole GPU or partition a Pod has, so those are only counted. For
 * shared memory (device_share MEMORY), the Pod's annotations name the device; a Pod without them is
 * placed by best fit, for the forecast. Pure. Must not decide: node_fit does. */
#ifndef CORE_NODES_NODE_CAPACITY_H
#define CORE_NODES_NODE_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* Limit of the devices of a Node that are counted separately. */
#define NODE_DEVICES_MAX 256

struct node_device {
	int64_t total;
	int64_t used;     /* by annotations */
	int64_t forecast; /* by Pods whose device is unknown, placed by best fit */
};

/* All amounts in 1/10000; sums saturate at RESOURCE_AMOUNT_MAX. */
struct node_amount {
	const char *resource;
	const struct device_row *row; /* NULL: not an accelerator */
	int64_t capacity, allocatable, used;
	bool has_allocatable; /* the Node names it in allocatable (it may be 0) */
	/* Only for a device's memory, where the Node has the number of its devices. */
	struct node_device *devices;
	size_t device_count;
	int64_t unplaced; /* used by Pods whose device is unknown */
	/* Internal: the parts of unplaced. */
	VEC(int64_t) waiting;
};

struct node_capacity {
	const struct node *node;
	struct node_amount *at; /* sorted by resource */
	size_t count;
};

/* Sorted by the Node's name. A Node without allocatable is omitted: its capacity is unknown (the
 * controller keeps only name and taint of Nodes that end). */
struct node_capacities {
	struct node_capacity *at;
	size_t count;
	const struct device_table *devices;
	struct arena *arena;
	bool partial; /* not all Pods on the Nodes are known: free amounts are upper bounds */
};

void node_capacities_init(struct node_capacities *capacities, const struct node *nodes,
			  size_t count, const struct device_table *devices, struct arena *arena);
/* Counts the Pod on its Node if it uses capacity there; NULL if not. In any order. */
struct node_capacity *node_capacities_add(struct node_capacities *capacities,
					  const struct pod *pod);
/* After the last Pod: the forecast. */
void node_capacities_finish(struct node_capacities *capacities);

struct node_amount *node_capacity_amount(const struct node_capacity *capacity,
					 const char *resource); /* or NULL */
/* Free in sum, never below 0. */
int64_t node_amount_free(const struct node_amount *amount);
/* The largest amount that one request can have: of memory on one device, else all that is free. */
int64_t node_amount_largest(const struct node_amount *amount);
/* The same on the empty Node. */
int64_t node_amount_largest_empty(const struct node_amount *amount);
int64_t node_device_free(const struct node_device *device);
/* Adds the request to what is used, after node_capacities_finish(); `ret_uses` has what node_uses_undo() needs. Parts of
 * GPUs by annotation are not taken from whole ones. */
struct node_use {
	int64_t *at, before;
};
struct node_uses {
	VEC(struct node_use) list;
};
void node_capacity_take(struct node_capacity *capacity, const struct resources *request,
			struct arena *arena, struct node_uses *ret_uses);
void node_uses_add(struct node_uses *uses, struct arena *arena, int64_t *at, int64_t value);
void node_uses_undo(struct node_uses *uses);
/* Condition Ready is True, or the Node has no such condition. */
bool node_capacity_ready(const struct node_capacity *capacity);

#endif
