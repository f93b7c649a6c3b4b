#include "feature/repair/core/repair_limits.h"

#include <string.h>

#include "core/model/pool.h"
#include "core/model/snapshot.h"

static void add_limit(struct repair_node *node, const struct pool_grant *grant, struct arena *arena)
{
	const struct repair_limit limit = { grant->repair_pool, grant->repair_nodes };

	for (size_t i = 0; i < node->limit_count; i++)
		if (strcmp(node->limits[i].pool, limit.pool) == 0)
			return;
	node->limits = ARENA_JOIN(arena, node->limits, node->limit_count, &limit, 1);
	node->limit_count++;
}

void repair_limits_find(const struct plan_repair *repair, const struct snapshot *snapshot,
			struct arena *arena)
{
	const struct pool_terms *pools = snapshot->pools;
	struct map nodes = MAP_IN(arena);

	if (!pools)
		return;
	VEC_EACH(struct repair_node, node, &repair->nodes)
		map_set(&nodes, node->node, node);
	for (size_t i = 0; i < snapshot->pod_count; i++) {
		const struct pod *pod = snapshot->pods[i];
		struct repair_node *node = map_get(&nodes, pod->spec.node_name);
		const char *group = labels_value(&pod->labels, LABEL_GROUP);
		const struct pool_grant *grant;

		if (!node || !group || !pod_is_worker(pod))
			continue;
		grant = ARRAY_FIND(pools->grants, pools->grant_count, group, group);
		if (grant && grant->repair_pool[0] != '\0')
			add_limit(node, grant, arena);
	}
}

void repair_counts_init(struct repair_counts *counts, struct arena *arena)
{
	*counts = (struct repair_counts){ arena, MAP_IN(arena), MAP_IN(arena) };
}

static int64_t *count_of(struct repair_counts *counts, const char *pool)
{
	int64_t *count = map_get(&counts->pools, pool);

	if (!count) {
		count = ARENA_NEW(counts->arena, int64_t);
		map_set(&counts->pools, pool, count);
	}
	return count;
}

void repair_counts_add(struct repair_counts *counts, const struct repair_node *node)
{
	for (size_t i = 0; i < node->limit_count; i++) {
		const char *pool = node->limits[i].pool;
		const char *key = arena_printf(counts->arena, "%s %s", pool, node->node);

		if (map_get(&counts->nodes, key))
			continue;
		map_set(&counts->nodes, key, counts);
		++*count_of(counts, pool);
	}
}

bool repair_counts_allow(struct repair_counts *counts, const struct repair_node *node)
{
	for (size_t i = 0; i < node->limit_count; i++)
		if (*count_of(counts, node->limits[i].pool) >= node->limits[i].nodes)
			return false;
	return true;
}
