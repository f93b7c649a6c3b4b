/* Whether a Pod's spec matches a Node, as the scheduler reads node selectors, required node
 * affinity, taints and tolerations (kubernetes.io/docs/concepts/scheduling-eviction). Pure. Must
 * not check free capacity: that is node_fit. */
#ifndef CORE_NODES_NODE_MATCH_H
#define CORE_NODES_NODE_MATCH_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* nodeSelector, and one term of the required node affinity (where there are terms). An unknown
 * operator, or Gt and Lt without one whole number, match nothing. */
bool node_match_selects(const struct pod_spec *spec, const struct node *node);
bool node_match_selector(const struct labels *selector, const struct node *node);
bool node_match_affinity(const struct pod_spec *spec, const struct node *node);
bool node_match_expression(const struct node_expression *expression, const struct node *node);
/* The taint is NoSchedule or NoExecute, and the Pod does not tolerate it. */
bool node_match_repels(const struct taint *taint, const struct pod_spec *spec);
/* The first taint that repels the Pod, NULL for none. */
const struct taint *node_match_taint(const struct pod_spec *spec, const struct node *node);
/* Adds a word and its end, or all that these functions read of the Pod: Pods with equal texts match the same Nodes. */
struct node_match_text {
	struct arena *arena;
	char *at;
	size_t count, capacity;
};
void node_match_add(struct node_match_text *text, const char *word);
void node_match_write(struct node_match_text *text, const struct pod_spec *spec);
/* Condition Ready is True, or the Node has no such condition. */
bool node_match_is_ready(const struct node *node);
/* The Node is cordoned, and the Pod does not tolerate the taint node.kubernetes.io/unschedulable. */
bool node_match_is_cordoned(const struct pod_spec *spec, const struct node *node);
bool node_match_tolerates(const struct pod_spec *spec, const struct taint *taint);

#endif
