/* The amounts that a Pod uses of a Node, as the scheduler counts them: the requests of its
 * containers, and the limit where there is no request (the API server's default), or of cpu, memory and huge
 * pages those of the Pod as a whole (spec.resources, stable in Kubernetes 1.37). Init containers
 * and the overhead of a RuntimeClass are not decoded and so not counted. Pure. */
#ifndef CORE_NODES_POD_REQUEST_H
#define CORE_NODES_POD_REQUEST_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* The resource name for the number of Pods: of a Node its maximum, and of a summed Pod
 * (core/nodes/pod_digest) the number of Pods in it. */
#define POD_REQUEST_PODS "pods"

/* In 1/10000, with POD_REQUEST_PODS: 1 unless it is given. An amount that does not parse counts as
 * 0. */
struct resources pod_request(const struct pod_spec *spec, struct arena *arena);
/* With the parts of GPUs by annotation (core/nodes/gpu_part), which no API server and no queue counts. */
struct resources pod_request_with_parts(const struct pod_spec *spec, struct arena *arena);
/* Whether the Pod uses capacity of a Node: it is scheduled and has not ended. */
bool pod_request_holds(const struct pod *pod);
/* "2", "16Gi", "500m": an amount of this resource for messages, memory in binary units. */
const char *pod_request_text(struct arena *arena, const char *resource, int64_t amount);

#endif
