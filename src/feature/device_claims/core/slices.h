/* The devices of all ResourceSlices that count: those of the newest generation of each pool, and only
 * of a generation that is there with all its slices. Pure; points into the slices. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_SLICES_H
#define FEATURE_DEVICE_CLAIMS_CORE_SLICES_H

#include "base/arena.h"
#include "feature/device_claims/core/device_object.h"

struct slice_device {
	const struct resource_slice *slice;
	const struct device *device;
};

/* Equal devices of one Node. */
struct slice_kind {
	const char *driver, *type, *profile, *product; /* attributes; "": none */
	const char *node;                              /* "": of no single Node */
	int64_t count;
};

struct slice_devices {
	const struct slice_device *at; /* by driver, pool, name of the device */
	size_t count;
	const struct slice_kind *kinds; /* by driver, type, profile, product, Node */
	size_t kind_count;
};

void slice_devices_make(const struct resource_slice *slices, size_t count, struct arena *arena,
			struct slice_devices *ret_devices);
/* NULL: none. */
const struct slice_device *slice_devices_find(const struct slice_devices *devices,
					      const char *driver, const char *pool,
					      const char *name);
/* The text of the driver's own attribute ("type"); "": none. */
const char *slice_attribute(const struct slice_device *device, const char *name);

#endif
