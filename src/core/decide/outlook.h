/* Whether the cluster's Nodes can hold Pods that wait to be scheduled and Pods to be launched, or a
 * node autoscaler must add Nodes. Only messages depend on it: a node autoscaler may add Nodes that
 * are not visible yet, so launches do not.
 *
 * There is no message where Nodes are unknown: in sidecar mode, and in the controller while no Pod
 * of the cluster is Unschedulable (ctl/watch/room.h). */
#ifndef CORE_DECIDE_OUTLOOK_H
#define CORE_DECIDE_OUTLOOK_H

#include "core/decide/facts.h"
#include "core/nodes/node_room.h"

struct outlook_group {
	const char *text; /* NULL: not asked yet */
	bool fits_now;    /* a Node has capacity for it now */
};

/* The answers so far. Not a value of the chain but a cache: the sums over all Nodes are made for the
 * first question, if there is one. */
struct outlook {
	const struct facts *facts;
	const struct node_rooms *rooms;
	struct outlook_group *groups; /* the first question about a group decides its answer */
};

struct outlook *outlook_new(const struct facts *facts);
/* A sentence about the group's first Pod without a Node; "" when nothing is known. */
const char *outlook_of_pod(struct outlook *outlook, size_t group, const struct pod *pod);
/* The same for a new Pod, from the waiting Pod of the group if there is one, else from its
 * template. */
const struct outlook_group *outlook_of_launch(struct outlook *outlook, size_t group);

#endif
