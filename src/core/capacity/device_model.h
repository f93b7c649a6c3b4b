/* The accelerators that Kubernetes allocates to one worker, and the properties of one of them:
 * kind, devices per worker, share rule; read from its Ray container (index 0, as
 * KubeRay does) and a table of names. Pure; results live in the arena. Must not define how much a
 * worker adds to Ray: that is core/capacity/capacity, which calls this for the arguments of `ray
 * start`. */
#ifndef CORE_CAPACITY_DEVICE_MODEL_H
#define CORE_CAPACITY_DEVICE_MODEL_H

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* Limit of the list, because each entry is compared with those before it. Containers do not have
 * more kinds of devices; the rest of a longer list is not read. */
#define DEVICE_HELD_MAX 256

/* A resource name of its limits (or of its requests, where the limits lack it) with an amount above
 * 0. A quantity that does not parse has none. */
struct device_held {
	const char *resource; /* "nvidia.com/mig-1g.5gb" */
	const struct device_row *row;
	int64_t amount;           /* 1/10000 */
	const char *ray_resource; /* as Ray counts it undeclared: "GPU"; NULL: none */
};

struct device_model {
	const char *resource; /* main one: the first that Ray counts, else by name; "" none */
	const struct device_row *row; /* of it; NULL: none */
	enum device_kind kind;
	enum device_share share;
	int64_t devices; /* of a worker: GPUs, slices, time slices; 1 for a share of memory */
	const struct device_held *held; /* all of them, qualifiers too, by name */
	size_t held_count;
};

/* `container` NULL: a Pod without containers, which holds no device. `told`: KubeRay passes limits
 * to Ray (core/capacity/capacity determines when it cannot); it never passes requests. */
void device_model_make(const struct container *container, const struct device_table *table,
		       bool declared, struct arena *arena, struct device_model *ret_model);

#endif
