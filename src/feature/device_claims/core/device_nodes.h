/* The devices of ResourceSlices by Node, of which the classes are judged, and what they are in the terms of device plugins: where a
 * DeviceClass has an extendedResourceName ("nvidia.com/gpu"), Nodes whose driver publishes slices have
 * no such capacity. Pure; results are in the arena, as their sources must be. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_NODES_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_NODES_H

#include "core/model/device.h"
#include "feature/device_claims/core/device_count.h"

/* The Nodes; one whose allocatable has none of an extendedResourceName has the devices of the class
 * there, as capacity, and those without taints as allocatable. The array itself, if there are none. */
const struct node *device_nodes_fill(const struct device_free *free, const struct node *nodes,
				     size_t count, struct arena *arena);
/* The Pods; one that has such devices by a claim requests them as well. A claim that the scheduler
 * made for a request in the Pod's limits is the request. */
const struct pod *device_nodes_fill_pods(const struct device_free *free, const struct pod *pods,
					 size_t count, struct arena *arena);

/* Accelerators are expected on it, and its allocatable has none: they may be in ResourceSlices. */
bool device_nodes_lacks(const struct node *node, const struct device_table *devices);

#define DEVICE_STOCKS_MAX 100 /* further ones are left out */

/* By driver, type and product. */
const struct device_stock *device_nodes_stocks(const struct device_free *free, struct arena *arena,
					       size_t *ret_count);

#endif
