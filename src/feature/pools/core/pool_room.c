#include "feature/pools/core/pool_room.h"

#include <string.h>

#include "base/memory.h"
#include "core/nodes/pod_request.h"

/* As of a Pod with all that the Node has, which may run only on Nodes like it. */
static int64_t node_gpus(const struct pool_room_input *input, const struct node *node,
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

static bool *pools_of(struct pool_room *free, const struct pool_room_input *input,
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

/* The Nodes of any pool; ret_in: by pool, of each. */
static struct node *nodes_of(struct pool_room *free, const struct pool_room_input *input,
			     bool **ret_in, size_t *ret_count)
{
	struct node *nodes = arena_array(&free->arena, input->node_count, sizeof(*nodes));

	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	*ret_count = 0;
	for (size_t i = 0; i < input->node_count; i++) {
		bool *in = input->nodes[i].allocatable.count > 0 ?
				   pools_of(free, input, &input->nodes[i], &scratch) :
				   NULL;

		arena_reset(&scratch);
		if (!in)
			continue;
		ret_in[*ret_count] = in;
		nodes[*ret_count] = input->nodes[i];
		if (input->node_fields)
			field_own(input->node_fields, &nodes[*ret_count], &free->arena);
		nodes[*ret_count].address = "";
		nodes[(*ret_count)++].problems.count = 0;
	}
	return nodes;
}

void pool_room_make(struct pool_room *free, const struct pool_room_input *input)
{
	AUTO(arena_done) struct arena lists = ARENA_INIT;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool **in = arena_array(&lists, input->node_count, sizeof(*in));
	struct node *nodes;
	size_t count;

	pool_room_done(free);
	free->pool_count = input->pool_count;
	free->gpus = arena_array(&free->arena, input->pool_count, sizeof(*free->gpus));
	nodes = nodes_of(free, input, in, &count);
	free->own = nodes;
	node_capacities_init(&free->capacities, nodes, count, input->devices, &free->arena);
	free->capacities.devices = NULL; /* an allocation has the table of its time */
	free->nodes = arena_array(&free->arena, count, sizeof(*free->nodes));
	for (size_t i = 0; i < count; i++) {
		const struct node *node = free->capacities.at[i].node;
		struct pool_room_node *own = &free->nodes[i];

		*own = (struct pool_room_node){ node_gpus(input, node, &scratch),
						in[node - nodes] };
		arena_reset(&scratch);
		for (size_t p = 0; p < input->pool_count; p++)
			if (own->in[p])
				free->gpus[p] = resource_sum(free->gpus[p], own->gpus);
	}
}

void pool_room_done(struct pool_room *free)
{
	map_done(&free->claimers);
	arena_done(&free->arena);
	*free = (struct pool_room){ .arena = ARENA_INIT };
}

void pool_room_cordon(struct pool_room *free, const char *name, bool unschedulable)
{
	const struct node_capacity *found = node_capacities_find(&free->capacities, name);

	if (found)
		free->own[found->node - free->own].unschedulable = unschedulable;
}

size_t pool_room_node_of(const struct pool_room *free, const struct pod *pod)
{
	const struct node_capacity *found =
		pod_request_holds(pod) ?
			node_capacities_find(&free->capacities, pod->spec.node_name) :
			NULL;

	return found ? (size_t)(found - free->capacities.at) : SIZE_MAX;
}

void pool_room_count(struct pool_room *free, const struct pod *pod, int sign)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *key;

	if (!pod)
		return;
	if (pod->spec.claim_count == 0 || !labels_value(&pod->labels, LABEL_CLUSTER)) {
		(void)node_capacities_count(&free->capacities, pod, sign);
		return;
	}
	if (pool_room_node_of(free, pod) == SIZE_MAX)
		return;
	key = arena_printf(&scratch, "%s/%s", pod->namespace_, pod->name);
	if (sign < 0)
		(void)map_remove(&free->claimers, key);
	else
		map_set(&free->claimers, key, pod);
}
