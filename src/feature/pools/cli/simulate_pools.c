/* GPUPools of a simulation: by name; two with the same name, and one with a wrong type, are an error. Of a
 * recording: those that its worker groups draw from, and its Namespace, whose labels choose the queue. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/simulate_objects.h"
#include "codec/objects/cluster_set.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/namespace_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/yaml_write.h"
#include "feature/pools/cli/status_pools.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "feature/pools/core/pool_match.h"
#include "sim/simulate.h"

#define POOL_HEAD "---\napiVersion: " OWN_GROUP_VERSION "\nkind: " GPU_POOL_KIND "\n"

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

/* ---- of a recording ---- */

static int add_document(const char *head, const struct field *fields, const void *object,
			struct arena *arena, struct buf *yaml, struct err *err)
{
	const char *json = field_text(fields, object, arena);

	buf_add_string(yaml, head);
	return yaml_write(json, strlen(json), yaml, err);
}

static int record_namespace(struct connection *connection, const char *name, struct arena *arena,
			    struct buf *yaml, struct err *err)
{
	AUTO(fetch_done)
	struct fetch fetch = { .path = arena_printf(arena, "/api/v1/namespaces/%s", name) };
	AUTO(json_done) struct cJSON *tree = NULL;
	struct namespace found;

	if (api_connection_fetch_one(connection, &fetch, err))
		return -1;
	foreign_object_parse(fetch.text, fetch.size, false, &tree, err);
	if (err->kind != ERR_NONE || namespace_decode(tree, "", arena, &found, err))
		return -1;
	found.resource_version = "";
	return add_document("---\napiVersion: v1\nkind: Namespace\n", namespace_fields, &found,
			    arena, yaml, err);
}

static int record(struct connection *connection, const struct ray_cluster *cluster,
		  struct buf *yaml, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct listed_pools *listed;
	const void *objects;
	bool any = false;

	if (status_pools_page.read(connection, &arena, &objects, err))
		return err->kind == ERR_NOT_FOUND ? 0 : -1;
	listed = objects;
	VEC_EACH(struct gpu_pool, pool, &listed->list) {
		const struct gpu_pool *one = pool;
		bool draws = false;

		ARRAY_EACH(const struct worker_group, group, cluster->groups, cluster->group_count)
			draws |= pool_match_spec(&one, 1, &group->template.spec, NULL, &arena) == 0;
		if (draws && !any)
			buf_add_string(
				yaml,
				"# record the other RayClusters of a GPUPool, and append their files\n");
		pool->resource_version = "";
		pool->generation = 0;
		if (draws && pool->problems.count == 0 &&
		    add_document(POOL_HEAD, gpu_pool_fields, pool, &arena, yaml, err))
			return -1;
		any |= draws;
	}
	return any ? record_namespace(connection, cluster->namespace_, &arena, yaml, err) : 0;
}

const struct simulate_objects simulate_pools = { decode, record };
