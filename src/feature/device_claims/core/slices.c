#include "feature/device_claims/core/slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- the generations that count ---- */

static int compare_pools(const struct resource_slice *a, const struct resource_slice *b)
{
	int order = strcmp(a->driver, b->driver);

	return order != 0 ? order : strcmp(a->pool, b->pool);
}

/* The newest generation of a pool is first. */
static int compare_slices(const void *left, const void *right)
{
	const struct resource_slice *a = *(const struct resource_slice *const *)left;
	const struct resource_slice *b = *(const struct resource_slice *const *)right;
	int order = compare_pools(a, b);

	if (order != 0 || a->generation == b->generation)
		return order != 0 ? order : strcmp(a->name, b->name);
	return a->generation > b->generation ? -1 : 1;
}

/* The slices of the same generation of the same pool from `first` on. */
static size_t generation_size(const struct resource_slice *const *slices, size_t count,
			      size_t first)
{
	size_t end = first + 1;

	while (end < count && compare_pools(slices[first], slices[end]) == 0 &&
	       slices[first]->generation == slices[end]->generation)
		end++;
	return end - first;
}

struct device_list {
	VEC(struct slice_device) at;
};

static void add_generation(const struct resource_slice *const *slices, size_t count,
			   struct arena *arena, struct device_list *list)
{
	for (size_t i = 0; i < count; i++)
		for (size_t d = 0; d < slices[i]->device_count; d++)
			VEC_PUSH(arena, &list->at,
				 ((struct slice_device){ slices[i], &slices[i]->devices[d] }));
}

static void add_pools(const struct resource_slice *const *slices, size_t count, struct arena *arena,
		      struct device_list *list)
{
	for (size_t first = 0; first < count;) {
		size_t size = generation_size(slices, count, first);

		if ((int64_t)size == slices[first]->slice_count)
			add_generation(slices + first, size, arena, list);
		first += size;
		while (first < count && compare_pools(slices[first - 1], slices[first]) == 0)
			first++;
	}
}

/* ---- devices and their kinds ---- */

static int compare_keys(const char *const a[], const char *const b[], size_t count)
{
	int order = 0;

	for (size_t i = 0; i < count && order == 0; i++)
		order = strcmp(a[i], b[i]);
	return order;
}

static int compare_devices(const void *left, const void *right)
{
	const struct slice_device *a = left, *b = right;

	return compare_keys(
		(const char *const[]){ a->slice->driver, a->slice->pool, a->device->name },
		(const char *const[]){ b->slice->driver, b->slice->pool, b->device->name }, 3);
}

const struct slice_device *slice_devices_find(const struct slice_devices *devices,
					      const char *driver, const char *pool,
					      const char *name)
{
	const struct resource_slice slice = { .driver = driver, .pool = pool };
	const struct device device = { .name = name };
	const struct slice_device wanted = { &slice, &device };

	if (devices->count == 0)
		return NULL;
	return bsearch(&wanted, devices->at, devices->count, sizeof(wanted), compare_devices);
}

const char *slice_attribute(const struct slice_device *device, const char *name)
{
	const char *driver = device->slice->driver;
	size_t size = strlen(driver);

	ARRAY_EACH(const struct device_attribute, attribute, device->device->attributes,
		   device->device->attribute_count) {
		if (attribute->kind == ATTRIBUTE_STRING &&
		    strncmp(attribute->name, driver, size) == 0 && attribute->name[size] == '/' &&
		    strcmp(attribute->name + size + 1, name) == 0)
			return attribute->text;
	}
	return "";
}

static int compare_kinds(const void *left, const void *right)
{
	const struct slice_kind *a = left, *b = right;

	return compare_keys(
		(const char *const[]){ a->driver, a->type, a->profile, a->product, a->node },
		(const char *const[]){ b->driver, b->type, b->profile, b->product, b->node }, 5);
}

static struct slice_kind kind_of(const struct slice_device *device)
{
	const char *own = device->device->node_name;

	return (struct slice_kind){ .driver = device->slice->driver,
				    .type = slice_attribute(device, "type"),
				    .profile = slice_attribute(device, "profile"),
				    .product = slice_attribute(device, "productName"),
				    .node = *own != '\0' ? own : device->slice->node_name,
				    .count = 1 };
}

static void make_kinds(struct arena *arena, struct slice_devices *devices)
{
	struct slice_kind *kinds = arena_array(arena, devices->count, sizeof(*kinds));
	size_t count = 0;

	for (size_t i = 0; i < devices->count; i++)
		kinds[i] = kind_of(&devices->at[i]);
	if (devices->count > 0)
		qsort(kinds, devices->count, sizeof(*kinds), compare_kinds);
	for (size_t i = 0; i < devices->count; i++) {
		if (count > 0 && compare_kinds(&kinds[count - 1], &kinds[i]) == 0)
			kinds[count - 1].count++;
		else
			kinds[count++] = kinds[i];
	}
	devices->kinds = kinds;
	devices->kind_count = count;
}

void slice_devices_make(const struct resource_slice *slices, size_t count, struct arena *arena,
			struct slice_devices *ret_devices)
{
	const struct resource_slice **sorted = arena_array(arena, count, sizeof(*sorted));
	struct device_list list = { .at = { .at = NULL } };

	for (size_t i = 0; i < count; i++)
		sorted[i] = &slices[i];
	if (count > 0)
		qsort(sorted, count, sizeof(*sorted), compare_slices);
	add_pools(sorted, count, arena, &list);
	if (list.at.count > 0)
		qsort(list.at.at, list.at.count, sizeof(*list.at.at), compare_devices);
	*ret_devices = (struct slice_devices){ .at = list.at.at, .count = list.at.count };
	make_kinds(arena, ret_devices);
}
