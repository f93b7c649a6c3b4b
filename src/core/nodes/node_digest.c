#include "core/nodes/node_digest.h"

#include "core/model/field.h"

static const struct field taint_fields[] = {
	FIELD_TEXT(struct taint, key, "key"),
	FIELD_TEXT(struct taint, value, "value"),
	FIELD_TEXT(struct taint, effect, "effect"),
	FIELD_END,
};

static const struct field condition_fields[] = {
	FIELD_TEXT(struct condition, status, "status"),
	FIELD_END,
};

static const struct field copied_fields[] = {
	FIELD_TEXT(struct node, name, "name"),
	FIELD_TEXT(struct node, address, "address"),
	FIELD_LABELS(struct node, labels, "labels"),
	FIELD_QUANTITIES(struct node, capacity, "capacity"),
	FIELD_QUANTITIES(struct node, allocatable, "allocatable"),
	FIELD_LIST(struct node, taints, taint_count, taint_fields, "taints"),
	FIELD_LIST(struct node, conditions, condition_count, condition_fields, "conditions"),
	FIELD_END,
};

void node_digest(const struct node *node, struct arena *arena, struct node *ret_node)
{
	const struct condition *ready =
		condition_find(node->conditions, node->condition_count, "Ready");
	const struct condition condition = { .type = "Ready",
					     .status = ready ? ready->status : "",
					     .reason = "",
					     .message = "",
					     .last_transition = TIME_NONE };

	*ret_node = (struct node){
		.name = node->name,
		.resource_version = "",
		.address = node->address,
		.labels = node->labels,
		.capacity = node->capacity,
		.allocatable = node->allocatable,
		.taints = node->taints,
		.taint_count = node->taint_count,
		.unschedulable = node->unschedulable,
		.conditions = &condition,
		.condition_count = ready ? 1 : 0,
	};
	field_own(copied_fields, ret_node, arena);
}
