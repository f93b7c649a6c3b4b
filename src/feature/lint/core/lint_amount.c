#include <string.h>

#include "core/model/label_syntax.h"
#include "feature/lint/core/lint_subject.h"

#define GUESSED_DIGITS_MAX 12
#define CPUS_MAX (INT64_C(1000) * RESOURCE_UNIT)
#define BYTES_LEAST ((INT64_C(1) << 20) * RESOURCE_UNIT)
/* Beside a raylet run its two agents and the log monitor, Python processes that import Ray. */
#define RAY_BYTES_LEAST (128 * BYTES_LEAST)
#define DEVICES_MAX (INT64_C(1024) * RESOURCE_UNIT) /* whole devices of one machine */

/* One list of amounts of one container. */
struct list {
	const struct quantities *quantities;
	const char *path;  /* "...containers[0].resources.limits" */
	const char *where; /* "limits of container ray-worker" */
	size_t container;
	bool limits;
};

static struct list container_list(struct lint_subject *subject, size_t container, bool limits)
{
	const struct container *one = &subject->pod->containers[container];
	const char *name = limits ? "limits" : "requests";
	return (struct list){
		.quantities = limits ? &one->limits : &one->requests,
		.path = arena_printf(subject->arena,
				     "%s.template.spec.containers[%zu].resources.%s", subject->path,
				     container, name),
		.where = arena_printf(subject->arena, "%s of container %.64s", name, one->name),
		.container = container,
		.limits = limits,
	};
}

typedef void look(struct lint_subject *subject, const struct list *list,
		  const struct quantity *quantity);

/* Limits and requests of every container, in the order of the Pod. */
static void each_amount(struct lint_subject *subject, look *each)
{
	for (size_t c = 0; c < subject->pod->container_count; c++)
		for (int l = 0; l < 2; l++) {
			struct list list = container_list(subject, c, l == 0);
			for (size_t i = 0; i < lint_amount_count(list.quantities); i++)
				each(subject, &list, &list.quantities->at[i]);
		}
}

static const char *member(struct lint_subject *subject, const struct list *list,
			  const struct quantity *quantity)
{
	return lint_path_member(subject->arena, list->path, quantity->name);
}

static bool is_device(const struct lint_subject *subject, const struct quantity *quantity)
{
	return device_find(subject->context->devices, quantity->name) != NULL;
}

/* "3.5" of "3,5", "1000" of "1,000", "50Gi" of "50 Gi". */
static const char *plain(struct arena *arena, const char *text)
{
	char *all = arena_alloc(arena, strlen(text) + 1), *to = all;

	for (; *text != '\0'; text++) {
		bool parts = *text == ',' && strspn(text + 1, "0123456789") != 3;

		if (*text != ' ' && *text != '_' && (*text != ',' || parts))
			*to++ = parts ? '.' : *text;
	}
	*to = '\0';
	return all;
}

/* The number with the Kubernetes unit that was probably meant: 4G for "4GB"; "" without a number. */
static const char *guessed(struct arena *arena, const char *name, const char *given)
{
	static const char units[] = "kKmMgGtTpPeE", meant[] = "kkMMGGTTPPEE";
	const char *text = plain(arena, given);
	size_t digits = strspn(text, "0123456789.");
	const char *unit = digits > 0 ? strchr(units, text[digits]) : NULL;
	char letter = unit && *unit != '\0' ? meant[unit - units] : '\0';
	if (digits == 0 || digits > GUESSED_DIGITS_MAX)
		return "";
	if (strchr(name, '/')) /* a device */
		return strcspn(text, ".") < digits ? "" : arena_strndup(arena, text, digits);
	/* Bytes are seldom meant without a unit. */
	if (letter == '\0')
		return strcmp(name, "cpu") != 0 && text[digits] != '\0' ?
			       "" :
			       arena_strndup(arena, text, digits);
	if (text[digits + 1] == 'i' || text[digits + 1] == 'I')
		return arena_printf(arena, "%.*s%ci", (int)digits, text,
				    letter == 'k' ? 'K' : letter);
	return arena_printf(arena, "%.*s%c", (int)digits, text, letter);
}

