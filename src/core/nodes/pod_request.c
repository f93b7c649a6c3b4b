#include "core/nodes/pod_request.h"

#include <string.h>

#include "base/sort.h"

/* Of the Pod as a whole: cpu, memory and a few sizes of huge pages. */
#define POD_AMOUNTS_MAX 8

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

/* The quantities of all containers, by name and container; with_parts: and those by annotation. */
static struct part *list_parts(const struct pod_spec *spec, bool with_parts, struct arena *arena,
			       size_t *ret_count)
{
	struct part *parts;
	size_t count = 0;

	for (size_t i = 0; i < spec->container_count; i++)
		count += spec->containers[i].requests.count + spec->containers[i].limits.count;
	count += with_parts ? spec->gpu_shares.count : 0;
	parts = arena_array(arena, count, sizeof(*parts));
	count = 0;
	for (size_t i = 0; i < spec->container_count; i++) {
		count += add_parts(&parts[count], &spec->containers[i].requests, i, false);
		count += add_parts(&parts[count], &spec->containers[i].limits, i, true);
	}
	if (with_parts)
		count += add_parts(&parts[count], &spec->gpu_shares, 0, false);
	sort_stable(parts, count, sizeof(*parts), compare_parts);
	*ret_count = count;
	return parts;
}

/* A Pod may give these as a whole. */
static bool is_of_pod(const char *resource)
{
	return strcmp(resource, "cpu") == 0 || strcmp(resource, "memory") == 0 ||
	       strncmp(resource, "hugepages-", strlen("hugepages-")) == 0;
}

static struct resource *find(struct resource *items, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(items[i].name, name) == 0)
			return &items[i];
	return NULL;
}

/* A request of the Pod replaces the sum of its containers, and a limit does when none of them asks for the
 * resource. `items` has room for POD_AMOUNTS_MAX more of each. */
static size_t add_pod(struct resource *items, size_t count, const struct container_resources *pod)
{
	for (size_t i = 0; i < pod->limits.count && i < POD_AMOUNTS_MAX; i++) {
		const struct quantity *limit = &pod->limits.at[i];

		if (is_of_pod(limit->name) && !find(items, count, limit->name))
			items[count++] =
				(struct resource){ .name = limit->name, .amount = limit->amount };
	}
	for (size_t i = 0; i < pod->requests.count && i < POD_AMOUNTS_MAX; i++) {
		const struct quantity *request = &pod->requests.at[i];
		struct resource *item = find(items, count, request->name);

		if (!is_of_pod(request->name))
			continue;
		if (!item) {
			item = &items[count++];
			item->name = request->name;
		}
		item->amount = request->amount;
	}
	return count;
}

static struct resources sum_parts(const struct pod_spec *spec, bool with_parts, struct arena *arena)
{
	size_t part_count, count = 0;
	const struct part *parts = list_parts(spec, with_parts, arena, &part_count),
			  *request = NULL;
	struct resource *items =
		arena_array(arena, part_count + 2 * POD_AMOUNTS_MAX + 1, sizeof(*items));
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
	count = add_pod(items, count, &spec->resources);
	/* The Pod itself, unless a request counts it. */
	if (!counted) {
		struct resource *pods = find(items, count, POD_REQUEST_PODS);

		if (!pods) {
			pods = &items[count++];
			pods->name = POD_REQUEST_PODS;
		}
		pods->amount = resource_sum(pods->amount, RESOURCE_UNIT);
	}
	return resources_sort(items, count);
}

struct resources pod_request(const struct pod_spec *spec, struct arena *arena)
{
	return sum_parts(spec, false, arena);
}

struct resources pod_request_with_parts(const struct pod_spec *spec, struct arena *arena)
{
	return sum_parts(spec, true, arena);
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
