/* What a Pod takes of a Node, as the scheduler counts it: the requests of its containers, a limit
 * where there is no request (the API server puts it there). Init containers and the overhead of a
 * RuntimeClass are not decoded and so not counted. Pure. */
#ifndef CORE_NODES_POD_REQUEST_H
#define CORE_NODES_POD_REQUEST_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* The name under which a Node says how many Pods it takes, and a Pod that stands for several
 * (core/nodes/pod_digest) how many. */
#define POD_REQUEST_PODS "pods"

/* In 1/10000, with POD_REQUEST_PODS: 1 unless it is given. What does not parse counts as 0. */
struct resources pod_request(const struct pod_spec *spec, struct arena *arena);
/* It takes something of a Node: it has one, and has not ended. */
bool pod_request_holds(const struct pod *pod);
/* "2", "16Gi", "500m": an amount of this resource for messages, memory in binary units. */
const char *pod_request_text(struct arena *arena, const char *resource, int64_t amount);

#endif
