/* The capacity of each Node by resource and its used part, which one Pod changes at a time; device by
 * device where a device's memory is shared. All that asks for free capacity of Nodes asks this module: messages,
 * capacity checks and inventory, GPUPools and the simulator. The amounts and their sources live in the arena.
 * Kubernetes does not expose which whole GPU or partition a Pod has, so those are only counted. For
 * shared memory (device_share MEMORY), the Pod's annotations name the device; a Pod without them is
 * placed by best fit, for the forecast. Pure. Labels and taints: node_match; in words: node_fit. */
#ifndef CORE_NODES_NODE_CAPACITY_H
#define CORE_NODES_NODE_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* Limit of the devices of a Node that are counted separately. */
#define NODE_DEVICES_MAX 256

struct node_device {
	int64_t total;
	int64_t used;     /* by annotations */
	int64_t forecast; /* by Pods whose device is unknown, placed by best fit */
	__int128 sum;     /* of used, without its limit */
};

/* All amounts in 1/10000, at most RESOURCE_AMOUNT_MAX. */
struct node_amount {
	const char *resource;
	size_t column;                /* index in the columns of all Nodes */
	const struct device_row *row; /* NULL: not an accelerator */
	int64_t capacity, allocatable, used;
	__int128 sum; /* of used, without its limit: a Pod that ends leaves what was there before it */
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
	struct map by_name;        /* to their struct node_capacity */
	VEC(const char *) columns; /* the resources of all Nodes */
	const struct device_table *devices;
	struct arena *arena;
	bool partial; /* not all Pods on the Nodes are known: free amounts are upper bounds */
};

void node_capacities_init(struct node_capacities *capacities, const struct node *nodes,
			  size_t count, const struct device_table *devices, struct arena *arena);
/* A Pod exists, sign 1, or exists no longer, -1, with the same content. The Node where it uses capacity; NULL: it uses
 * none of these. In any order. */
struct node_capacity *node_capacities_count(struct node_capacities *capacities,
					    const struct pod *pod, int sign);
/* After the last Pod: the forecast. */
void node_capacities_settle(struct node_capacities *capacities);
struct node_capacity *node_capacities_find(const struct node_capacities *capacities,
					   const char *name); /* or NULL */

/* One Node alone; count 0: it has no allocatable. */
void node_capacity_init(struct node_capacity *capacity, const struct node *node,
			const struct device_table *devices, struct arena *arena);
/* A Pod with this request, whose devices are unknown, comes to the Node, sign 1, or leaves it, -1; with the
 * forecast. Parts of GPUs by annotation are not taken from whole ones. */
void node_capacity_change(struct node_capacity *capacity, const struct resources *request, int sign,
			  struct arena *arena);
/* The Node has the amount free now; row: of the resource, or NULL. Where node_amount_is_optional() a Node that does not
 * name the resource has enough of it. */
bool node_capacity_fits(const struct node_capacity *capacity, const struct resource *wanted,
			const struct device_row *row);
/* The number of Pods, devices of a DeviceClass, and what only qualifies another resource. */
bool node_amount_is_optional(const char *resource, const struct device_row *row);
/* Not of a qualifier of which the Node has none. */
bool node_amount_limits(const struct node_amount *amount);
struct node_amount *node_capacity_amount(const struct node_capacity *capacity,
					 const char *resource); /* or NULL */
/* Free in sum, never below 0. */
int64_t node_amount_free(const struct node_amount *amount);
/* The largest amount that one request can have: of memory on one device, else all that is free. */
int64_t node_amount_largest(const struct node_amount *amount);
/* The same on the empty Node. */
int64_t node_amount_largest_empty(const struct node_amount *amount);
int64_t node_device_free(const struct node_device *device);

#endif
