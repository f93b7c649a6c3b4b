/* Whether a Pod of this template fits a Node: now, after other Pods have ended, or never. Checks
 * nodeSelector, required node affinity, taints, whether the Node is cordoned, and requests against
 * free amounts: the rules of the scheduler (NodeAffinity, TaintToleration, NodeUnschedulable,
 * NodeResourcesFit) and the per-device rule of gpushare. Not checked: volumes, topology spread,
 * affinity to other Pods, ports, resource claims; so NEVER is certain, and NOW is not. Pure;
 * results live in the arena. Outside of pools and of gangs of kube-scheduler no launch may depend on
 * it: a node autoscaler may add Nodes that are not visible yet. */
#ifndef CORE_NODES_NODE_FIT_H
#define CORE_NODES_NODE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/nodes/node_capacity.h"

enum node_fit_level {
	NODE_FIT_NONE = 0, /* no Node is known */
	NODE_FIT_NEVER,    /* not even when it is empty: label, taint or size */
	NODE_FIT_ABSENT,   /* it is Ready and matches, and does not offer a device that it should */
	NODE_FIT_LATER,    /* other Pods use the capacity, or it is cordoned or not ready */
	NODE_FIT_NOW,
};

struct node_fit {
	enum node_fit_level level;
	const struct node_capacity *capacity; /* NULL with NONE */
	/* The obstacle, for messages: "1 of 8 nvidia.com/gpu are free, 2 are needed"; "" with NOW
	 * and NONE. */
	const char *why;
	int cost; /* size of the obstacle, to compare Nodes of one level; 0: none */
};

/* The Pod to place. */
struct node_demand {
	const struct pod_spec *spec;
	struct resources request;
	const struct device_row **rows; /* of each resource of request; NULL: no accelerator */
	/* A template, not an existing Pod: an admission plugin may still add the toleration of a
	 * taint whose key is a requested resource (ExtendedResourceToleration, GKE). */
	bool template_only;
};

void node_demand_init(struct node_demand *demand, const struct pod_spec *spec, bool template_only,
		      const struct device_table *devices, struct arena *arena);

/* The parts of nodeSelector and required node affinity that do not match, as text; "" when all
 * match (node_match_selects). */
const char *node_fit_labels_why(const struct pod_spec *spec, const struct node *node,
				struct arena *arena);
/* The first taint (NoSchedule, NoExecute) that is not tolerated; NULL: none. */
const struct taint *node_fit_taint(const struct node_demand *demand, const struct node *node);

/* The Node takes the Pod when it has room: labels, taints, readiness. */
bool node_fit_accepts(const struct node_demand *demand, const struct node *node);
bool node_fit_has_room(const struct node_demand *demand, const struct node_capacity *capacity);
void node_fit_check(const struct node_demand *demand, const struct node_capacity *capacity,
		    struct arena *arena, struct node_fit *ret_fit);
/* The best Node: the highest level; of equal ones the smallest cost, then by name. */
void node_fit_best(const struct node_demand *demand, const struct node_capacities *capacities,
		   struct arena *arena, struct node_fit *ret_fit);
/* One sentence for a plan about the best Node for the Pod; "" with NONE. With LATER it also reports
 * free amounts on all matching Nodes in pieces that are too small. */
const char *node_fit_text(const struct node_demand *demand,
			  const struct node_capacities *capacities, const struct node_fit *best,
			  struct arena *arena);

#endif
