#include "feature/pools/cli/simulate_pools.h"

#include <stdlib.h>
#include <string.h>

#include "codec/objects/cluster_set.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "sim/simulate.h"

static int by_name(const void *left, const void *right)
{
	const struct gpu_pool *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static int decode(const struct cluster_set *set, struct arena *arena, struct sim_input *input,
		  struct err *err)
{
	struct cluster_set_trees trees = cluster_set_trees(set, GPU_POOL_KIND);
	const struct gpu_pool **pools = arena_array(arena, trees.count, sizeof(struct gpu_pool *));

	for (size_t i = 0; i < trees.count; i++) {
		struct gpu_pool *pool = ARENA_NEW(arena, struct gpu_pool);

		if (gpu_pool_decode(trees.at[i], "", arena, pool, err))
			return err_prefix(err, GPU_POOL_KIND);
		pools[i] = pool;
	}
	if (trees.count > 1)
		qsort(pools, trees.count, sizeof(struct gpu_pool *), by_name);
	for (size_t i = 1; i < trees.count; i++)
		if (strcmp(pools[i]->name, pools[i - 1]->name) == 0)
			return err_set(err, ERR_INPUT,
				       GPU_POOL_KIND " %s is there twice; rename or remove one",
				       pools[i]->name);
	input->gpu_pools = pools;
	input->gpu_pool_count = trees.count;
	return 0;
}

const struct simulate_objects simulate_pools = { decode };
