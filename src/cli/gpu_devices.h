/* The devices of Dynamic Resource Allocation for `status --gpus`: ResourceSlices, and where there are
 * some DeviceClasses and ResourceClaims. Without the API or the right to read them there are none. */
#ifndef CLI_GPU_DEVICES_H
#define CLI_GPU_DEVICES_H

#include "base/arena.h"
#include "feature/device_claims/core/device_object.h"

struct connection;

/* Lists them; blocks. NULL: no ResourceSlices. *ret_problem: "", or why claims are not known. */
const struct device_objects *gpu_devices_read(struct connection *connection, struct arena *arena,
					      const char **ret_problem);

#endif
