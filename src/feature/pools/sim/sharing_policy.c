#include "feature/pools/sim/sharing_policy.h"

#include "core/capacity/gpu_count.h"
#include "feature/pools/core/pool_match.h"

bool sharing_policy_limits(enum sim_policy policy)
{
	return policy == SIM_POLICY_RAYSCALER || policy == SIM_POLICY_FIRST_COME ||
	       policy == SIM_POLICY_STATIC;
}

/* ---- the capacity ---- */

static int64_t node_gpus(const struct node *node, const struct gpu_pool *pool,
			 const struct device_table *devices, struct arena *scratch)
{
	const struct container container = { .name = "",
					     .limits = node->allocatable,
					     .requests = node->allocatable };
	const struct pod pod = { .name = "",
				 .spec = { .containers = &container, .container_count = 1 } };
	struct settings settings;

	settings_init(&settings);
	return pool_match_node(pool, node, scratch) ?
		       gpu_count_of_pod(&pod, &settings, devices, scratch) :
		       0;
}

int64_t sharing_policy_capacity(const struct gpu_pool *pool, const struct sim_input *input,
				struct arena *scratch)
{
	int64_t sum = 0;

	if (pool->has_gpus)
		return pool->gpus;
	for (size_t i = 0; i < input->models.pools.count; i++)
		sum = resource_sum(sum, input->models.pools.at[i].max_nodes *
						node_gpus(&input->models.pools.at[i].node, pool,
							  input->devices, scratch));
	return sum;
}

/* ---- parts ---- */

int64_t *sharing_policy_parts(const struct gpu_pool *pool, int64_t capacity, struct arena *arena)
{
	int64_t *parts = arena_array(arena, pool->queue_count + 1, sizeof(*parts));
	int64_t weights = 0, rest = capacity, left;

	if (pool->queue_count == 0)
		parts[0] = capacity;
	for (size_t q = 0; q < pool->queue_count; q++) {
		int64_t guaranteed = pool->queues[q].guaranteed;

		parts[q] = guaranteed < rest ? guaranteed : rest;
		rest -= parts[q];
		weights += pool->queues[q].weight;
	}
	left = rest;
	for (size_t q = 0; q < pool->queue_count; q++) {
		int64_t part = (int64_t)((__int128)rest * pool->queues[q].weight / weights);

		part -= part % RESOURCE_UNIT;
		parts[q] += part;
		left -= part;
	}
	for (size_t q = 0; q < pool->queue_count && left > 0; q++) {
		int64_t part = left < RESOURCE_UNIT ? left : RESOURCE_UNIT;

		parts[q] += part;
		left -= part;
	}
	return parts;
}

/* One limit; who asks first keeps it. */
static void make_first_come(struct gpu_pool *pool)
{
	pool->queues = NULL;
	pool->queue_count = 0;
	pool->idle_after_seconds = GPU_POOL_NEVER;
	pool->busy_after_seconds = GPU_POOL_NEVER;
	pool->reserve_after_seconds = GPU_POOL_NEVER;
}

static void make_static(struct gpu_pool *pool, int64_t capacity, struct arena *arena)
{
	const int64_t *parts = sharing_policy_parts(pool, capacity, arena);
	struct gpu_pool_queue *queues = arena_array(arena, pool->queue_count, sizeof(*queues));

	for (size_t q = 0; q < pool->queue_count; q++) {
		queues[q] = pool->queues[q];
		queues[q].guaranteed = queues[q].maximum = parts[q];
		queues[q].has_maximum = queues[q].has_lendable = true;
		queues[q].lendable = 0;
	}
	pool->queues = queues;
}

const struct gpu_pool *sharing_policy_pool(const struct gpu_pool *pool, enum sim_policy policy,
					   int64_t capacity, struct arena *arena)
{
	struct gpu_pool *ret = ARENA_NEW(arena, struct gpu_pool);

	*ret = *pool;
	ret->status = NULL; /* of another time */
	if (policy == SIM_POLICY_FIRST_COME)
		make_first_come(ret);
	else if (policy == SIM_POLICY_STATIC)
		make_static(ret, capacity, arena);
	return ret;
}
