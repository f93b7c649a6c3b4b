#include "feature/requests/core/cluster_shape.h"

#include <string.h>

#include "core/decide/template_look.h"

#define REPLICAS_MAX INT32_MAX

/* In place: only amounts above 0, none that belongs to one node. */
static struct resources shared(struct arena *arena, const struct resources *all,
			       const struct ray_node *node)
{
	struct resource *items = arena_array(arena, all->count, sizeof(*items));
	size_t count = 0;

	VEC_EACH(const struct resource, item, all)
		if (item->amount > 0 && (!node || !template_look_is_own(node, item->name)))
			items[count++] = *item;
	return (struct resources){ items, count };
}

/* With amounts that workers had beyond the template, or have less of: also when no demand asks for them now. */
static struct resources with_seen(const struct offer *offer, const struct memory_template *seen,
				  struct resources resources)
{
	if (!seen)
		return resources;
	VEC_EACH(const struct resource, item, &seen->resources)
		resources = resources_with(offer->arena, &resources, item->name, item->amount);
	return resources;
}

static struct shape_group of_group(const struct offer *offer, const struct group *group,
				   const struct memory_template *seen)
{
	const struct group_offer *own = &offer->groups[group->index];
	struct resources resources = own->seen_capacity.resources;
	int64_t most = group->spec->max_replicas;

	if (own->inferred.type)
		resources = resources_with(offer->arena, &resources, own->inferred.resource,
					   RESOURCE_UNIT);
	resources = with_seen(offer, seen, resources);
	return (struct shape_group){
		.name = group->spec->name,
		.resources = shared(offer->arena, &resources, NULL),
		.minimum = group->spec->suspend ? 0 : group->min_replicas * group->hosts,
		.maximum = group->spec->suspend                ? 0 :
			   most >= REPLICAS_MAX / group->hosts ? CLUSTER_SHAPE_NO_MAXIMUM :
								 most * group->hosts,
	};
}

static int64_t max_gpus(const struct snapshot *snapshot)
{
	int64_t most = snapshot->settings.max_gpus_per_cluster > 0 ?
			       snapshot->settings.max_gpus_per_cluster * RESOURCE_UNIT :
			       -1;

	if (snapshot->autoscaler && snapshot->autoscaler->has_max_gpus &&
	    (most < 0 || snapshot->autoscaler->max_gpus < most))
		most = snapshot->autoscaler->max_gpus;
	if (snapshot->pools && snapshot->pools->most > 0 &&
	    (most < 0 || snapshot->pools->most < most))
		most = snapshot->pools->most;
	return most;
}

const struct cluster_shape *cluster_shape_make(const struct offer *offer, const char **ret_why)
{
	const struct facts *facts = offer->facts;
	struct shape_group *groups =
		arena_array(offer->arena, facts->group_count + 1, sizeof(*groups));

	size_t next = 0; /* of the templates, which are in the order of the groups */

	*ret_why = "the head has not answered";
	if (!facts->ray_reachable || !facts->head_node)
		return NULL;
	groups[0] = (struct shape_group){
		.name = HEAD_GROUP_NAME,
		.resources = shared(offer->arena, &facts->head_node->total, facts->head_node),
		.minimum = 1,
		.maximum = 1,
	};
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count) {
		const struct memory_template *seen = &offer->memory.templates.at[next];

		if (next == offer->memory.templates.count ||
		    strcmp(seen->group, group->spec->name) != 0)
			seen = NULL;
		next += seen != NULL;
		if (group->problem || offer->groups[group->index].model_open) {
			*ret_why = group->problem ?
					   group->problem :
					   arena_printf(offer->arena,
							"the first worker of group %s will show "
							"the type of its accelerator",
							group->spec->name);
			return NULL;
		}
		groups[group->index + 1] = of_group(offer, group, seen);
	}
	return ARENA_PUT(offer->arena, (struct cluster_shape){
					       .groups = groups,
					       .count = facts->group_count + 1,
					       .max_gpus = max_gpus(offer->snapshot),
				       });
}
