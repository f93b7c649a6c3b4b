/* The GPUs that a RayCluster counts under limits over several clusters, from Kubernetes objects
 * alone. Reports of its Ray do not count, because user code can forge them
 * (docs/internals/threats.md). Pure; needs no arena afterwards. Must not be used for what one
 * worker can serve: core/capacity/capacity. */
#ifndef CORE_CAPACITY_GPU_COUNT_H
#define CORE_CAPACITY_GPU_COUNT_H

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/settings.h"

/* In 1/10000 GPU by core/capacity/gpu_cost, saturated at INT64_MAX: the head, and for each group
 * the larger of the requested number (replicas within minReplicas and maxReplicas) and the existing
 * one, in whole replicas. Pods that are being deleted count in addition until they no longer exist;
 * finished Pods do not count. An existing Pod counts by its own spec, and at least by the current
 * template. A cluster or group that is suspended or deleted counts only its Pods.
 *
 * cluster NULL (deleted or unreadable): each Pod by its own spec, as for Pods of no group.
 *
 * A Pod without the owner reference of the cluster (core/model/identity) does not count: a label alone
 * must not use up a quota that others share.
 *
 * replicas: of each group, instead of the spec's; NULL: the spec's. */
int64_t gpu_count(const struct ray_cluster *cluster, const struct pod *const *pods,
		  size_t pod_count, const int64_t *replicas, const struct settings *settings,
		  const struct device_table *devices, struct arena *scratch);

/* The GPUs of one Pod by its own spec. */
int64_t gpu_count_of_pod(const struct pod *pod, const struct settings *settings,
			 const struct device_table *devices, struct arena *scratch);

#endif
