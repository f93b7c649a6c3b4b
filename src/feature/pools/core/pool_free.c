#include "feature/pools/core/pool_free.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/nodes/pod_request.h"

#define UNLIMITED (INT64_MAX / 2)

static size_t column_of(const struct pool_free *free, const char *resource)
{
	size_t c = 0;

	while (c < free->columns.count && strcmp(free->columns.at[c], resource) != 0)
		c++;
	return c;
}

bool pool_free_has(const struct pool_free *free, const char *resource)
{
	return column_of(free, resource) < free->columns.count;
}

/* As of a Pod with all that the Node has, which may run only on Nodes like it. */
static int64_t node_gpus(const struct pool_free_input *input, const struct node *node,
			 struct arena *scratch)
{
	const struct container container = {
		.name = "", .image = "", .limits = node->allocatable, .requests = node->allocatable
	};
	const struct pod whole = { .spec = { .containers = &container,
					     .container_count = 1,
					     .node_selector = node->labels,
					     .node_name = "" } };

	return gpu_count_of_pod(&whole, input->settings, input->devices, scratch);
}

static bool *pools_of(struct pool_free *free, const struct pool_free_input *input,
		      const struct node *node, struct arena *scratch)
{
	bool *in = arena_array(scratch, input->pool_count, sizeof(*in)), any = false;

	for (size_t p = 0; p < input->pool_count; p++) {
		in[p] = !gpu_pool_is_of_flags(input->pools[p]->name) &&
			pool_match_node(input->pools[p], node, scratch);
		any |= in[p];
	}
	return any ? ARENA_COPY(&free->arena, in, input->pool_count) : NULL;
}

static void add_node(struct pool_free *free, const struct pool_free_input *input,
		     const struct node *node)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct pool_free_node own = { .node = node };

	for (size_t i = 0; i < node->allocatable.count; i++) {
		const char *name = node->allocatable.at[i].name;

		if (!pool_free_has(free, name))
			VEC_PUSH(&free->arena, &free->columns, arena_strdup(&free->arena, name));
	}
	if (node->allocatable.count > 0)
		own.in = pools_of(free, input, node, &scratch);
	if (!own.in)
		return;
	own.gpus = node_gpus(input, node, &scratch);
	for (size_t p = 0; p < input->pool_count; p++)
		if (own.in[p])
			free->gpus[p] = resource_sum(free->gpus[p], own.gpus);
	VEC_PUSH(&free->arena, &free->nodes, own);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pool_free_node *)a)->node->name,
		      ((const struct pool_free_node *)b)->node->name);
}

/* A Node that does not name a resource has none of it, and no limit of Pods. */
static int64_t allocatable(const struct node *node, const char *resource)
{
	const struct quantity *found = quantities_find(&node->allocatable, resource);

	if (!found)
		return strcmp(resource, POD_REQUEST_PODS) == 0 ? UNLIMITED : 0;
	return found->amount;
}

void pool_free_make(struct pool_free *free, const struct pool_free_input *input)
{
	pool_free_done(free);
	free->pool_count = input->pool_count;
	free->gpus = arena_array(&free->arena, input->pool_count, sizeof(*free->gpus));
	for (size_t i = 0; i < input->node_count; i++)
		add_node(free, input, &input->nodes[i]);
	if (free->nodes.count > 0)
		qsort(free->nodes.at, free->nodes.count, sizeof(*free->nodes.at), by_name);
	for (size_t i = 0; i < free->nodes.count; i++) {
		struct pool_free_node *own = &free->nodes.at[i];

		map_set(&free->by_name, own->node->name, (void *)(uintptr_t)(i + 1));
		own->left = arena_array(&free->arena, free->columns.count, sizeof(*own->left));
		for (size_t c = 0; c < free->columns.count; c++)
			own->left[c] = allocatable(own->node, free->columns.at[c]);
	}
}

void pool_free_done(struct pool_free *free)
{
	map_done(&free->by_name);
	map_done(&free->claimers);
	arena_done(&free->arena);
	*free = (struct pool_free){ .arena = ARENA_INIT };
}

size_t pool_free_node_of(const struct pool_free *free, const struct pod *pod)
{
	uintptr_t found = pod_request_holds(pod) ?
				  (uintptr_t)map_get(&free->by_name, pod->spec.node_name) :
				  0;

	return found - 1;
}

const int64_t *pool_free_amounts(const struct pool_free *free, const struct resources *request,
				 struct arena *arena)
{
	int64_t *amounts = arena_array(arena, free->columns.count, sizeof(*amounts));

	for (size_t i = 0; i < free->columns.count; i++)
		amounts[i] = resources_amount(request, free->columns.at[i], 0);
	return amounts;
}

void pool_free_count(struct pool_free *free, const struct pod *pod, int sign)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t index = pod ? pool_free_node_of(free, pod) : SIZE_MAX;
	const int64_t *amounts;
	struct resources request;
	const char *key;

	if (index == SIZE_MAX)
		return;
	if (pod->spec.claim_count > 0 && labels_value(&pod->labels, LABEL_CLUSTER)) {
		key = arena_printf(&scratch, "%s/%s", pod->namespace_, pod->name);
		if (sign < 0)
			(void)map_remove(&free->claimers, key);
		else
			map_set(&free->claimers, key, (void *)(uintptr_t)pod);
		return;
	}
	request = pod_request(&pod->spec, &scratch);
	amounts = pool_free_amounts(free, &request, &scratch);
	for (size_t c = 0; c < free->columns.count; c++)
		free->nodes.at[index].left[c] -= (__int128)sign * amounts[c];
}
