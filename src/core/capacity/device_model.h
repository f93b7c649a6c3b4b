/* The accelerators that Kubernetes gives one worker, and what one of them is: kind, devices per worker,
 * memory per device, share rule; read from its Ray container (index 0, as KubeRay does) and a table of
 * names. Pure; results live in the arena. Must not say how much a worker brings to Ray: that is
 * core/capacity/capacity, which asks this for what KubeRay tells `ray start`. */
#ifndef CORE_CAPACITY_DEVICE_MODEL_H
#define CORE_CAPACITY_DEVICE_MODEL_H

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* No container has more kinds of devices; of a longer list the rest is not looked at, because each is
 * compared with those before it. */
#define DEVICE_HELD_MAX 256

/* A resource name of its limits (or of its requests, where the limits lack it) with an amount above 0.
 * A quantity that does not parse has none. */
struct device_held {
	const char *resource; /* "nvidia.com/mig-1g.5gb" */
	const struct device_row *row;
	int64_t amount;           /* 1/10000 */
	const char *ray_resource; /* what Ray counts of it undeclared: "GPU"; NULL: nothing */
};

struct device_model {
	const char *resource; /* the main one: what Ray counts, else the first by name; "" none */
	const struct device_row *row; /* of it; NULL: none */
	enum device_kind kind;
	enum device_share share;
	int64_t devices; /* that a worker holds: GPUs, slices, turns; 1 for a share of memory */
	int64_t memory_bytes; /* of one of them, as far as this worker may use it; 0: unknown */
	const struct device_held *held; /* all of them, qualifiers too, by name */
	size_t held_count;
};

/* `container` NULL: a Pod without containers, which holds nothing. `told`: KubeRay tells Ray of limits
 * (core/capacity/capacity knows when it cannot); nobody tells it of requests. */
void device_model_make(const struct container *container, const struct device_table *table,
		       bool told, struct arena *arena, struct device_model *ret_model);

#endif