static void look_for_invalid(struct lint_subject *subject, const struct list *list,
			     const struct quantity *quantity)
{
	const char *guess = guessed(subject->arena, quantity->name, quantity->text);
	if (!quantity->valid)
		lint_report_finding(subject, LINT_RULE_QUANTITY_INVALID,
				    member(subject, list, quantity),
				    *guess == '\0' ? "" :
						     arena_printf(subject->arena, "%s: %s",
								  quantity->name, guess),
				    "%s in %s is \"%.64s\", which is not an amount that a machine "
				    "can have; write a number such as \"2\", \"500m\" or \"16Gi\"",
				    resource_name_text(subject->arena, quantity->name), list->where,
				    quantity->text);
}

/* Bytes below what any container runs with, or CPUs above what any machine has: the unit is missing or another. */
static void look_for_unit(struct lint_subject *subject, const struct list *list,
			  const struct quantity *quantity)
{
	const char *digits =
		arena_strndup(subject->arena, quantity->text, strspn(quantity->text, "0123456789"));
	bool is_cpu = strcmp(quantity->name, "cpu") == 0;
	bool is_bytes = strcmp(quantity->name, "memory") == 0 ||
			strcmp(quantity->name, "ephemeral-storage") == 0;
	const char *unit = is_cpu ? "m" : strlen(digits) <= 3 ? "Gi" : "Mi";

	if (!quantity->valid || quantity->amount == 0 ||
	    !(is_cpu ? quantity->amount >= CPUS_MAX : is_bytes && quantity->amount < BYTES_LEAST))
		return;
	if (quantity->text[strlen(digits)] == 'm')
		unit = "Mi";
	lint_report_finding(subject, LINT_RULE_QUANTITY_INVALID, member(subject, list, quantity),
			    *digits == '\0' ? "" :
					      arena_printf(subject->arena, "%s: %s%s",
							   quantity->name, digits, unit),
			    "%s in %s is %.32s, which is %s; write its unit", quantity->name,
			    list->where, quantity->text,
			    is_cpu ? "in whole CPUs more than a machine has" :
				     "in bytes too little for a container to run")
		->severity = is_cpu || !list->limits ? LINT_WARNING : LINT_ERROR;
}

static void look_for_little(struct lint_subject *subject, const struct list *list,
			    const struct quantity *quantity)
{
	if (!list->limits || list->container > 0 || strcmp(quantity->name, "memory") != 0 ||
	    !quantity->valid || quantity->amount < BYTES_LEAST ||
	    quantity->amount >= RAY_BYTES_LEAST)
		return;
	lint_report_finding(
		subject, LINT_RULE_QUANTITY_INVALID, member(subject, list, quantity), "memory: 4Gi",
		"memory in %s is %.32s, too little for Ray's own processes: the kernel ends "
		"them (OOMKilled), and no worker joins; write as much as the work needs",
		list->where, quantity->text)
		->severity = LINT_WARNING;
}

void lint_quantity_invalid(struct lint_subject *subject)
{
	struct list own = {
		.quantities = subject->resources,
		.path = lint_path_member(subject->arena, subject->path, "resources"),
		.where = arena_printf(subject->arena, "resources of %s", subject->title),
	};
	for (size_t i = 0; i < lint_amount_count(own.quantities); i++)
		look_for_invalid(subject, &own, &own.quantities->at[i]);
	each_amount(subject, look_for_invalid);
	each_amount(subject, look_for_unit);
	each_amount(subject, look_for_little);
}

static void look_for_part(struct lint_subject *subject, const struct list *list,
			  const struct quantity *quantity)
{
	const struct device_row *row = lint_device(subject, quantity);
	if (row && row->share == DEVICE_WHOLE && quantity->amount > DEVICES_MAX)
		lint_report_finding(
			subject, LINT_RULE_GPU_NOT_INTEGER, member(subject, list, quantity),
			arena_printf(subject->arena, "%s: NUMBER", quantity->name),
			"%s in %s is %s, more than a machine has; write the number of devices",
			quantity->name, list->where, quantity->text);
	if (!is_device(subject, quantity) || !quantity->valid ||
	    quantity->amount % RESOURCE_UNIT == 0)
		return;
	lint_report_finding(
		subject, LINT_RULE_GPU_NOT_INTEGER, member(subject, list, quantity),
		arena_printf(subject->arena, "%s: %lld", quantity->name,
			     lint_whole(quantity->amount)),
		"%s in %s is %s; accelerators are whole numbers, the API server refuses the Pods of "
		"%s (tasks and actors may ask for parts: num_gpus=0.5)",
		quantity->name, list->where, quantity->text, subject->title);
}

