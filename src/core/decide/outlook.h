/* Whether the cluster's Nodes can hold Pods that wait to be scheduled and Pods to be launched, or a
 * node autoscaler must add Nodes. Only messages depend on it: a node autoscaler may add Nodes that
 * are not visible yet, so launches do not.
 *
 * There is no message where Nodes are unknown: in sidecar mode, and in the controller while no Pod
 * of the cluster is Unschedulable (ctl/watch/room.h). */
#ifndef CORE_DECIDE_OUTLOOK_H
#define CORE_DECIDE_OUTLOOK_H

#include "core/decide/situation.h"

/* A sentence about the group's first Pod without a Node; "" when nothing is known. */
const char *outlook_of_pod(struct situation *situation, struct group *group, const struct pod *pod);
/* The same for a new Pod, from the waiting Pod of the group if there is one, else from its
 * template. */
const char *outlook_of_launch(struct situation *situation, struct group *group);

#endif
