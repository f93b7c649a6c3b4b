/* Settings that another one overrides, in the same words for lint and simulate. */
#ifndef CORE_REPORT_OVERRIDDEN_H
#define CORE_REPORT_OVERRIDDEN_H

#include "base/arena.h"
#include "core/model/snapshot.h"

/* `path`: of a RayCluster ("autoscalerOptions.idleTimeoutSeconds", "workerGroupSpecs[gpu].idleTimeoutSeconds"), of
 * its RayClusterAutoscaler ("idleTimeoutSeconds", "groups[gpu].idleTimeoutSeconds", "upscalingMode") or a flag
 * ("idle-timeout-seconds"). "rayCluster.spec.autoscalerOptions.idleTimeoutSeconds is 300 and wins", in the arena, when
 * it counts for no group. NULL: *ret_counts, for a group it counts; or it is another setting, or of no group here. */
const char *overridden_by(const struct snapshot *snapshot, const char *path, struct arena *arena,
			  bool *ret_counts);

#endif
