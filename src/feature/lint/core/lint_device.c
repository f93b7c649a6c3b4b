#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/capacity/start_params.h"
#include "feature/lint/core/lint_subject.h"

/* Cores of one Inferentia2 or Trainium device. */
#define CORES_OF_NEURON_DEVICE 2
#define LINE_BYTES_MAX ((size_t)64 << 10)

/* A custom resource, such as a MIG profile or a share of memory. */
static bool has_custom_resource(const struct lint_subject *subject)
{
	static const char *const others[] = {
		"CPU", "memory", "GPU", "object_store_memory", "neuron_cores", "HPU", "NPU"
	};
	static const char *const prefixes[] = { "TPU", "accelerator_type:", "node:" };
	const struct resources *all = &subject->capacity.resources;
	for (size_t i = 0; i < all->count; i++) {
		bool own = all->at[i].amount > 0;
		for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++)
			own = own && strcmp(all->at[i].name, others[o]) != 0;
		for (size_t p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++)
			own = own && !text_begins(all->at[i].name, prefixes[p]);
		if (own)
			return true;
	}
	return false;
}

bool lint_declares_gpus(const struct lint_subject *subject)
{
	if (labels_value(subject->start_params, "num-gpus"))
		return true;
	for (size_t i = 0; i < subject->resources->count; i++) {
		const char *ray = device_ray_resource(subject->resources->at[i].name);
		if (strcmp(subject->resources->at[i].name, "GPU") == 0 ||
		    (ray && strcmp(ray, "GPU") == 0))
			return true;
	}
	return false;
}

/* The custom resources as rayStartParams has them, with one more unless `name` is NULL; in the form
 * that KubeRay reads as well. */
static const char *custom_line(struct lint_subject *subject, const char *name, long long amount)
{
	const char *text = labels_value(subject->start_params, "resources");
	struct resources custom = { NULL, 0 };
	AUTO(buf_done) struct buf line = BUF_INIT(LINE_BYTES_MAX);
	if (text && !start_params_resources(text, subject->arena, &custom))
		custom.count = 0;
	if (name)
		custom = resources_with(subject->arena, &custom, name, amount * RESOURCE_UNIT);
	for (size_t i = 0; i < custom.count; i++)
		buf_printf(&line, "%s\\\"%s\\\": %s", i > 0 ? ", " : "", custom.at[i].name,
			   resource_amount_text(subject->arena, custom.at[i].amount));
	return line.overflowed ?
		       "" :
		       arena_printf(subject->arena, "resources: \"'{%s}'\"", buf_string(&line));
}

/* The path at which the group declares `amount` of Ray's resource `name`, and the line for it. */
static const char *declare(struct lint_subject *subject, const char *name, long long amount,
			   const char **ret_fix)
{
	bool gpu = strcmp(name, "GPU") == 0;
	if (subject->resources->count > 0) {
		*ret_fix = arena_printf(subject->arena, "%s: \"%lld\"", name, amount);
		return lint_path_member(subject->arena, subject->path, "resources");
	}
	*ret_fix = gpu ? arena_printf(subject->arena, "num-gpus: \"%lld\"", amount) :
			 custom_line(subject, name, amount);
	return lint_place(subject, subject->path, "rayStartParams",
			  subject->start_params->count > 0, ret_fix);
}

static void report_mig(struct lint_subject *subject, const struct quantity *quantity)
{
	const char *profile = strchr(quantity->name, '/') + 1, *fix;
	const char *path;
	if (lint_declares_gpus(subject) || has_custom_resource(subject))
		return;
	path = declare(subject, profile, lint_whole(quantity->amount), &fix);
	lint_report_finding(
		subject, LINT_RULE_GPU_UNKNOWN_TO_RAY, path, fix,
		"%s of %s counts as GPU in Ray, each as a whole one; tasks cannot ask for the "
		"profile %s unless the group declares it",
		quantity->name, subject->title, profile)
		->severity = LINT_INFO;
}

static void report_unknown(struct lint_subject *subject, const struct quantity *quantity,
			   const struct device_row *row)
{
	const char *ray = row->ray_resource, *fix, *path, *hint = "";
	long long amount = device_count(row, quantity->amount);
	if (resources_amount(&subject->capacity.resources, ray, 0) > 0 ||
	    (strcmp(ray, "GPU") == 0 &&
	     (lint_declares_gpus(subject) || has_custom_resource(subject))))
		return;
	if (row->kind == DEVICE_NEURON) {
		amount *= CORES_OF_NEURON_DEVICE;
		hint = " (2 cores a device, as Inf2 and Trn1 have); or ask for "
		       "aws.amazon.com/neuroncore, which KubeRay knows";
	} else if (row->share == DEVICE_MEMORY) {
		hint = ", one for the share that each worker has";
	}
	path = declare(subject, ray, amount, &fix);
	lint_report_finding(subject, LINT_RULE_GPU_UNKNOWN_TO_RAY, path, fix,
			    "the Ray container of %s has %s %s, which KubeRay does not "
			    "declare to Ray: no demand for %s starts a worker; declare it%s",
			    subject->title, quantity->text, quantity->name, ray, hint);
}

