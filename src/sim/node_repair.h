/* Repairs of the Nodes of a simulation, as the pools of Nodes have them. */
#ifndef SIM_NODE_REPAIR_H
#define SIM_NODE_REPAIR_H

#include "sim/world.h"

/* The present repair of Node n; NULL: none. */
const struct node_pool_window *node_repair_of(const struct stock_pool *pool, size_t n,
					      int64_t now_ms);
/* Nodes under repair with Pods, as the snapshot has them. */
void node_repair_add(const struct sim_world *world, struct arena *arena, struct snapshot *snapshot);

#endif
