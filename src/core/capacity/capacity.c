#include "core/capacity/capacity.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/capacity/start_params.h"
#include "core/capacity/tpu.h"
#include "core/model/label_syntax.h"

/* Accelerators other than GPUs that KubeRay passes from a container's limits to `ray start`. It
 * passes only one of them, the first in the order of the limits' names. */
static const char *const custom_limits[] = { "aws.amazon.com/neuroncore", "google.com/tpu" };

/* A head or worker group, in one form. */
struct source {
	const char *path;  /* "spec.workerGroupSpecs[0]" */
	const char *group; /* its name, for messages */
	bool is_head;
	const struct quantities *resources;
	const struct labels *labels;
	const struct labels *start_params;
	const struct pod_spec *pod;
	const char *namespace_;
	const struct pod_claim_status *claim_statuses;
	size_t claim_status_count;
};

struct builder {
	struct arena *arena;
	const struct device_table *devices;
	const struct source *source;
	struct resources custom; /* merged last, overrides */
	VEC(struct resource) entries;
	VEC(struct resource) ignored;
	VEC(const char *) warnings;
	bool limits_declared; /* KubeRay passes accelerators in the limits to `ray start` */
	const struct pod_claims *claims; /* NULL: none */
	const char *problem;
};

static void set_problem(struct builder *b, const char *problem)
{
	if (!b->problem)
		b->problem = problem;
}

static void add(struct builder *b, const char *name, int64_t amount)
{
	VEC_PUSH(b->arena, &b->entries, ((struct resource){ name, amount }));
}

static int64_t whole(int64_t amount)
{
	return (amount + RESOURCE_UNIT - 1) / RESOURCE_UNIT * RESOURCE_UNIT;
}

/* The amount of a quantity that decides, or the problem with its place. */
static int64_t amount_of(struct builder *b, const struct quantity *quantity, const char *place)
{
	if (quantity->valid)
		return quantity->amount;
	set_problem(b, arena_printf(b->arena,
				    "%s%s.%s: \"%.64s\" is not a quantity that a worker can have; "
				    "write a number such as \"2\", \"500m\" or \"16Gi\" (group %s)",
				    b->source->path, place, quantity->name, quantity->text,
				    b->source->group));
	return 0;
}

#define PLACE_RESOURCES ".resources"
#define PLACE_PARAMS ".rayStartParams.resources"
#define PLACE_LIMITS ".template.spec.containers[0].resources.limits"
#define PLACE_REQUESTS ".template.spec.containers[0].resources.requests"

static bool is_gpu(const char *resource)
{
	return resource && strcmp(resource, "GPU") == 0;
}

/* KubeRay reads the names of the group's own resources in any case; those of a container are
 * Kubernetes names and case-sensitive. */
static const char *lowered(struct arena *arena, const char *name)
{
	char *small = arena_strdup(arena, name);
	for (char *at = small; *at != '\0'; at++)
		*at = text_lower(*at);
	return small;
}

static const struct container *ray_container(const struct source *source)
{
	return source->pod->container_count > 0 ? &source->pod->containers[0] : NULL;
}

static bool number_param(struct builder *b, const char *name, int64_t *ret_amount)
{
	const char *text = labels_value(b->source->start_params, name);
	if (!text)
		return false;
	if (!start_params_number(text, ret_amount)) {
		set_problem(b, arena_printf(
				       b->arena,
				       "%s.rayStartParams.%s: \"%.64s\" is not a whole number that "
				       "`ray start` takes (group %s)",
				       b->source->path, name, text, b->source->group));
		*ret_amount = 0;
	}
	return true;
}

static void warn_twice(struct builder *b, const char *name, const struct quantity *quantity,
		       const char *param)
{
	if (labels_value(b->source->start_params, param))
		VEC_PUSH(b->arena, &b->warnings,
			 arena_printf(
				 b->arena,
				 "'%s' specified in both the top-level 'resources' field and in "
				 "'rayStartParams'. Using the value from 'resources': %s.",
				 name, quantity->text));
}

/* The entry of the group's own resources for a standard resource: by its exact name, else, as
 * KubeRay reads it, in any case. */
static const struct quantity *own_resource(const struct source *source, const char *name)
{
	const struct quantity *found = quantities_find(source->resources, name);
	if (found)
		return found;
	for (size_t i = 0; i < source->resources->count; i++)
		if (text_equal_ignoring_case(source->resources->at[i].name, name))
			return &source->resources->at[i];
	return NULL;
}

