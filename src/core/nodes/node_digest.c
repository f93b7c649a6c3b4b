#include "core/nodes/node_digest.h"

#include <string.h>

#include "core/model/field.h"
#include "feature_model.h"

static const struct field taint_fields[] = {
	FIELD_TEXT(struct taint, key, "key"),
	FIELD_TEXT(struct taint, value, "value"),
	FIELD_TEXT(struct taint, effect, "effect"),
	FIELD_TIME(struct taint, added, "timeAdded"),
	FIELD_END,
};

static const struct field condition_fields[] = {
	FIELD_TEXT(struct condition, type, "type"),
	FIELD_TEXT(struct condition, status, "status"),
	FIELD_TEXT(struct condition, reason, "reason"),
	FIELD_TEXT(struct condition, message, "message"),
	FIELD_TIME(struct condition, last_transition, "lastTransitionTime"),
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

static bool is_kept(const struct condition *condition)
{
	static const struct {
		const char *type, *status;
	} kept[] = {
#define X(type, status, source) { type, status },
		FEATURE_NODE_CONDITIONS(X)
#undef X
			{ NULL, NULL },
	};

	for (size_t i = 0; kept[i].type; i++)
		if (strcmp(condition->type, kept[i].type) == 0 &&
		    strcmp(condition->status, kept[i].status) == 0)
			return true;
	return false;
}

void node_digest(const struct node *node, struct arena *arena, struct node *ret_node)
{
	VEC(struct condition) conditions = { .at = NULL };
	const struct condition *ready =
		condition_find(node->conditions, node->condition_count, "Ready");

	if (ready)
		VEC_PUSH(arena, &conditions,
			 ((struct condition){ .type = "Ready",
					      .status = ready->status,
					      .reason = "",
					      .message = "",
					      .last_transition = TIME_NONE }));
	ARRAY_EACH(const struct condition, condition, node->conditions, node->condition_count)
		if (is_kept(condition))
			VEC_PUSH(arena, &conditions, *condition);
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
		.conditions = conditions.at,
		.condition_count = conditions.count,
	};
	field_own(copied_fields, ret_node, arena);
}
