/* A Node in little memory: only the fields that inventory and node_fit read (a Node also has the
 * list of its images, and annotations of many programs). */
#ifndef CORE_NODES_NODE_DIGEST_H
#define CORE_NODES_NODE_DIGEST_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* Name, address, labels, taints, capacity, allocatable, cordoned, the condition Ready, and those of
 * FEATURE_NODE_CONDITIONS with the status that says that a device is sick; copied. */
void node_digest(const struct node *node, struct arena *arena, struct node *ret_node);

#endif
