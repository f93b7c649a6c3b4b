/* `rayscaler status --pools`: the status of all GPUPools, from the API server alone. */
#ifndef FEATURE_POOLS_CLI_STATUS_POOLS_H
#define FEATURE_POOLS_CLI_STATUS_POOLS_H

#include "cli/shared/status_page.h"

extern const struct status_page status_pools_page;

#endif
