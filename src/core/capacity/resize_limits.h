/* Whether a group may be resized in place: Ray's rules for its template
 * (autoscaler/v2/instance_manager/cloud_providers/kuberay/ippr_provider.py, ray 2.60). */
#ifndef CORE_CAPACITY_RESIZE_LIMITS_H
#define CORE_CAPACITY_RESIZE_LIMITS_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* The limits of a group, HEAD_GROUP_NAME for the head; NULL: none. */
const struct resize_group *resize_limits_find(const struct ray_cluster *cluster, const char *group);
/* Why its group cannot be resized, with the field to change; NULL: it can. A group that the RayCluster
 * does not have is a problem too. */
const char *resize_limits_problem(const struct ray_cluster *cluster,
				  const struct resize_group *limits, struct arena *arena);

#endif