/* CPU and memory: resources, rayStartParams, limits, requests. */
static bool add_standard(struct builder *b, const char *name, const char *param, const char *limit)
{
	const struct container *container = ray_container(b->source);
	const struct quantity *own = own_resource(b->source, name), *quantity;
	int64_t amount;
	if (own) {
		warn_twice(b, name, own, param);
		add(b, name, whole(amount_of(b, own, PLACE_RESOURCES)));
	} else if (number_param(b, param, &amount)) {
		add(b, name, amount);
	} else if (!container) {
		return false;
	} else if ((quantity = quantities_find(&container->limits, limit))) {
		add(b, name, whole(amount_of(b, quantity, PLACE_LIMITS)));
	} else if ((quantity = quantities_find(&container->requests, limit))) {
		add(b, name, whole(amount_of(b, quantity, PLACE_REQUESTS)));
	} else {
		return false;
	}
	return true;
}

static bool is_own_gpu(const struct builder *b, const char *name)
{
	return is_gpu(device_ray_resource(lowered(b->arena, name)));
}

/* Whether Ray counts this resource of the container as GPUs. KubeRay does not pass requests to `ray
 * start`; of those, Ray counts what the raylet detects. */
static bool is_container_gpu(const struct builder *b, const struct quantities *quantities,
			     const char *name)
{
	bool declared = b->limits_declared && quantities == &ray_container(b->source)->limits;
	return is_gpu(declared ? device_ray_resource(name) : device_found_resource(name));
}

/* The first key by name that is of a GPU and above 0, as KubeRay sorts them. */
static const struct quantity *first_gpu(const struct builder *b,
					const struct quantities *quantities)
{
	const struct quantity *found = NULL;
	bool own = quantities == b->source->resources;
	VEC_EACH(const struct quantity, quantity, quantities) {
		bool gpu = own ? is_own_gpu(b, quantity->name) :
				 is_container_gpu(b, quantities, quantity->name);
		if (!gpu || (quantity->valid && quantity->amount == 0))
			continue;
		if (!found || strcmp(quantity->name, found->name) < 0)
			found = quantity;
	}
	return found;
}

/* The devices by Dynamic Resource Allocation of which the raylet counts this resource, because `ray
 * start` names none. NVML and amdsmi list whole GPUs, however many parts of one the container has:
 * parts count 1 together. */
static int64_t claimed_amount(const struct builder *b, const char *ray_resource)
{
	int64_t amount = 0, part = 0;

	if (b->claims)
		for (size_t i = 0; i < b->claims->ray.count; i++) {
			const struct quantity *quantity = &b->claims->ray.at[i];
			const struct device_row *row = device_find(b->devices, quantity->name);
			const char *detected = row ? device_detected_resource(row) : NULL;

			if (!detected || strcmp(detected, ray_resource) != 0)
				continue;
			if (row->share == DEVICE_WHOLE)
				amount += whole(quantity->amount);
			else
				part = RESOURCE_UNIT;
		}
	return amount + part;
}

static void add_gpus(struct builder *b)
{
	const struct container *container = ray_container(b->source);
	const struct quantity *quantity = quantities_find(b->source->resources, "GPU");
	int64_t amount;
	if (!quantity)
		quantity = first_gpu(b, b->source->resources);
	if (quantity) {
		warn_twice(b, "GPU", quantity, "num-gpus");
		add(b, "GPU", whole(amount_of(b, quantity, PLACE_RESOURCES)));
	} else if (number_param(b, "num-gpus", &amount)) {
		add(b, "GPU", amount);
	} else if (container && (quantity = first_gpu(b, &container->limits))) {
		add(b, "GPU", whole(amount_of(b, quantity, PLACE_LIMITS)));
	} else if (container && (quantity = first_gpu(b, &container->requests))) {
		add(b, "GPU", whole(amount_of(b, quantity, PLACE_REQUESTS)));
	} else if ((amount = claimed_amount(b, "GPU")) > 0) {
		add(b, "GPU", amount);
	}
}

static bool is_standard(const struct builder *b, const char *name)
{
	return text_equal_ignoring_case(name, "CPU") || text_equal_ignoring_case(name, "memory") ||
	       is_own_gpu(b, name);
}

/* KubeRay ignores all limits when it cannot read rayStartParams.resources, unless the group's own
 * resources replace them. */
