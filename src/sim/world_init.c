#include "sim/world_init.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/capacity/capacity.h"
#include "core/capacity/resize_limits.h"
#include "sim/baseline.h"

#define GPUS_MAX (1000000 * RESOURCE_UNIT) /* of one worker: sums over all of them fit int64 */
#define KEY_SIZE 128
#define NAMES_MAX 10 /* of RayClusters in an error */

/* The needs of a shape of work on each type of worker, compiled once: then a fit costs a few
 * comparisons. The rules are Ray's (core/schedule has the same ones): the amount of every resource
 * of a bundle; label selectors in order, the first that matches counts. */

/* The resource whose single devices Ray tracks: GPU, else the first of its other accelerators
 * (ray 2.60: predefined_unit_instance_resources, custom_unit_instance_resources). */
static void shape_find_devices(struct sim_type *type)
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

static bool find_selector(const struct ray_request *request, const struct labels *labels,
			  unsigned *ret_selector)
{
	for (size_t s = 0; s < request->selector_count; s++)
		if (label_selector_holds(&request->selectors[s], labels)) {
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
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		size_t index = index_of(&type->total, entry->name);

		if (!fit->possible)
			return;
		if (entry->amount == 0)
			continue;
		if (index == SIZE_MAX ||
		    resources_amount(&type->most, entry->name, 0) < entry->amount)
			fit->possible = false;
		needs[fit->need_count++] = (struct sim_need){ index, entry->amount };
		if (single_devices && type->devices > 0 && index == type->device_index) {
			fit->device_amount = entry->amount;
			fit->possible = fit->possible && is_of_devices(entry->amount);
		}
	}
}

/* single_devices: Ray takes its amounts from single devices; not of a sum of bundles. */
static void shape_make_bundle(struct sim_ray *ray, const struct ray_request *request,
			      bool single_devices, struct sim_bundle *bundle)
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

/* The order in which Ray places the bundles of a group (SortRequiredResources): by GPUs, memory, CPUs,
 * the largest first; equal ones keep their order. */
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

/* The sum of the item's bundles as one bundle, with the label selectors of the first. */
static const struct sim_bundle *shape_whole(struct sim_ray *ray, const struct work_item *item)
{
	struct arena *arena = ray->world->arena;
	struct sim_bundle *whole = ARENA_NEW(arena, struct sim_bundle);
	struct ray_request *request = ARENA_NEW(arena, struct ray_request);
	struct resources sum = { .count = 0 };
	struct bundle_entry *entries;

	for (size_t b = 0; b < item->bundle_count; b++)
		ARRAY_EACH(const struct bundle_entry, entry, item->bundles[b].bundle,
			   item->bundles[b].bundle_count) {
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

/* The first group whose empty workers fit every bundle (all at once, with STRICT_PACK); SIZE_MAX: none. */
static size_t shape_first_group(const struct sim_ray *ray, const struct sim_class *class_)
{
	for (size_t g = 0; g < ray->cluster.group_count; g++)
		if (fits_all(class_, g + 1))
			return g;
	return SIZE_MAX;
}

/* ---- the input ----
 * Clusters, work, pools and recorded starts are checked one by one when their files are read
 * (codec/objects); here are the times of flags, and sums over all of them. */

static int check_models(const struct sim_models *models, struct err *err)
{
	const struct {
		const char *name;
		int64_t value, minimum;
	} times[] = {
		{ "scan_interval_ms", models->scan_interval_ms, 1 },
		{ "operator_ms", models->operator_ms, 0 },
		{ "pod_start_ms", models->pod_start_ms, 0 },
		{ "register_ms", models->register_ms, 0 },
		{ "terminate_ms", models->terminate_ms, 0 },
		{ "resize_ms", models->resize_ms, 0 },
		{ "process_start_ms", models->process_start_ms, 0 },
		{ "ray_pass_ms", models->ray_pass_ms, 0 },
	};
	int64_t nodes = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].value < times[i].minimum || times[i].value > SIM_TIME_MAX_MS)
			return err_set(err, ERR_INPUT,
				       "models.%s: must be %lld to %lld ms, got %lld",
				       times[i].name, (long long)times[i].minimum,
				       (long long)SIM_TIME_MAX_MS, (long long)times[i].value);
	for (size_t i = 0; i < models->recorded_start_count; i++)
		if (models->recorded_start_ms[i] < 0 ||
		    models->recorded_start_ms[i] > SIM_TIME_MAX_MS)
			return err_set(err, ERR_INPUT,
				       "models: recorded start time %zu is %lld ms; remove it", i,
				       (long long)models->recorded_start_ms[i]);
	for (size_t i = 0; i < models->pools.count; i++) {
		nodes += models->pools.at[i].max_nodes;
		if (nodes > SIM_PODS_MAX)
			return err_set(
				err, ERR_LIMIT,
				"pool %s: maxNodes of all pools are above %d together; lower them",
				models->pools.at[i].node.name, SIM_PODS_MAX);
	}
	return 0;
}

