/* GPU time and cost of each RayCluster (docs/COST.md), counted from decision to decision: metrics,
 * and the member `metering` of the status of its RayClusterAutoscaler. */
#ifndef FEATURE_COST_CTL_COST_H
#define FEATURE_COST_CTL_COST_H

#include "ctl/report/feature.h"

extern const struct feature cost_feature;

#endif
