/* A Pod of a RayCluster as KubeRay 1.7 makes it (ray-operator/controllers/ray/common/pod.go), as far as admission
 * reads it: labels, the containers and volumes that KubeRay adds, and their resources. For a request of which
 * nothing is kept (dry-run). */
#ifndef FEATURE_LINT_OBJECTS_LINT_POD_H
#define FEATURE_LINT_OBJECTS_LINT_POD_H

struct cJSON;

/* A new tree of copies; `cluster` has metadata and spec of a RayCluster, `group` is one of its workerGroupSpecs, NULL
 * for the head. NULL: it has no Pod template with a container. */
struct cJSON *lint_pod_make(const struct cJSON *cluster, const struct cJSON *group);

#endif