static bool are_limits_declared(struct builder *b)
{
	const char *text = labels_value(b->source->start_params, "resources");
	const struct quantities *own = b->source->resources;
	if (!text || start_params_kuberay_reads(text))
		return true;
	for (size_t i = 0; i < own->count; i++)
		if (!is_standard(b, own->at[i].name))
			return true;
	return false;
}

static void custom_of_resources(struct builder *b)
{
	const struct quantities *own = b->source->resources;
	struct resource *entries = arena_array(b->arena, own->count, sizeof(*entries));
	size_t count = 0;
	for (size_t i = 0; i < own->count; i++)
		if (!is_standard(b, own->at[i].name))
			entries[count++] =
				(struct resource){ own->at[i].name,
						   amount_of(b, &own->at[i], PLACE_RESOURCES) };
	b->custom = resources_sort(entries, count);
}

/* Leaves the custom resources that the raylet will have. */
static void check_custom(struct builder *b, const char *place)
{
	struct resource *entries = arena_array(b->arena, b->custom.count, sizeof(*entries));
	size_t count = 0;

	for (size_t i = 0; i < b->custom.count; i++) {
		const struct resource *item = &b->custom.at[i];
		struct start_params_entry entry = start_params_entry(item, b->arena);
		const char *name = resource_name_text(b->arena, item->name);

		if (entry.problem)
			set_problem(b, arena_printf(b->arena,
						    "%s%s: %s %s, so `ray start` ends with an "
						    "error (group %s)",
						    b->source->path, place, name, entry.problem,
						    b->source->group));
		if (!entry.option)
			entries[count++] = *item;
		else
			VEC_PUSH(b->arena, &b->ignored, *item);
	}
	b->custom = resources_sort(entries, count);
}

/* If the group's own resources have custom ones, they replace rayStartParams.resources
 * completely. */
static void read_custom(struct builder *b)
{
	const char *text = labels_value(b->source->start_params, "resources");
	custom_of_resources(b);
	if (!text || b->custom.count > 0)
		check_custom(b, PLACE_RESOURCES);
	if (!text)
		return;
	if (b->custom.count > 0) {
		VEC_PUSH(
			b->arena, &b->warnings,
			"custom resources specified in both the top-level 'resources' field and in "
			"'rayStartParams'. Using the values from 'resources'.");
		return;
	}
	if (!start_params_resources(text, b->arena, &b->custom))
		set_problem(
			b, arena_printf(b->arena,
					"%s.rayStartParams.resources: must be an object of numbers "
					"in quotes, such as \"'{\\\"Custom\\\": 1}'\" (group %s)",
					b->source->path, b->source->group));
	check_custom(b, PLACE_PARAMS);
}

static bool has_custom_accelerator(const struct resources *resources)
{
	for (size_t i = 0; i < sizeof(custom_limits) / sizeof(custom_limits[0]); i++)
		if (resources_find(resources, device_ray_resource(custom_limits[i])))
			return true;
	return false;
}

/* Warns of accelerators that KubeRay does not pass for that reason and that Ray does not detect. */
static void warn_undeclared(struct builder *b)
{
	const struct container *container = ray_container(b->source);
	if (!container)
		return;
	for (size_t i = 0; i < container->limits.count; i++) {
		const struct quantity *quantity = &container->limits.at[i];
		if (!device_ray_resource(quantity->name) || device_found_resource(quantity->name) ||
		    quantity->amount == 0)
			continue;
		VEC_PUSH(b->arena, &b->warnings,
			 arena_printf(b->arena,
				      "%s.rayStartParams.resources: KubeRay cannot read it with "
				      "backslashes, and then does not declare %s to `ray start`; "
				      "write it as \"'{\\\"Custom\\\": 1}'\" (group %s)",
				      b->source->path, quantity->name, b->source->group));
	}
}

static void add_accelerator(struct builder *b)
{
	const struct container *container = ray_container(b->source);
	const struct quantity *quantity;
	if (!container || has_custom_accelerator(&b->custom))
		return;
	for (size_t i = 0; i < sizeof(custom_limits) / sizeof(custom_limits[0]); i++) {
		const char *name = b->limits_declared ? device_ray_resource(custom_limits[i]) :
							device_found_resource(custom_limits[i]);
		quantity = quantities_find(&container->limits, custom_limits[i]);
		if (!name || !quantity || (quantity->valid && quantity->amount == 0))
			continue;
		b->custom = resources_with(b->arena, &b->custom, name,
					   whole(amount_of(b, quantity, PLACE_LIMITS)));
		return;
	}
	quantity = quantities_find(&container->requests, "google.com/tpu");
	if (quantity && (!quantity->valid || quantity->amount > 0))
		b->custom = resources_with(b->arena, &b->custom, "TPU",
					   whole(amount_of(b, quantity, PLACE_REQUESTS)));
	else if (claimed_amount(b, "TPU") > 0)
		b->custom = resources_with(b->arena, &b->custom, "TPU", claimed_amount(b, "TPU"));
}

