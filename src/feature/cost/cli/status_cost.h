/* `status --cost`: GPU time and cost of RayClusters, as their RayClusterAutoscalers have them, so it
 * needs no controller; at most 5 minutes old while one runs. By cluster and in all; with --by instead
 * by namespace or by a label of the RayCluster. Sums in different currencies are kept apart. */
#ifndef FEATURE_COST_CLI_STATUS_COST_H
#define FEATURE_COST_CLI_STATUS_COST_H

#include "cli/shared/status_page.h"

extern const struct status_page status_cost_page;

#endif
