#include "feature/pools/core/pool_match.h"

#include <string.h>

#include "core/capacity/accelerator_type.h"
#include "core/nodes/node_match.h"

/* The names of the newest Ray, whatever Ray the cluster has. */
#define NAMES_OF_RAY "2.60.0"

/* Limits of the Ray container, NULL without one, and the model of its Nodes, NULL when unknown. */
struct demanded {
	const struct quantities *limits;
	const char *type;
};

static bool matches(const struct gpu_pool_groups *groups, const struct pod_spec *spec,
		    const struct demanded *demanded)
{
	if (groups->accelerator_type[0] &&
	    (!demanded->type || strcmp(demanded->type, groups->accelerator_type) != 0))
		return false;
	if (groups->resource_name[0] &&
	    (!demanded->limits || !quantities_find(demanded->limits, groups->resource_name)))
		return false;
	return node_match_selector(&groups->node_selector,
				   &(const struct node){ .labels = spec->node_selector });
}

static const char *type_of(const struct pod_spec *spec, const struct pod_claims *claims,
			   struct arena *scratch)
{
	struct accelerator_type found;

	if (accelerator_type_of_pod(spec, NAMES_OF_RAY, scratch, &found))
		return found.type;
	return claims && *claims->product ? accelerator_type_of_name(claims->product, scratch) :
					    NULL;
}

size_t pool_match_spec(const struct gpu_pool *const *pools, size_t count,
		       const struct pod_spec *spec, const struct pod_claims *claims,
		       struct arena *scratch)
{
	struct demanded demanded = { .limits = spec->container_count > 0 ?
						       &spec->containers[0].limits :
						       NULL };
	struct quantities counted;
	bool known = false;

	if (claims && demanded.limits) {
		counted = pod_claims_with(demanded.limits, &claims->ray, scratch);
		demanded.limits = &counted;
	}
	for (size_t i = 0; i < count; i++) {
		if (!known && pools[i]->groups.accelerator_type[0]) {
			demanded.type = type_of(spec, claims, scratch);
			known = true;
		}
		if (matches(&pools[i]->groups, spec, &demanded))
			return i;
	}
	return POOL_NONE;
}

size_t pool_match_queue(const struct gpu_pool *pool, const struct labels *namespace_labels)
{
	const struct node named = { .labels = *namespace_labels };

	for (size_t q = 0; q < pool->queue_count; q++) {
		const struct gpu_pool_selector *selector = &pool->queues[q].namespaces;
		bool selected = node_match_selector(&selector->match_labels, &named);

		for (size_t i = 0; i < selector->expression_count; i++)
			selected &= node_match_expression(&selector->expressions[i], &named);
		if (selected)
			return q;
	}
	return pool->queue_count;
}

bool pool_match_node(const struct gpu_pool *pool, const struct node *node, struct arena *scratch)
{
	/* A Pod that may run only on Nodes like this one. */
	const struct container container = { .limits = node->allocatable };
	const struct pod_spec spec = { .containers = &container,
				       .container_count = 1,
				       .node_selector = node->labels };
	const struct gpu_pool *const pools[] = { pool };

	return pool_match_spec(pools, 1, &spec, NULL, scratch) == 0;
}