/* Worker 0 of a slice has the head resource; Ray's configuration adds it to every node (T29). */
static void add_tpu_head(struct builder *b)
{
	const struct labels *selector = &b->source->pod->node_selector;
	const char *topology = labels_value(selector, TPU_TOPOLOGY_SELECTOR);
	const char *accelerator = labels_value(selector, TPU_ACCELERATOR_SELECTOR);
	if (!resources_find(&b->custom, "TPU"))
		return;
	if (!topology || !accelerator) {
		VEC_PUSH(b->arena, &b->warnings,
			 "Pods using TPUs require both `" TPU_TOPOLOGY_SELECTOR "` and "
			 "`" TPU_ACCELERATOR_SELECTOR "` node selectors.");
		return;
	}
	const char *type = tpu_type(b->arena, accelerator, topology);
	if (type)
		add(b, arena_printf(b->arena, "TPU-%s-head", type), RESOURCE_UNIT);
}

static void check_labels(struct builder *b)
{
	const struct labels *labels = b->source->labels;
	const char *params = labels_value(b->source->start_params, "labels");
	if (params && params[0] != '\0')
		VEC_PUSH(b->arena, &b->warnings,
			 arena_printf(
				 b->arena,
				 "Ignoring labels: %s set in rayStartParams for group '%s'. Group "
				 "labels are supported in the top-level Labels field starting in "
				 "KubeRay v1.5",
				 params, b->source->group));
	for (size_t i = 0; i < labels->count; i++)
		if (!label_syntax_key(labels->at[i].key) ||
		    !label_syntax_value(labels->at[i].value))
			set_problem(b, arena_printf(b->arena,
						    "%s.labels: \"%.64s\": \"%.64s\" is not of the "
						    "syntax of Kubernetes labels (group %s)",
						    b->source->path, labels->at[i].key,
						    labels->at[i].value, b->source->group));
}

static bool has_accelerator(const struct resources *resources, const struct strings *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (resources_amount(resources, names->at[i], 0) > 0)
			return true;
	return false;
}

/* A name in the settings may also be a Kubernetes name that the device table does not contain. */
static bool holds_named(const struct container *container, const struct strings *names)
{
	const struct quantities *lists[] = { &container->limits, &container->requests };

	for (size_t l = 0; l < 2; l++)
		for (size_t i = 0; i < names->count; i++) {
			const struct quantity *quantity = quantities_find(lists[l], names->at[i]);

			if (quantity && quantity->valid && quantity->amount > 0)
				return true;
		}
	return false;
}

/* Whether its Ray container holds an accelerator, also one that Ray does not count. */
static bool holds_device(const struct source *source, const struct device_model *device,
			 const struct strings *names)
{
	const struct container *container = ray_container(source);

	return device->held_count > 0 || (container && holds_named(container, names));
}

/* Claimed devices, and parts of a GPU by annotation, are held as if the limits of the Ray container named
 * them. */
static void make_device(const struct builder *b, struct device_model *ret_device)
{
	const struct container *container = ray_container(b->source);
	struct container counted;

	if (container) {
		counted = *container;
		counted.limits =
			pod_claims_with(&container->limits, &b->source->pod->gpu_shares, b->arena);
		if (b->claims)
			counted.limits =
				pod_claims_with(&counted.limits, &b->claims->ray, b->arena);
		container = &counted;
	}
	device_model_make(container, b->devices, b->limits_declared, b->arena, ret_device);
}

static void check_capacity(const struct capacity *capacity)
{
	VEC_EACH(const struct resource, item, &capacity->resources)
		CHECK(item->amount >= 0 && item->amount <= RESOURCE_AMOUNT_MAX);
	CHECK(capacity->gpu_amount >= 0);
	CHECK(capacity->accelerator || capacity->device.held_count == 0);
}

