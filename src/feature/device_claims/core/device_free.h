/* The devices of ResourceSlices: which of them count, and which are free, by the rules of the
 * scheduler's allocator (k8s.io/dynamic-resource-allocation/structured 0.34.4).
 *
 * Only the newest generation of a pool counts, and only when all its slices are there. Not free are
 * devices of results of ResourceClaims, and those whose counters (KEP-4815) are used by another device
 * of the same chip; of a shared device (KEP-5075) a part may be free.
 *
 * A device has the taints of its slice and of the first DEVICE_RULES_MAX DeviceTaintRules that select it.
 *
 * Cost: O(n log n) for n devices, counters, rules and results. Pure; points into the objects. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_FREE_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_FREE_H

#include "base/arena.h"
#include "feature/device_claims/core/device_object.h"

struct device_matches;

#define DEVICE_RULES_MAX                                                                           \
	((size_t)16) /* of one device, as the API server allows taints of a slice */

/* A device that counts. */
struct free_device {
	const struct resource_slice *slice;
	const struct device *device;
	const char *node;           /* "": of no single Node */
	const struct taint *taints; /* the driver's, then those of DeviceTaintRules */
	size_t taint_count;
	int64_t *left; /* of each capacity, for a device that claims share; else NULL */
	bool claimed;  /* all of it */
	bool blocked;  /* a counter that it needs is used up */
};

struct device_free {
	const struct device_objects *objects;
	struct free_device
		*devices; /* by Node, driver, pool and name; first those of no single Node */
	size_t device_count;
	struct free_device **by_name; /* by driver, pool and name */
	bool tainted;                 /* a device has a taint */
	/* Parallel to the classes of the objects; NULL: they are not judged (device_judge). */
	const struct device_matches *const *class_matches;
};

struct device_free *device_free_make(const struct device_objects *objects, struct arena *arena);
/* NULL: none. */
const struct free_device *device_free_find(const struct device_free *free, const char *driver,
					   const char *pool, const char *name);
/* Those of the Node alone, from this index on; "": of no single Node. */
size_t device_free_of_node(const struct device_free *free, const char *node, size_t *ret_first);
/* The text of the driver's own attribute ("type"); "": none. */
const char *device_free_attribute(const struct free_device *one, const char *name);
/* Of amounts by name that of a capacity, whose name is in full: a name without a domain has the
 * driver's. NULL: none. */
const struct quantity *device_free_amount(const struct quantities *amounts, const char *driver,
					  const char *capacity);

#endif
