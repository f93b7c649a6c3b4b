/* Whether the cluster's Nodes can hold Pods that wait to be scheduled and Pods to be launched, or a
 * node autoscaler must add Nodes. Messages depend on it, and the size of a step that kube-scheduler
 * places as a whole; no other launch: a node autoscaler may add Nodes that are not visible yet.
 *
 * There is no message where Nodes are unknown: in sidecar mode, and in the controller while no Pod
 * of the cluster is Unschedulable or in a gang of kube-scheduler (ctl/watch/capacity_watch.h). */
#ifndef CORE_DECIDE_CAPACITY_CHECK_H
#define CORE_DECIDE_CAPACITY_CHECK_H

#include "core/decide/facts.h"
#include "core/nodes/node_fit.h"

struct capacity_check_group {
	const char *text; /* NULL: not asked yet */
	bool fits_now;    /* a Node has capacity for it now */
};

/* The answers so far. Not a value of the chain but a cache: the sums over all Nodes are made for the
 * first question, if there is one. */
struct capacity_check {
	const struct facts *facts;
	const struct node_capacities *capacities;
	struct capacity_check_group *groups; /* the first question about a group decides its answer */
	struct node_capacities *left; /* less what capacity_check_take() took; NULL: nothing */
	struct node_demand *demands;  /* then: of a launch of each group */
	size_t *next;                 /* by group: Nodes before this one hold no more of it */
};

struct capacity_check *capacity_check_new(const struct facts *facts);
/* A sentence about the group's first Pod without a Node; "" when nothing is known. */
const char *capacity_check_of_pod(struct capacity_check *capacity_check, size_t group,
				  const struct pod *pod);
/* The same for a new Pod, from the waiting Pod of the group if there is one, else from its
 * template. */
const struct capacity_check_group *capacity_check_of_launch(struct capacity_check *capacity_check,
							    size_t group);
/* Whether the free amounts hold another Pod of each of these groups together, beside those of earlier calls. No when they
 * are not known, or not all Pods that use them. Cost: one check for each Pod and each Node. */
bool capacity_check_take(struct capacity_check *capacity_check, const size_t *groups, size_t count);

#endif