/* KubeRay would pass it to Ray, but does not, because it cannot parse the custom resources. */
static bool is_undeclared(const struct lint_subject *subject, const char *resource)
{
	const struct device_model *device = &subject->capacity.device;
	for (size_t i = 0; i < device->held_count; i++)
		if (strcmp(device->held[i].resource, resource) == 0)
			return !device->held[i].ray_resource && device_ray_resource(resource);
	return false;
}

static void report_undeclared(struct lint_subject *subject, const struct quantity *quantity)
{
	lint_report_finding(subject, LINT_RULE_GPU_UNKNOWN_TO_RAY,
			    arena_printf(subject->arena, "%s.rayStartParams.resources",
					 subject->path),
			    custom_line(subject, NULL, 0),
			    "KubeRay cannot read resources with backslashes, and then does "
			    "not declare %s of %s to Ray: no demand for %s starts a worker",
			    quantity->name, subject->title, device_ray_resource(quantity->name));
}

/* The device that a qualifier is of: the first row of the same domain. */
static const struct device_row *qualified_row(const struct lint_subject *subject,
					      const char *qualifier)
{
	const struct device_table *table = subject->context->devices;
	size_t domain = strcspn(qualifier, "/");

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].share != DEVICE_QUALIFIER &&
		    strncmp(table->rows[i].resource, qualifier, domain + 1) == 0)
			return &table->rows[i];
	return NULL;
}

/* A device plugin's webhook may add the device that its memory or cores are of; KubeRay and this program read the
 * RayCluster. */
static void report_alone(struct lint_subject *subject)
{
	const struct quantities *limits = &subject->container->limits;

	for (size_t i = 0; i < lint_amount_count(limits); i++) {
		const char *name = limits->at[i].name;
		const struct device_row *row = device_find(subject->context->devices, name), *main;

		if (!row || row->share != DEVICE_QUALIFIER || !lint_is_nvidia(row))
			continue;
		main = qualified_row(subject, name);
		if (!main)
			continue;
		lint_report_finding(
			subject, LINT_RULE_GPU_UNKNOWN_TO_RAY,
			arena_printf(subject->arena,
				     "%s.template.spec.containers[0].resources.limits",
				     subject->path),
			arena_printf(subject->arena, "%s: 1", main->resource),
			"%s of %s is a part of a %s that its container does not ask for: Ray counts no GPU, and no "
			"demand for GPU starts a worker",
			name, subject->title, main->resource);
		return;
	}
}

/* Reports the first device of each kind that KubeRay does not count, and the first one that it
 * counts and does not pass to Ray, or passes as a MIG profile. */
void lint_gpu_unknown_to_ray(struct lint_subject *subject)
{
	struct quantities devices = lint_devices(subject, subject->pod);
	unsigned kinds = 0;
	bool known = false;
	if (devices.count == 0 && subject->container && !lint_declares_gpus(subject))
		report_alone(subject);
	VEC_EACH(const struct quantity, quantity, &devices) {
		const struct device_row *row = lint_device(subject, quantity);
		bool ray = device_ray_resource(quantity->name) != NULL;
		if (ray && !known && is_undeclared(subject, quantity->name)) {
			known = true;
			report_undeclared(subject, quantity);
		} else if (ray && !known && text_begins(quantity->name, "nvidia.com/mig-")) {
			known = true;
			report_mig(subject, quantity);
		} else if (!ray && (kinds & 1U << row->kind) == 0) {
			kinds |= 1U << row->kind;
			report_unknown(subject, quantity, row);
		}
	}
}

/* The limit that KubeRay would count for the container: the first GPU resource by name. */
static const struct quantity *counted_gpu(struct lint_subject *subject, bool *ret_others)
{
	struct quantities devices = lint_devices(subject, subject->pod);
	const struct quantity *found = NULL;
	if (subject->capacity.claims)
		devices = pod_claims_with(&devices, &subject->capacity.claims->ray, subject->arena);
	*ret_others = false;
	for (size_t i = 0; i < devices.count; i++) {
		const char *ray = device_ray_resource(devices.at[i].name);
		if (!ray) {
			*ret_others = true;
		} else if (strcmp(ray, "GPU") == 0 &&
			   (!found || strcmp(devices.at[i].name, found->name) < 0)) {
			found = &devices.at[i];
		}
	}
	return found;
}

/* The number of the container's GPUs is unknown: another rule asks for it. */
static bool has_invalid_gpus(const struct lint_subject *subject)
{
	const struct container *container = subject->container;
	if (!container)
		return false;
	for (size_t i = 0; i < lint_amount_count(&container->limits); i++)
		if (!container->limits.at[i].valid &&
		    device_find(subject->context->devices, container->limits.at[i].name))
			return true;
	return false;
}