/* Builds the capacity in the order of Ray's autoscaling_config: CPU and memory, GPUs, custom
 * resources, one other accelerator, the TPU head resource. A missing number of CPUs is a problem
 * for workers only. The device model and the accelerator flag are derived from the result. */
static void build(const struct source *source, const struct settings *settings,
		  const struct device_table *devices, struct arena *arena,
		  struct capacity *ret_capacity)
{
	struct builder b = { .arena = arena, .devices = devices, .source = source };
	struct strings accelerators = capacity_accelerators(settings, devices, arena);
	if (!add_standard(&b, "CPU", "num-cpus", "cpu") && !source->is_head)
		set_problem(&b, arena_printf(
					arena,
					"%s: Autoscaler failed to detect `CPU` resources for group "
					"%s. Set the `--num-cpus` rayStartParam and/or the CPU "
					"resource limit for the Ray container.",
					source->path, source->group));
	add_standard(&b, "memory", "memory", "memory");
	b.claims = pod_claims_make(source->namespace_, source->pod, source->claim_statuses,
				   source->claim_status_count,
				   arena_printf(arena, "%s.template.spec", source->path), devices,
				   arena);
	if (b.claims && b.claims->missing)
		set_problem(&b, b.claims->missing);
	b.limits_declared = are_limits_declared(&b);
	if (!b.limits_declared)
		warn_undeclared(&b);
	add_gpus(&b);
	read_custom(&b);
	add_accelerator(&b);
	add_tpu_head(&b);
	check_labels(&b);
	for (size_t i = 0; i < b.custom.count; i++)
		add(&b, b.custom.at[i].name, b.custom.at[i].amount);
	*ret_capacity = (struct capacity){
		.resources = resources_sort(b.entries.at, b.entries.count),
		.labels = *source->labels,
		.claims = b.claims,
		.problem = b.problem,
		.ignored = { b.ignored.at, b.ignored.count },
		.warnings = { b.warnings.at, b.warnings.count },
	};
	make_device(&b, &ret_capacity->device);
	ret_capacity->gpu_amount = resources_amount(&ret_capacity->resources, "GPU", 0);
	ret_capacity->accelerator = has_accelerator(&ret_capacity->resources, &accelerators) ||
				    holds_device(source, &ret_capacity->device, &accelerators);
	check_capacity(ret_capacity);
}

struct strings capacity_accelerators(const struct settings *settings,
				     const struct device_table *devices, struct arena *arena)
{
	return device_ray_names(devices, &settings->accelerators, arena);
}

void capacity_of_group(const struct ray_cluster *cluster, size_t index,
		       const struct settings *settings, const struct device_table *devices,
		       struct arena *arena, struct capacity *ret_capacity)
{
	const struct worker_group *group = &cluster->groups[index];
	struct source source = {
		.path = arena_printf(arena, "spec.workerGroupSpecs[%zu]", index),
		.group = group->name,
		.resources = &group->resources,
		.labels = &group->labels,
		.start_params = &group->ray_start_params,
		.pod = &group->template.spec,
		.namespace_ = cluster->namespace_,
	};
	build(&source, settings, devices, arena, ret_capacity);
}

void capacity_of_pod(const struct pod *pod, const struct settings *settings,
		     const struct device_table *devices, struct arena *arena,
		     struct capacity *ret_capacity)
{
	static const struct quantities no_resources = { .at = NULL };
	static const struct labels no_labels = { .at = NULL };
	struct source source = {
		.path = "Pod",
		.group = "",
		.resources = &no_resources,
		.labels = &no_labels,
		.start_params = &no_labels,
		.pod = &pod->spec,
		.namespace_ = pod->namespace_,
		.claim_statuses = pod->claim_statuses,
		.claim_status_count = pod->claim_status_count,
	};
	build(&source, settings, devices, arena, ret_capacity);
}

void capacity_of_head(const struct ray_cluster *cluster, const struct settings *settings,
		      const struct device_table *devices, struct arena *arena,
		      struct capacity *ret_capacity)
{
	struct source source = {
		.path = "spec.headGroupSpec",
		.group = HEAD_GROUP_NAME,
		.is_head = true,
		.resources = &cluster->head_resources,
		.labels = &cluster->head_labels,
		.start_params = &cluster->head_start_params,
		.pod = &cluster->head_template.spec,
		.namespace_ = cluster->namespace_,
	};
	build(&source, settings, devices, arena, ret_capacity);
}
