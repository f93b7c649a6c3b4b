/* Objects of a file changed by a path: PATH=VALUE up to the first NUL, then the file, which is also
 * read as pools of Nodes and as prices. Laws: a refusal has a reason; what is decoded has a RayCluster without
 * problems, and pools within their limits. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/cluster_set.h"
#include "codec/objects/node_pools_json.h"

static void check(const struct cluster_set *set)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct cluster_setup *setups;
	struct err err = { .kind = ERR_NONE };
	struct settings settings;
	size_t count;

	if (cluster_set_decode(set, &arena, &setups, &count, &settings, &err)) {
		REQUIRE(err.text[0] != '\0');
		return;
	}
	REQUIRE(count > 0);
	for (size_t i = 0; i < count; i++)
		REQUIRE(setups[i].cluster.problems.count == 0);
}

static void check_pools(const struct cluster_set *set)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	const struct price_table *prices;
	struct node_pools pools;

	if (cluster_set_decode_prices(set, &arena, &prices, &err) ||
	    cluster_set_decode_pools(set, &arena, &pools, &err)) {
		REQUIRE(err.text[0] != '\0');
		return;
	}
	REQUIRE(pools.count <= NODE_POOLS_MAX);
	for (size_t i = 0; i < pools.count; i++) {
		const struct node_pool *pool = &pools.at[i];

		REQUIRE(*pool->node.name && pool->min_nodes >= 0 && pool->life_ms >= 0);
		REQUIRE(pool->max_nodes >= pool->min_nodes &&
			pool->max_nodes <= NODE_POOL_NODES_MAX);
		for (size_t k = 0; k < pool->refusal_count; k++)
			REQUIRE(pool->refusals[k].from_ms >= 0 &&
				pool->refusals[k].until_ms >= pool->refusals[k].from_ms);
		for (size_t k = 0; k < pool->node.allocatable.count; k++)
			REQUIRE(pool->node.allocatable.at[k].valid);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size > 0 ? memchr(text, '\0', size) : NULL;
	size_t path = end ? (size_t)(end - text) : 0;
	AUTO(memory_free_string) char *copy = memory_strndup(text, path);
	struct cluster_set *set = cluster_set_new();
	char *equals = strchr(copy, '=');
	struct err err = { .kind = ERR_NONE };

	if (end && cluster_set_add_pools(set, end + 1, size - path - 1, &err))
		REQUIRE(err.text[0] != '\0');
	if (end && cluster_set_add_prices(set, end + 1, size - path - 1, &err))
		REQUIRE(err.text[0] != '\0');
	if (end && cluster_set_add(set, end + 1, size - path - 1, &err) == 0) {
		if (equals)
			*equals = '\0';
		if (cluster_set_change(set, copy, equals ? equals + 1 : "1", &err))
			REQUIRE(err.text[0] != '\0');
		check(set);
		check_pools(set);
	} else if (end) {
		REQUIRE(err.text[0] != '\0');
	}
	cluster_set_free(set);
	return 0;
}
