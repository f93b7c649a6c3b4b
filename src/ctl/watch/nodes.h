/* Watches Nodes for disruption taints (core/nodes/disruption_taint.h), so that a pass knows which of
 * its workers will be evicted before their Pods show it, and for the labels and signs that features read
 * (ctl/report/feature.h). Controller mode only, and optional: without the right to read Nodes it logs
 * that once and retries every five minutes; the Pods' condition DisruptionTarget is still seen.
 *
 * Of disrupted Nodes name and those taints are kept, of Nodes with a sign their taints, cordon and conditions
 * with a sign, and those labels of each Node; of at most NODES_MAX. Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_NODES_H
#define CTL_WATCH_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"
#include "ctl/shared/control.h"

#define NODES_MAX 10000

struct nodes;

/* NULL in sidecar mode; every function accepts NULL and finds nothing then. */
struct nodes *nodes_new(const struct control *control);
void nodes_free(struct nodes *nodes);

/* Nodes can be read now. */
bool nodes_known(const struct nodes *nodes);

/* They are not read: the API server refuses them, or it is a sidecar. */
bool nodes_refused(const struct nodes *nodes);

/* Of the labels of this Node those that features read; NULL: the Node is unknown, or no feature reads
 * any. Borrowed until the loop turns. */
const struct labels *nodes_labels(const struct nodes *nodes, const char *name);

/* Counts changes of disrupted Nodes and of those with a sign; never 0. */
uint64_t nodes_changes(const struct nodes *nodes);

/* The disrupted Nodes of these Pods and those with a sign, each once; borrowed until the loop turns. */
void nodes_of_pods(struct nodes *nodes, const struct pod *const *pods, size_t pod_count,
		   struct arena *arena, const struct node **ret_nodes, size_t *ret_count);

#endif