void lint_gpu_not_integer(struct lint_subject *subject)
{
	const struct quantity *own = lint_quantity(subject->resources, "GPU");
	each_amount(subject, look_for_part);
	if (!own || !own->valid || own->amount % RESOURCE_UNIT == 0)
		return;
	lint_report_finding(subject, LINT_RULE_GPU_NOT_INTEGER,
			    arena_printf(subject->arena, "%s.resources.GPU", subject->path),
			    arena_printf(subject->arena, "GPU: \"%lld\"", lint_whole(own->amount)),
			    "resources of %s has %s GPU; KubeRay rounds it up to %lld",
			    subject->title, own->text, lint_whole(own->amount))
		->severity = LINT_WARNING;
}

static void look_for_lonely(struct lint_subject *subject, const struct list *list,
			    const struct quantity *quantity)
{
	const struct quantities *limits = &subject->pod->containers[list->container].limits;
	const char *path = arena_printf(subject->arena,
					"%s.template.spec.containers[%zu].resources", subject->path,
					list->container);
	const char *fix, *guess = guessed(subject->arena, quantity->name, quantity->text);
	if (list->limits || !is_device(subject, quantity) || lint_quantity(limits, quantity->name))
		return;
	if (quantity->valid)
		guess = quantity->text;
	fix = *guess == '\0' ? "" : arena_printf(subject->arena, "%s: %s", quantity->name, guess);
	/* The finding is at the request; the line to write is one of the limits. */
	if (limits->count == 0 && *fix != '\0')
		lint_place(subject, path, "limits", false, &fix);
	lint_report_finding(
		subject, LINT_RULE_GPU_REQUEST_WITHOUT_LIMIT, member(subject, list, quantity), fix,
		"%s is in %s and not in its limits; the API server refuses the Pods of %s",
		quantity->name, list->where, subject->title);
}

void lint_gpu_request_without_limit(struct lint_subject *subject)
{
	each_amount(subject, look_for_lonely);
}

static void look_for_difference(struct lint_subject *subject, const struct list *list,
				const struct quantity *quantity)
{
	const struct quantity *limit;
	if (list->limits || !is_device(subject, quantity) || !quantity->valid)
		return;
	limit = lint_quantity(&subject->pod->containers[list->container].limits, quantity->name);
	if (!limit || !limit->valid || limit->amount == quantity->amount)
		return;
	lint_report_finding(
		subject, LINT_RULE_GPU_REQUEST_LIMIT_DIFFER, member(subject, list, quantity),
		arena_printf(subject->arena, "%s: %s", quantity->name, limit->text),
		"%s in %s is %s, its limit is %s; both must be equal, the API server refuses the "
		"Pods of %s",
		quantity->name, list->where, quantity->text, limit->text, subject->title);
}

void lint_gpu_request_limit_differ(struct lint_subject *subject)
{
	each_amount(subject, look_for_difference);
}

static void look_for_obsolete(struct lint_subject *subject, const struct list *list,
			      const struct quantity *quantity)
{
	const struct device_row *row = device_find(subject->context->devices, quantity->name);
	if (!row || row->instead[0] == '\0')
		return;
	lint_report_finding(
		subject, LINT_RULE_GPU_OBSOLETE_RESOURCE, member(subject, list, quantity),
		arena_printf(subject->arena, "%s: %s", row->instead, quantity->text),
		"%s in %s is obsolete; today's device plugins advertise %s, so the Pods of %s fit on "
		"no Node",
		quantity->name, list->where, row->instead, subject->title);
}

void lint_gpu_obsolete_resource(struct lint_subject *subject)
{
	each_amount(subject, look_for_obsolete);
}

