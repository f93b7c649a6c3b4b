/* How many GPUs a RayCluster counts for under ceilings over several clusters: from the objects of
 * Kubernetes alone. What its Ray says of itself changes nothing, because code of users can make it
 * say anything (docs/internals/threats.md).
 * Pure; needs no arena afterwards. Must not be used for what one worker can serve: core/capacity/capacity. */
#ifndef CORE_CAPACITY_GPU_COUNT_H
#define CORE_CAPACITY_GPU_COUNT_H

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/settings.h"

/* In 1/10000 GPU by core/capacity/gpu_cost, saturated at INT64_MAX: the head, and of each group the larger of what
 * is asked for (replicas within minReplicas and maxReplicas) and what is there, in whole replicas; Pods
 * on their way out count beside that until they are gone, Pods that have finished do not. A Pod that is
 * there counts by its own spec, and at least by the template of today. A suspended cluster or group,
 * or one that is deleted, counts its Pods alone.
 * cluster NULL (gone, or cannot be read): each Pod by its own spec, as do Pods of no group.
 * replicas: of each group, instead of the spec's; NULL: the spec's. */
int64_t gpu_count(const struct ray_cluster *cluster, const struct pod *const *pods,
		  size_t pod_count, const int64_t *replicas, const struct settings *settings,
		  const struct device_table *devices, struct arena *scratch);

/* What one Pod holds by its own spec. */
int64_t gpu_count_of_pod(const struct pod *pod, const struct settings *settings,
			 const struct device_table *devices, struct arena *scratch);

#endif
