/* The labels of Nodes that a decision on one RayCluster reads: those that its Pods and templates select
 * or spread by, those that ResourceSlices are bound to, and those of vendors of devices. A snapshot has
 * no others: a reader of one RayCluster may have no right to see Nodes. */
#ifndef CORE_NODES_NODE_LABELS_H
#define CORE_NODES_NODE_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "core/model/kubernetes.h"

struct node_labels {
	struct map keys;
};

#define NODE_LABELS_INIT ((struct node_labels){ .keys = MAP_INIT })

void node_labels_done(struct node_labels *read);
void node_labels_add_spec(struct node_labels *read, const struct pod_spec *spec);
void node_labels_add_terms(struct node_labels *read, const struct node_term *terms, size_t count);
/* A label that only a Node with accelerators has. */
bool node_labels_is_device(const char *key);
bool node_labels_has(const struct node_labels *read, const char *key);

#endif
