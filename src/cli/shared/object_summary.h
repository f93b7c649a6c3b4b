/* The summary of a RayCluster that no controller answers for: its own worker groups, with what the
 * status of its RayClusterAutoscaler recorded of the last decision. Decides nothing. GPUs in use,
 * waiting demand of a group and idle times are in neither. */
#ifndef CLI_SHARED_OBJECT_SUMMARY_H
#define CLI_SHARED_OBJECT_SUMMARY_H

#include "core/model/kubernetes.h"
#include "core/report/summary.h"

/* NULL when there is no object, or no status of a decision in it. */
const struct autoscaler_status *object_summary_status(const struct autoscaler_object *object);
/* Points into both arguments; a status of NULL leaves `ray_reachable` false and `reason` "". */
const struct summary *object_summary(const struct ray_cluster *cluster,
				     const struct autoscaler_status *status, struct arena *arena);

#endif
