#include "core/model/ray_work.h"

static struct resources copy_resources(const struct resources *from, struct arena *arena)
{
	struct resource *copy = arena_array(arena, from->count, sizeof(*copy));

	for (size_t i = 0; i < from->count; i++)
		copy[i] = (struct resource){ arena_strdup(arena, from->at[i].name),
					     from->at[i].amount };
	return (struct resources){ copy, from->count };
}

static struct labels copy_labels(const struct labels *from, struct arena *arena)
{
	struct label *copy = arena_array(arena, from->count, sizeof(*copy));

	for (size_t i = 0; i < from->count; i++)
		copy[i] = (struct label){ arena_strdup(arena, from->at[i].key),
					  arena_strdup(arena, from->at[i].value) };
	return (struct labels){ copy, from->count };
}

struct work_bundle work_bundle_copy(const struct work_bundle *from, struct arena *arena)
{
	return (struct work_bundle){ .resources = copy_resources(&from->resources, arena),
				     .selector = copy_labels(&from->selector, arena) };
}
