/* GPUPools as a feature of the controller: ctl/features.c. */
#ifndef FEATURE_POOLS_CTL_POOL_FEATURE_H
#define FEATURE_POOLS_CTL_POOL_FEATURE_H

#include "ctl/report/feature.h"

extern const struct feature pools_feature;

#endif
