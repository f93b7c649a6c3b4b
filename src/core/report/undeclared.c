#include "core/report/undeclared.h"

#include <string.h>

/* Cores of one Inferentia2 or Trainium device. */
#define CORES_OF_NEURON_DEVICE 2

/* "mig-1g.5gb" of "nvidia.com/mig-1g.5gb": the name of a profile in Ray. */
static const char *short_name(const char *resource)
{
	const char *slash = strchr(resource, '/');

	return slash ? slash + 1 : resource;
}

/* Whether Ray would have the wanted resource if the group declared this device. */
static bool stands_for(const struct device_held *held, const char *wanted)
{
	if (strcmp(wanted, held->resource) == 0 || strcmp(wanted, short_name(held->resource)) == 0)
		return true;
	return !held->ray_resource && held->row->share != DEVICE_QUALIFIER &&
	       strcmp(wanted, held->row->ray_resource) == 0;
}

/* The number of `wanted` that a worker then has; a share of one device's memory is one GPU. */
static int64_t whole_count(const struct device_held *held, const char *wanted)
{
	int64_t count = (held->amount + RESOURCE_UNIT - 1) / RESOURCE_UNIT;

	if (strcmp(wanted, held->row->ray_resource) != 0)
		return count;
	if (held->row->share == DEVICE_MEMORY)
		return 1;
	return held->row->kind == DEVICE_NEURON && held->row->share == DEVICE_WHOLE ?
		       count * CORES_OF_NEURON_DEVICE :
		       count;
}

/* KubeRay refuses a group that has resources in both places. */
static bool params_have_resources(const struct group *group)
{
	static const char *const names[] = { "num-cpus", "num-gpus", "memory", "resources" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (labels_value(&group->spec->ray_start_params, names[i]))
			return true;
	return false;
}

static const char *line(const struct offer *offer, const struct group *group,
			const struct device_held *held, const char *wanted)
{
	long long count = (long long)whole_count(held, wanted);

	if (group->spec->resources.count == 0 && strcmp(wanted, "GPU") == 0)
		return arena_printf(offer->arena,
				    "num-gpus: \"%lld\" into the rayStartParams of the group",
				    count);
	wanted = resource_name_text(offer->arena, wanted);
	if (group->spec->resources.count == 0 && params_have_resources(group))
		return arena_printf(
			offer->arena,
			"resources: \"'{\\\"%s\\\": %lld}'\" into the rayStartParams of the group",
			wanted, count);
	return arena_printf(offer->arena, "%s: \"%lld\" into the resources of the group", wanted,
			    count);
}

static const char *say(const struct offer *offer, const struct group *group, const char *wanted)
{
	const struct device_model *device = &offer->groups[group->index].seen_capacity.device;

	ARRAY_EACH(const struct device_held, held, device->held, device->held_count) {
		if (stands_for(held, wanted))
			return arena_printf(
				offer->arena,
				"; a worker of %s holds %s, which is not declared to Ray as "
				"%s: write %s",
				group->spec->name, resource_name_text(offer->arena, held->resource),
				resource_name_text(offer->arena, wanted),
				line(offer, group, held, wanted));
	}
	return "";
}

const char *undeclared_text(const struct offer *offer, const struct ray_request *request)
{
	const char *text = "";

	for (size_t g = 0; g < offer->facts->group_count && *text == '\0'; g++)
		for (size_t i = 0; i < request->bundle_count && *text == '\0'; i++) {
			const struct bundle_entry *entry = &request->bundle[i];

			if (entry->amount > 0 &&
			    resources_amount(&offer->groups[g].seen_capacity.resources, entry->name,
					     0) == 0)
				text = say(offer, &offer->facts->groups[g], entry->name);
		}
	return text;
}
