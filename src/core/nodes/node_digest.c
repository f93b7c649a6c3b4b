#include "core/nodes/node_digest.h"

static struct labels copy_labels(struct arena *arena, const struct labels *labels)
{
	struct label *copy = arena_array(arena, labels->count, sizeof(*copy));

	for (size_t i = 0; i < labels->count; i++)
		copy[i] = (struct label){ arena_strdup(arena, labels->at[i].key),
					  arena_strdup(arena, labels->at[i].value) };
	return (struct labels){ copy, labels->count };
}

static struct quantities copy_quantities(struct arena *arena, const struct quantities *quantities)
{
	struct quantity *copy = arena_array(arena, quantities->count, sizeof(*copy));

	for (size_t i = 0; i < quantities->count; i++) {
		copy[i] = quantities->at[i];
		copy[i].name = arena_strdup(arena, copy[i].name);
		copy[i].text = arena_strdup(arena, copy[i].text);
	}
	return (struct quantities){ copy, quantities->count };
}

static const struct taint *copy_taints(struct arena *arena, const struct node *node)
{
	struct taint *copy = arena_array(arena, node->taint_count, sizeof(*copy));

	for (size_t i = 0; i < node->taint_count; i++)
		copy[i] = (struct taint){ arena_strdup(arena, node->taints[i].key),
					  arena_strdup(arena, node->taints[i].value),
					  arena_strdup(arena, node->taints[i].effect),
					  node->taints[i].added };
	return copy;
}

void node_digest(const struct node *node, struct arena *arena, struct node *ret_node)
{
	const struct condition *ready =
		condition_find(node->conditions, node->condition_count, "Ready");
	struct node copy = {
		.name = arena_strdup(arena, node->name),
		.resource_version = "",
		.address = arena_strdup(arena, node->address),
		.labels = copy_labels(arena, &node->labels),
		.capacity = copy_quantities(arena, &node->capacity),
		.allocatable = copy_quantities(arena, &node->allocatable),
		.taints = copy_taints(arena, node),
		.taint_count = node->taint_count,
		.unschedulable = node->unschedulable,
	};

	if (ready) {
		struct condition *condition = ARENA_PUT(
			arena, (struct condition){ .type = "Ready",
						   .status = arena_strdup(arena, ready->status),
						   .reason = "",
						   .message = "",
						   .last_transition = TIME_NONE });

		copy.conditions = condition;
		copy.condition_count = 1;
	}
	*ret_node = copy;
}
