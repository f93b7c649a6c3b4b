/* GPUPools of a simulation: by name; two with the same name, and one with a wrong type, are an error. Of a
 * recording: those that its worker groups draw from, and its Namespace, whose labels choose the queue. */
#ifndef FEATURE_POOLS_CLI_SIMULATE_POOLS_H
#define FEATURE_POOLS_CLI_SIMULATE_POOLS_H

#include "cli/shared/simulate_objects.h"

extern const struct simulate_objects simulate_pools;

#endif
