#include "core/nodes/pod_request.h"

#include <string.h>

struct sum {
	VEC(struct resource) items;
};

static void add(struct arena *arena, struct sum *sum, const struct quantity *quantity)
{
	struct resource *item = VEC_FIND(&sum->items, name, quantity->name);

	if (!item) {
		item = VEC_ADD(arena, &sum->items);
		item->name = quantity->name;
	}
	item->amount = resource_sum(item->amount, quantity->amount);
}

struct resources pod_request(const struct pod_spec *spec, struct arena *arena)
{
	static const struct quantity one_pod = { POD_REQUEST_PODS, "1", true, RESOURCE_UNIT };
	struct sum sum = { .items = { .at = NULL } };
	bool counted = false;

	ARRAY_EACH(const struct container, container, spec->containers, spec->container_count) {
		for (size_t i = 0; i < container->requests.count; i++)
			add(arena, &sum, &container->requests.at[i]);
		for (size_t i = 0; i < container->limits.count; i++)
			if (quantities_find(&container->requests, container->limits.at[i].name) ==
			    NULL)
				add(arena, &sum, &container->limits.at[i]);
		counted = counted || quantities_find(&container->requests, POD_REQUEST_PODS);
	}
	if (!counted)
		add(arena, &sum, &one_pod);
	return resources_sort(sum.items.at, sum.items.count);
}

bool pod_request_holds(const struct pod *pod)
{
	return pod->spec.node_name[0] != '\0' && strcmp(pod->phase, "Succeeded") != 0 &&
	       strcmp(pod->phase, "Failed") != 0;
}

static bool is_bytes(const char *resource)
{
	return strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0 ||
	       strncmp(resource, "hugepages-", strlen("hugepages-")) == 0;
}

const char *pod_request_text(struct arena *arena, const char *resource, int64_t amount)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
	size_t unit = 0;

	if (!is_bytes(resource))
		return resource_amount_text(arena, amount);
	while (unit + 1 < sizeof(units) / sizeof(units[0]) && amount >= 1024 * RESOURCE_UNIT) {
		amount /= 1024;
		unit++;
	}
	/* One decimal is enough in messages. */
	amount -= amount % (RESOURCE_UNIT / 10);
	return arena_printf(arena, "%s%s", resource_amount_text(arena, amount), units[unit]);
}
