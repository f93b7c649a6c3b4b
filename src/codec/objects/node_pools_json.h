/* Pools of Nodes for the simulator (docs/SIMULATE.md), YAML or JSON, to struct node_pools. Results live
 * in the arena. Must not place Pods: that is sim/stock. */
#ifndef CODEC_OBJECTS_NODE_POOLS_JSON_H
#define CODEC_OBJECTS_NODE_POOLS_JSON_H

#include "codec/text/json.h"
#include "core/model/node_pool.h"

#define NODE_POOLS_MAX 1000
#define NODE_POOL_NODES_MAX 100000
#define NODE_POOL_REFUSALS_MAX 1000

/* A whole document: a struct node_pools. -1 with the reader's error. */
int node_pools_decode(const struct json_at *root, void *ret_pools);

#endif
