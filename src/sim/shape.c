#include "sim/shape.h"

#include <string.h>

#include "base/sort.h"
#include "base/text.h"

void shape_find_devices(struct sim_type *type)
{
	static const char *const names[] = { "GPU", "neuron_cores", "TPU", "NPU", "HPU" };

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		for (size_t i = 0; i < type->total.count; i++) {
			const struct resource *resource = &type->total.at[i];

			if (strcmp(resource->name, names[n]) != 0 || resource->amount == 0)
				continue;
			type->device_index = i;
			if (resource->amount % RESOURCE_UNIT == 0 &&
			    resource->amount / RESOURCE_UNIT <= SIM_DEVICES_MAX)
				type->devices = (size_t)(resource->amount / RESOURCE_UNIT);
			return;
		}
}

/* ---- label selectors ---- */

static bool selects(const struct label_selector *selector, const struct labels *labels)
{
	for (size_t i = 0; i < selector->count; i++) {
		const struct label_constraint *constraint = &selector->constraints[i];
		const char *value = labels_value(labels, constraint->key);
		bool has = value &&
			   text_is_among(value, constraint->values.at, constraint->values.count);

		if (constraint->operation != LABEL_OPERATOR_IN &&
		    constraint->operation != LABEL_OPERATOR_NOT_IN)
			return false;
		if (has != (constraint->operation == LABEL_OPERATOR_IN))
			return false;
	}
	return true;
}

static bool find_selector(const struct ray_request *request, const struct labels *labels,
			  unsigned *ret_selector)
{
	for (size_t s = 0; s < request->selector_count; s++)
		if (selects(&request->selectors[s], labels)) {
			*ret_selector = (unsigned)s;
			return true;
		}
	return request->selector_count == 0;
}

/* ---- amounts ---- */

static size_t index_of(const struct resources *resources, const char *name)
{
	for (size_t i = 0; i < resources->count; i++)
		if (strcmp(resources->at[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

/* An amount of more than one device is of whole devices (ray: ResourceInstanceSet). */
static bool is_of_devices(int64_t amount)
{
	return amount <= RESOURCE_UNIT || amount % RESOURCE_UNIT == 0;
}

static void make_fit(const struct sim_ray *ray, const struct sim_type *type,
		     const struct ray_request *request, bool single_devices, struct sim_fit *fit)
{
	struct sim_need *needs =
		arena_array(ray->world->arena, request->bundle_count, sizeof(*needs));

	fit->needs = needs;
	fit->possible = !request->problem && find_selector(request, &type->labels, &fit->selector);
	for (size_t i = 0; fit->possible && i < request->bundle_count; i++) {
		const struct bundle_entry *entry = &request->bundle[i];
		size_t index = index_of(&type->total, entry->name);

		if (entry->amount == 0)
			continue;
		if (index == SIZE_MAX || type->total.at[index].amount < entry->amount)
			fit->possible = false;
		needs[fit->need_count++] = (struct sim_need){ index, entry->amount };
		if (single_devices && type->devices > 0 && index == type->device_index) {
			fit->device_amount = entry->amount;
			fit->possible = fit->possible && is_of_devices(entry->amount);
		}
	}
}

void shape_make_bundle(struct sim_ray *ray, const struct ray_request *request, bool single_devices,
		       struct sim_bundle *bundle)
{
	size_t types = ray->cluster.group_count + 1;
	struct sim_fit *fits = arena_array(ray->world->arena, types, sizeof(*fits));

	bundle->request = request;
	bundle->fits = fits;
	for (size_t i = 0; i < request->bundle_count; i++)
		if (strcmp(request->bundle[i].name, "GPU") == 0)
			bundle->gpus = request->bundle[i].amount;
	for (size_t t = 0; t < types; t++)
		make_fit(ray, &ray->types[t], request, single_devices, &fits[t]);
}

/* ---- placement groups ---- */

static int64_t amount_of(const struct sim_bundle *bundle, const char *name)
{
	const struct bundle_entry *entry =
		ARRAY_FIND(bundle->request->bundle, bundle->request->bundle_count, name, name);

	return entry ? entry->amount : 0;
}

static int compare_bundles(const void *left, const void *right)
{
	static const char *const names[] = { "GPU", "memory", "CPU" };
	const struct sim_bundle *a = left, *b = right;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int64_t of_a = amount_of(a, names[i]), of_b = amount_of(b, names[i]);

		if (of_a != of_b)
			return of_a > of_b ? -1 : 1;
	}
	return 0;
}

void shape_sort_bundles(struct sim_bundle *bundles, size_t count)
{
	sort_stable(bundles, count, sizeof(*bundles), compare_bundles);
}

const struct sim_bundle *shape_whole(struct sim_ray *ray, const struct work_item *item)
{
	struct arena *arena = ray->world->arena;
	struct sim_bundle *whole = ARENA_NEW(arena, struct sim_bundle);
	struct ray_request *request = ARENA_NEW(arena, struct ray_request);
	struct resources sum = { .count = 0 };
	struct bundle_entry *entries;

	for (size_t b = 0; b < item->bundle_count; b++)
		for (size_t i = 0; i < item->bundles[b].bundle_count; i++) {
			const struct bundle_entry *entry = &item->bundles[b].bundle[i];
			int64_t before = resources_amount(&sum, entry->name, 0);

			sum = resources_with(arena, &sum, entry->name,
					     resource_sum(before, entry->amount));
		}
	*request = item->bundles[0];
	request->bundle = entries = arena_array(arena, sum.count, sizeof(*entries));
	request->bundle_count = sum.count;
	for (size_t i = 0; i < sum.count; i++)
		entries[i] = (struct bundle_entry){ sum.at[i].name,
						    (double)sum.at[i].amount / RESOURCE_UNIT,
						    sum.at[i].amount };
	shape_make_bundle(ray, request, false, whole);
	return whole;
}

static bool fits_all(const struct sim_class *class_, size_t type)
{
	if (class_->whole)
		return class_->whole->fits[type].possible;
	for (size_t b = 0; b < class_->bundle_count; b++)
		if (!class_->bundles[b].fits[type].possible)
			return false;
	return true;
}

size_t shape_first_group(const struct sim_ray *ray, const struct sim_class *class_)
{
	for (size_t g = 0; g < ray->cluster.group_count; g++)
		if (fits_all(class_, g + 1))
			return g;
	return SIZE_MAX;
}