/* ---- RayClusters ---- */

static const char *name_of_type(const struct sim_ray *ray, size_t type)
{
	return type == 0 ? HEAD_GROUP_NAME : ray->groups[type - 1].name;
}

static struct resources at_least(struct arena *arena, const struct resources *total,
				 const char *name, int64_t amount)
{
	int64_t own = resources_amount(total, name, 0);

	return resources_with(arena, total, name, own > amount ? own : amount);
}

/* With the limits of an in-place resize. */
static struct resources most_of(const struct sim_ray *ray, size_t index,
				const struct resources *total)
{
	struct arena *arena = ray->world->arena;
	const struct resize_group *limits =
		resize_limits_find(&ray->cluster, name_of_type(ray, index));
	struct resources most;

	if (!baseline_resizes(ray) || !limits ||
	    resize_limits_problem(&ray->cluster, limits, arena))
		return *total;
	most = at_least(arena, total, "CPU", limits->max_cpu);
	return at_least(arena, &most, "memory", limits->max_memory);
}

static void make_type(struct sim_ray *ray, size_t index, struct sim_type *type)
{
	struct sim_world *world = ray->world;
	const struct settings *settings = ray->input->settings;
	struct capacity capacity;

	if (index == 0)
		capacity_of_head(&ray->cluster, settings, world->input->devices, world->arena,
				 &capacity);
	else
		capacity_of_group(&ray->cluster, index - 1, settings, world->input->devices,
				  world->arena, &capacity);
	if (index == 0)
		capacity.resources = resources_with(world->arena, &capacity.resources,
						    RAY_HEAD_RESOURCE, RESOURCE_UNIT);
	type->total = capacity.resources;
	type->most = most_of(ray, index, &type->total);
	type->labels = capacity.labels;
	type->gpus = capacity.gpu_amount;
	shape_find_devices(type);
}

static int check_groups(const struct sim_ray *ray, struct err *err)
{
	for (size_t t = 0; t <= ray->cluster.group_count; t++)
		if (ray->types[t].gpus > GPUS_MAX)
			return err_set(err, ERR_INPUT,
				       "RayCluster %s, group %s: more than %lld GPUs per worker; "
				       "correct its resources",
				       ray->cluster.name, name_of_type(ray, t),
				       (long long)(GPUS_MAX / RESOURCE_UNIT));
	return 0;
}

static void make_cluster(struct sim_ray *ray)
{
	struct arena *arena = ray->world->arena;
	struct ray_cluster *cluster = &ray->cluster;

	*cluster = *ray->input->cluster;
	ray->groups = arena_array(arena, cluster->group_count, sizeof(*ray->groups));
	for (size_t g = 0; g < cluster->group_count; g++)
		ray->groups[g] = cluster->groups[g];
	cluster->groups = ray->groups;
	if (cluster->uid[0] == '\0')
		cluster->uid = arena_printf(arena, "simulated-%zu", ray->number);
	cluster->head_pod_name = arena_printf(arena, "%s-head", cluster->name);
	ray->to_delete = arena_array(arena, cluster->group_count, sizeof(*ray->to_delete));
	ray->accounts = arena_array(arena, cluster->group_count + 1, sizeof(*ray->accounts));
	ray->starts_used = arena_array(arena, cluster->group_count, sizeof(*ray->starts_used));
	ray->types = arena_array(arena, cluster->group_count + 1, sizeof(*ray->types));
	for (size_t t = 0; t <= cluster->group_count; t++)
		make_type(ray, t, &ray->types[t]);
	ray->next_pass_ms = ray->due_ms = ray->age_due_ms = SIM_NEVER_MS;
	for (size_t t = 0; t <= cluster->group_count; t++)
		ray->accounts[t].result = (struct sim_group){
			.cluster = ray->input->name,
			.name = name_of_type(ray, t),
			.worker_gpus = ray->types[t].gpus,
		};
}

/* ---- classes ---- */

static const char *whole_name(const struct sim_ray *ray)
{
	return arena_printf(ray->world->arena, "%s/%s", ray->input->cluster->namespace_,
			    ray->input->cluster->name);
}

static struct sim_ray *ray_of(const struct sim_world *world, struct map *names,
			      const struct work_item *item)
{
	if (world->ray_count == 1 && (item->cluster[0] == '\0' || item->cluster_assumed))
		return &world->rays[0];
	return map_get(names, item->cluster);
}

