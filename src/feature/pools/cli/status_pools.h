/* `rayscaler status --pools`: the status of all GPUPools, from the API server alone. Its read() gives a struct
 * listed_pools. */
#ifndef FEATURE_POOLS_CLI_STATUS_POOLS_H
#define FEATURE_POOLS_CLI_STATUS_POOLS_H

#include "cli/shared/status_page.h"
#include "feature/pools/core/gpu_pool.h"

struct listed_pools {
	VEC(struct gpu_pool) list; /* by name */
	size_t left_out;
	struct arena *arena;
};

extern const struct status_page status_pools_page;

#endif
