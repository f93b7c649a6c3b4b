/* What each Node has of each resource and how much of it is taken, device by device where a device's
 * memory is shared. Made from Nodes and the Pods on them; lives in the arena, and so do its sources.
 * Kubernetes does not say which whole GPU or which partition a Pod has, so those are only counted.
 * Of shared memory (device_share MEMORY) the device stands in the Pod's annotations; a Pod that has
 * none yet is put where it fits best, for the forecast. Pure. Must not decide: node_fit does. */
#ifndef CORE_NODES_NODE_ROOM_H
#define CORE_NODES_NODE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* Devices of a Node that are told apart. */
#define NODE_ROOM_DEVICES_MAX 256

struct node_device {
	int64_t total;
	int64_t used;     /* as annotations say */
	int64_t forecast; /* of Pods whose device is not known, by best fit */
};

/* All amounts in 1/10000; sums do not go beyond RESOURCE_AMOUNT_MAX. */
struct node_amount {
	const char *resource;
	const struct device_row *row; /* NULL: no accelerator */
	int64_t capacity, allocatable, used;
	bool has_allocatable; /* the Node names it in allocatable (it may be 0) */
	/* Only of a device's memory, and where the Node says how many devices it has. */
	struct node_device *devices;
	size_t device_count;
	int64_t unplaced; /* used by Pods whose device is not known */
	/* Inside: what unplaced is made of. */
	VEC(int64_t) waiting;
};

struct node_room {
	const struct node *node;
	struct node_amount *at; /* sorted by resource */
	size_t count;
};

/* Sorted by the Node's name. A Node that names nothing allocatable is left out: nothing is known of
 * it (the controller keeps only name and taint of those that end). */
struct node_rooms {
	struct node_room *at;
	size_t count;
	const struct device_table *devices;
	struct arena *arena;
	bool partial; /* not all Pods on the Nodes are known: they have at most so much free */
};

void node_rooms_init(struct node_rooms *rooms, const struct node *nodes, size_t count,
		     const struct device_table *devices, struct arena *arena);
/* Counts the Pod on its Node, when it holds something there; NULL when not. In any order. */
struct node_room *node_rooms_add(struct node_rooms *rooms, const struct pod *pod);
/* After the last Pod: the forecast. */
void node_rooms_finish(struct node_rooms *rooms);

struct node_amount *node_room_amount(const struct node_room *room,
				     const char *resource); /* or NULL */
/* Free in sum, never below 0. */
int64_t node_amount_free(const struct node_amount *amount);
/* The largest amount that one request can have: of memory on one device, else all that is free. */
int64_t node_amount_largest(const struct node_amount *amount);
/* The same on the empty Node. */
int64_t node_amount_largest_empty(const struct node_amount *amount);
int64_t node_device_free(const struct node_device *device);
/* Condition Ready is True, or the Node has no such condition. */
bool node_room_ready(const struct node_room *room);

#endif