/* Its claims are not counted, or not all of them. */
static bool has_unknown_claims(const struct lint_subject *subject)
{
	const struct pod_claims *claims = subject->capacity.claims;
	return subject->container && subject->container->claim_count > 0 &&
	       (!claims || claims->missing || claims->problem);
}

/* Of claimed parts Ray counts the GPUs that they are on. */
static bool may_be_on(const struct lint_subject *subject, const struct quantity *counted,
		      int64_t declared)
{
	const struct device_row *row = counted ? lint_device(subject, counted) : NULL;
	return row && row->share != DEVICE_WHOLE &&
	       !lint_quantity(&subject->container->limits, counted->name) && declared > 0 &&
	       declared <= counted->amount;
}

/* A line that looks as if it gave one. */
static void check_none(struct lint_subject *subject)
{
	const struct quantities *limits;

	if (!subject->container)
		return;
	limits = &subject->container->limits;
	for (size_t i = 0; i < lint_amount_count(limits); i++)
		if (limits->at[i].valid && limits->at[i].amount == 0 &&
		    device_find(subject->context->devices, limits->at[i].name))
			lint_report_finding(
				subject, LINT_RULE_GPU_COUNT_MISMATCH,
				lint_path_member(subject->arena,
						 arena_printf(subject->arena,
							      "%s.template.spec.containers[0]."
							      "resources.limits",
							      subject->path),
						 limits->at[i].name),
				"",
				"%.80s is 0, so Pods of %s have none; write the number, or remove the line",
				limits->at[i].name, subject->title);
}

void lint_gpu_count_mismatch(struct lint_subject *subject)
{
	bool others, own = resources_find(&subject->capacity.resources, "GPU") != NULL;
	const struct quantity *counted = counted_gpu(subject, &others);
	long long has = counted ? lint_whole(counted->amount) : 0;
	const char *path, *fix, *param = labels_value(subject->start_params, "num-gpus");
	int64_t declared = subject->capacity.gpu_amount, ignored;
	check_none(subject);
	if (!own || has_invalid_gpus(subject) || has_unknown_claims(subject) ||
	    may_be_on(subject, counted, declared) || !lint_declares_gpus(subject) ||
	    declared == has * RESOURCE_UNIT || (!counted && others) ||
	    (param && !start_params_number(param, &ignored)))
		return;
	path = lint_path_member(subject->arena, subject->path, "resources");
	fix = arena_printf(subject->arena, "GPU: \"%lld\"", has);
	if (subject->resources->count == 0) {
		path = arena_printf(subject->arena, "%s.rayStartParams.num-gpus", subject->path);
		fix = arena_printf(subject->arena, "num-gpus: \"%lld\"", has);
	}
	lint_report_finding(
		subject, LINT_RULE_GPU_COUNT_MISMATCH, path, fix,
		"%s GPU are declared to Ray for each Pod of %s, and its container has %lld",
		resource_amount_text(subject->arena, declared), subject->title, has);
}

/* A group for the Neuron devices, as far as this group determines its fields. */
static const char *neuron_group(struct lint_subject *subject, const struct quantity *neuron)
{
	return arena_printf(
		subject->arena,
		"- groupName: %s-neuron\n"
		"  minReplicas: 0\n"
		"  maxReplicas: %lld\n"
		"  rayStartParams: {}\n"
		"  template:\n"
		"    spec:\n"
		"      containers:\n"
		"      - name: ray-worker\n"
		"        image: %s\n"
		"        resources:\n"
		"          limits:\n"
		"            cpu: 2\n"
		"            memory: 8Gi\n"
		"            %s: %s",
		subject->group ? subject->group->name : "head",
		(long long)(subject->group ? subject->group->max_replicas : 1),
		subject->container->image[0] != '\0' ? subject->container->image : "rayproject/ray",
		neuron ? neuron->name : "aws.amazon.com/neuroncore", neuron ? neuron->text : "2");
}

void lint_gpu_and_neuron(struct lint_subject *subject)
{
	struct quantities devices = lint_devices(subject, subject->pod);
	bool gpu = subject->capacity.gpu_amount > 0;
	bool neuron = resources_amount(&subject->capacity.resources, "neuron_cores", 0) > 0;
	const struct quantity *found = NULL;
	for (size_t i = 0; i < devices.count; i++) {
		const struct device_row *row = lint_device(subject, &devices.at[i]);
		gpu = gpu || row->kind == DEVICE_GPU;
		if (row->kind == DEVICE_NEURON) {
			neuron = true;
			found = &devices.at[i];
		}
	}
	if (!gpu || !neuron || !subject->container)
		return;
	lint_report_finding(
		subject, LINT_RULE_GPU_AND_NEURON, subject->path, neuron_group(subject, found),
		"each Pod of %s has GPUs and Neuron cores; Ray refuses tasks that ask for both, so "
		"one kind is paid for in vain: make a group for each",
		subject->title);
}
