/* Claims of a simulation: their devices are counted by the device table. */
#ifndef FEATURE_DEVICE_CLAIMS_CLI_SIMULATE_CLAIMS_H
#define FEATURE_DEVICE_CLAIMS_CLI_SIMULATE_CLAIMS_H

#include "cli/shared/simulate_objects.h"

extern const struct simulate_objects simulate_claims;

#endif
