#include "sim/node_repair.h"

const struct node_pool_window *node_repair_of(const struct stock_pool *pool, size_t n,
					      int64_t now_ms)
{
	ARRAY_EACH(const struct node_pool_window, repair, pool->input->repairs,
		   pool->input->repair_count)
		if (repair->from_ms <= now_ms && now_ms < repair->until_ms &&
		    (int64_t)n < repair->nodes)
			return repair;
	return NULL;
}

/* Tainted and cordoned, as a program that repairs Nodes does it. */
static struct node sick_node(const struct stock_pool *pool, uint64_t id,
			     const struct node_pool_window *repair, struct arena *arena)
{
	const struct taint taint = { .key = "nvidia.com/gpu-xid-error",
				     .value = "",
				     .effect = "NoSchedule",
				     .added = SIM_EPOCH_MS + repair->from_ms };
	struct node node = pool->input->node;

	node.name = arena_printf(arena, "node-%llu", (unsigned long long)id);
	node.unschedulable = true;
	node.taints = ARENA_JOIN(arena, node.taints, node.taint_count, &taint, 1);
	node.taint_count++;
	return node;
}

void node_repair_add(const struct sim_world *world, struct arena *arena, struct snapshot *snapshot)
{
	VEC(struct node) nodes = { .at = NULL };

	for (size_t p = 0; p < world->input->models.pools.count; p++) {
		const struct stock_pool *pool = &world->pools[p];

		for (size_t n = 0; pool->input->repair_count > 0 && n < pool->end; n++) {
			const struct node_pool_window *repair =
				node_repair_of(pool, n, world->now_ms);

			if (repair && pool->nodes[n].pods > 0)
				VEC_PUSH(arena, &nodes,
					 sick_node(pool, stock_node_id(p, n), repair, arena));
		}
	}
	snapshot->nodes = nodes.at;
	snapshot->node_count = nodes.count;
}