/* Reports once for each container and name: requests count where limits do not have the name. */
static void look_for_second(struct lint_subject *subject, const struct list *list,
			    const struct quantity *quantity)
{
	const struct container *container = &subject->pod->containers[list->container];
	if (list->container == 0 || !lint_device(subject, quantity))
		return;
	if (!list->limits && lint_quantity(&container->limits, quantity->name))
		return;
	lint_report_finding(
		subject, LINT_RULE_GPU_IN_SECOND_CONTAINER, member(subject, list, quantity),
		arena_printf(subject->arena, "%s: 0", quantity->name),
		"container %.64s of %s asks for %s %s of its own; containers of a Pod share no "
		"accelerator, and Ray counts only what the first container has",
		container->name, subject->title, quantity->text, quantity->name);
}

/* Of the container that KubeRay adds to the head. */
static void check_autoscaler(struct lint_subject *subject)
{
	const struct quantities *limits = &subject->cluster->autoscaler_options.limits;

	for (size_t i = 0; i < lint_amount_count(limits); i++)
		if (lint_device(subject, &limits->at[i]))
			lint_report_finding(
				subject, LINT_RULE_GPU_IN_SECOND_CONTAINER,
				lint_path_member(subject->arena,
						 "spec.autoscalerOptions.resources.limits",
						 limits->at[i].name),
				"",
				"the container autoscaler takes %s %s for itself in each head Pod: "
				"remove the line",
				limits->at[i].text, limits->at[i].name);
}

void lint_gpu_in_second_container(struct lint_subject *subject)
{
	each_amount(subject, look_for_second);
	if (!subject->group)
		check_autoscaler(subject);
}

static void request_above_limit(struct lint_subject *subject, const struct list *list,
				const struct quantity *request)
{
	const struct quantity *limit =
		lint_quantity(&subject->pod->containers[list->container].limits, request->name);
	if (list->limits || !limit || is_device(subject, request) || !limit->valid ||
	    !request->valid || request->amount <= limit->amount)
		return;
	lint_report_finding(subject, LINT_RULE_POD_REFUSED, member(subject, list, request),
			    arena_printf(subject->arena, "%s: %s  # or raise the limit to %s",
					 request->name, limit->text, request->text),
			    "%.64s in %s is %.32s, above its limit %.32s; the API server refuses "
			    "each Pod of %s",
			    request->name, list->where, request->text, limit->text, subject->title);
}

/* The resource that was most likely meant; "" where none is near. */
static const char *meant(const char *name)
{
	static const struct {
		const char *part, *resource;
	} rows[] = { { "gpu", "nvidia.com/gpu" },
		     { "GPU", "nvidia.com/gpu" },
		     { "tpu", "google.com/tpu" },
		     { "TPU", "google.com/tpu" },
		     { "cpu", "cpu" },
		     { "CPU", "cpu" },
		     { "mem", "memory" },
		     { "Mem", "memory" },
		     { "stor", "ephemeral-storage" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(name, rows[i].part))
			return rows[i].resource;
	return "";
}

static bool is_with_domain(const char *name)
{
	return strchr(name, '/') && label_syntax_key(name);
}

/* One without a domain must be of Kubernetes. */
static void name_of_none(struct lint_subject *subject, const struct list *list,
			 const struct quantity *quantity)
{
	static const char *const known[] = { "cpu", "memory", "ephemeral-storage" };
	const char *resource = meant(quantity->name);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i], quantity->name) == 0)
			return;
	if (is_with_domain(quantity->name) || strncmp(quantity->name, "hugepages-", 10) == 0)
		return;
	lint_report_finding(
		subject, LINT_RULE_POD_REFUSED, member(subject, list, quantity),
		*resource == '\0' ?
			"" :
			arena_printf(subject->arena, "%s: %s", resource, quantity->text),
		"%.64s in %s is not the name of a resource: write %s; the API server "
		"refuses each Pod of %s",
		quantity->name, list->where,
		*resource == '\0' ? "it with its domain, as example.com/name" : resource,
		subject->title);
}

void lint_pod_refused(struct lint_subject *subject)
{
	each_amount(subject, name_of_none);
	each_amount(subject, request_above_limit);
}
