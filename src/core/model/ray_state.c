#include "core/model/ray_state.h"

#include <string.h>

#include "base/text.h"

int64_t ray_idle_duration_ms(int64_t reported_ms)
{
	if (reported_ms < 0)
		return 0;
	return reported_ms < RAY_IDLE_DURATION_MAX_MS ? reported_ms : RAY_IDLE_DURATION_MAX_MS;
}

bool label_selector_holds(const struct label_selector *selector, const struct labels *labels)
{
	ARRAY_EACH(const struct label_constraint, constraint, selector->constraints,
		   selector->count) {
		const char *value = labels_value(labels, constraint->key);
		bool has = value &&
			   text_is_among(value, constraint->values.at, constraint->values.count);

		if (constraint->operation == LABEL_OPERATOR_IN ?
			    !has :
			    has || constraint->operation != LABEL_OPERATOR_NOT_IN)
			return false;
	}
	return true;
}

const char *placement_strategy_name(enum placement_strategy strategy)
{
	static const char *const names[PLACEMENT_STRATEGIES] = { "PACK", "SPREAD", "STRICT_PACK",
								 "STRICT_SPREAD" };

	return names[strategy];
}

bool locality_is_given(const struct locality *locality)
{
	return locality->label && *locality->label;
}

int64_t ray_request_gpus(const struct ray_request *request)
{
	const struct bundle_entry *gpus =
		ARRAY_FIND(request->bundle, request->bundle_count, name, "GPU");

	return gpus ? gpus->amount : 0;
}

bool ray_node_is_head(const struct ray_node *node)
{
	return resources_find(&node->total, RAY_HEAD_RESOURCE) != NULL;
}

bool ray_node_is_alive(const struct ray_node *node)
{
	return node->status == RAY_NODE_RUNNING || node->status == RAY_NODE_IDLE ||
	       node->status == RAY_NODE_DRAINING;
}

int64_t ray_state_living(const struct ray_state *state)
{
	int64_t count = 0;

	ARRAY_EACH(const struct ray_node, node, state->nodes, state->node_count)
		count += ray_node_is_alive(node);
	return count;
}

/* Whether the resource is implicit: it is in no total, and every node has 1 of it until it is
 * used. */
static bool is_implicit(const char *name)
{
	return strncmp(name, RAY_IMPLICIT_RESOURCE_PREFIX,
		       sizeof(RAY_IMPLICIT_RESOURCE_PREFIX) - 1) == 0;
}

bool ray_node_is_unused(const struct ray_node *node)
{
	return (node->status == RAY_NODE_IDLE || node->activity.count == 0) &&
	       ray_node_is_free(node);
}

bool ray_node_is_free(const struct ray_node *node)
{
	if (node->problem)
		return false;
	VEC_EACH(const struct resource, total, &node->total) {
		if (resources_amount(&node->available, total->name, 0) < total->amount)
			return false;
	}
	VEC_EACH(const struct resource, available, &node->available) {
		if (is_implicit(available->name) && available->amount < RESOURCE_UNIT &&
		    !resources_find(&node->total, available->name))
			return false;
	}
	return true;
}
