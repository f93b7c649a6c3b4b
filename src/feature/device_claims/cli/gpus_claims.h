/* The devices of ResourceSlices in `status --gpus`. */
#ifndef FEATURE_DEVICE_CLAIMS_CLI_GPUS_CLAIMS_H
#define FEATURE_DEVICE_CLAIMS_CLI_GPUS_CLAIMS_H

#include "cli/shared/gpus_devices.h"

extern const struct gpus_devices gpus_claims;

#endif
