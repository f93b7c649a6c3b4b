#include "core/nodes/pod_request.h"

#include <string.h>

#include "base/sort.h"

/* One quantity of a container. */
struct part {
	const char *name;
	int64_t amount;
	size_t container;
	bool is_limit; /* counts without a request of that name */
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *first = a, *second = b;
	int order = strcmp(first->name, second->name);

	if (order == 0)
		order = (first->container > second->container) -
			(first->container < second->container);
	return order ? order : first->is_limit - second->is_limit;
}

static size_t add_parts(struct part *parts, const struct quantities *quantities, size_t container,
			bool is_limit)
{
	for (size_t i = 0; i < quantities->count; i++)
		parts[i] = (struct part){ quantities->at[i].name, quantities->at[i].amount,
					  container, is_limit };
	return quantities->count;
}

/* The quantities of all containers, by name and container. */
static struct part *list_parts(const struct pod_spec *spec, struct arena *arena, size_t *ret_count)
{
	struct part *parts;
	size_t count = 0;

	for (size_t i = 0; i < spec->container_count; i++)
		count += spec->containers[i].requests.count + spec->containers[i].limits.count;
	parts = arena_array(arena, count, sizeof(*parts));
	count = 0;
	for (size_t i = 0; i < spec->container_count; i++) {
		count += add_parts(&parts[count], &spec->containers[i].requests, i, false);
		count += add_parts(&parts[count], &spec->containers[i].limits, i, true);
	}
	sort_stable(parts, count, sizeof(*parts), compare_parts);
	*ret_count = count;
	return parts;
}

struct resources pod_request(const struct pod_spec *spec, struct arena *arena)
{
	size_t part_count, count = 0;
	const struct part *parts = list_parts(spec, arena, &part_count), *request = NULL;
	struct resource *items = arena_array(arena, part_count + 1, sizeof(*items));
	bool counted = false;

	for (size_t i = 0; i < part_count; i++) {
		const struct part *part = &parts[i];
		bool known = request && request->container == part->container &&
			     strcmp(request->name, part->name) == 0;

		if (!part->is_limit)
			request = part;
		else if (known)
			continue;
		if (count == 0 || strcmp(items[count - 1].name, part->name) != 0)
			items[count++].name = part->name;
		items[count - 1].amount = resource_sum(items[count - 1].amount, part->amount);
		counted = counted || (!part->is_limit && strcmp(part->name, POD_REQUEST_PODS) == 0);
	}
	/* The Pod itself, unless a request counts it. */
	if (!counted) {
		struct resource one = { .name = POD_REQUEST_PODS, .amount = RESOURCE_UNIT };

		for (size_t i = 0; i < count; i++)
			if (strcmp(items[i].name, POD_REQUEST_PODS) == 0) {
				items[i].amount = resource_sum(items[i].amount, one.amount);
				return (struct resources){ items, count };
			}
		items[count++] = one;
	}
	return resources_sort(items, count);
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
