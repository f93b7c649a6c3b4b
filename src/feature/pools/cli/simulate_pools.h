/* GPUPools of a simulation: by name; two with the same name, and one with a wrong type, are an error. */
#ifndef FEATURE_POOLS_CLI_SIMULATE_POOLS_H
#define FEATURE_POOLS_CLI_SIMULATE_POOLS_H

#include "cli/shared/simulate_objects.h"

extern const struct simulate_objects simulate_pools;

#endif
