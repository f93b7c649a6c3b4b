/* Signs of sick Nodes in `status --gpus`: the published taints and conditions, which need no setting. */
#ifndef FEATURE_REPAIR_CLI_GPUS_REPAIR_H
#define FEATURE_REPAIR_CLI_GPUS_REPAIR_H

#include "cli/shared/gpus_devices.h"

extern const struct gpus_sign gpus_repair;

#endif