static void class_key(const struct sim_ray *ray, const struct work_item *item, char *key)
{
	bool gang = item->kind == WORK_PLACEMENT_GROUP;

	snprintf(key, KEY_SIZE, "%zu %d %d %zu %p", ray->number, gang,
		 gang ? (int)item->strategy : 0, item->bundle_count, (const void *)item->bundles);
}

static struct sim_class *make_class(struct sim_ray *ray, const struct work_item *item)
{
	struct arena *arena = ray->world->arena;
	struct sim_class *class_ = ARENA_NEW(arena, struct sim_class);
	struct sim_bundle *bundles = arena_array(arena, item->bundle_count, sizeof(*bundles));
	bool gang = item->kind == WORK_PLACEMENT_GROUP;

	*class_ = (struct sim_class){
		.index = ray->classes.count,
		.ray = ray,
		.kind = item->kind,
		.strategy = item->strategy,
		.bundles = bundles,
		.bundle_count = item->bundle_count,
	};
	for (size_t b = 0; b < item->bundle_count; b++) {
		shape_make_bundle(ray, &item->bundles[b], true, &bundles[b]);
		class_->gpus = resource_sum(class_->gpus, bundles[b].gpus);
	}
	if (class_->gpus > GPUS_MAX)
		class_->gpus = GPUS_MAX;
	if (gang && item->strategy != PLACEMENT_STRICT_PACK)
		sort_stable(bundles, item->bundle_count, sizeof(*bundles), compare_bundles);
	if (gang && item->strategy == PLACEMENT_STRICT_PACK)
		class_->whole = shape_whole(ray, item);
	class_->first_group = shape_first_group(ray, class_);
	VEC_PUSH(arena, &ray->classes, class_);
	return class_;
}

/* "team-a/demo, team-b/demo" */
static const char *names_of_rays(const struct sim_world *world)
{
	const char *names = "";

	for (size_t r = 0; r < world->ray_count && r < NAMES_MAX; r++) {
		names = arena_printf(world->arena, "%s%s%.128s", names, r > 0 ? ", " : "",
				     world->input->clusters[r].name);
	}
	return world->ray_count > NAMES_MAX ? arena_printf(world->arena, "%s, ...", names) : names;
}

static int make_classes(struct sim_world *world, struct map *names, struct err *err)
{
	AUTO(map_done) struct map known = MAP_INIT;
	const struct workload *workload = world->input->workload;

	world->class_of = arena_array(world->arena, workload->count, sizeof(*world->class_of));
	for (size_t i = 0; i < workload->count; i++) {
		const struct work_item *item = &workload->items[i];
		struct sim_ray *ray = ray_of(world, names, item);
		char key[KEY_SIZE];

		if (!ray)
			return err_set(
				err, ERR_INPUT,
				"items[%zu].cluster: \"%.64s\" is not simulated; name one of "
				"the given RayClusters: %s",
				i, item->cluster, names_of_rays(world));
		class_key(ray, item, key);
		struct sim_class *class_ = map_get(&known, key);
		if (!class_)
			map_set(&known, key, class_ = make_class(ray, item));
		world->class_of[i] = class_;
	}
	for (size_t r = 0; r < world->ray_count; r++)
		world->rays[r].active = arena_array(world->arena, world->rays[r].classes.count,
						    sizeof(*world->rays[r].active));
	return 0;
}

int world_init(struct sim_world *world, const struct sim_input *input,
	       const struct sim_resizing *resizing, struct arena *arena, struct arena *result_arena,
	       struct err *err)
{
	AUTO(map_done) struct map names = MAP_INIT;

	*world = (struct sim_world){ .input = input,
				     .resizing = resizing,
				     .arena = arena,
				     .result_arena = result_arena,
				     .err = err,
				     .random = input->seed * 2 + UINT64_C(0x9e3779b97f4a7c15) };
	if (input->end_ms > SIM_TIME_MAX_MS)
		return err_set(err, ERR_INPUT, "the end must be 0 to %lld ms, got %lld",
			       (long long)SIM_TIME_MAX_MS, (long long)input->end_ms);
	if (check_models(&input->models, err) != 0)
		return -1;
	world->random |= 1;
	world->ray_count = input->cluster_count;
	world->rays = arena_array(arena, world->ray_count, sizeof(*world->rays));
	for (size_t i = 0; i < world->ray_count; i++) {
		struct sim_ray *ray = &world->rays[i];

		*ray = (struct sim_ray){ .input = &input->clusters[i],
					 .world = world,
					 .number = i };
		map_set(&names, ray->input->name, ray);
		map_set(&names, whole_name(ray), ray);
		make_cluster(ray);
		if (check_groups(ray, err) != 0)
			return -1;
	}
	world->result = ARENA_NEW(result_arena, struct sim_result);
	world->result->course = HASH_START;
	return make_classes(world, &names, err);
}
