#include <string.h>

#include "base/nearest.h"
#include "core/capacity/resize_limits.h"
#include "feature/lint/core/lint_subject.h"

#define PREFIX "rayscaler.dev/"
#define IN_TEMPLATE "write it into template.metadata.annotations of the group"

/* Names with an effect elsewhere. */
static const struct {
	const char *key;
	bool is_label; /* here it is a label, else an annotation */
	const char *cure;
} misplaced[] = {
	{ ANNOTATION_MANAGED, true, "write it into metadata.annotations" },
	{ ANNOTATION_REQUEST_RESOURCES, true, "write it into metadata.annotations" },
	{ ANNOTATION_RESIZE, true, "write it into metadata.annotations" },
	{ ANNOTATION_DO_NOT_DISRUPT, true,
	  "write it as annotation into template.metadata of the group" },
	{ ANNOTATION_DO_NOT_DISRUPT, false, IN_TEMPLATE },
	{ KARPENTER_ANNOTATION, false, IN_TEMPLATE },
	{ PREFIX "paused", false, "write paused: true into the RayClusterAutoscaler of this name" },
	{ PREFIX "paused", true, "write paused: true into the RayClusterAutoscaler of this name" },
	{ "kueue.x-k8s.io/queue-name", false, "write it into metadata.labels" },
	{ "kueue.x-k8s.io/elastic-job", true, "write it into metadata.annotations" },
	{ "ray.io/overwrite-container-cmd", true, "write it into metadata.annotations" },
	{ "ray.io/ft-enabled", true, "write it into metadata.annotations" },
	{ "ray.io/gang-scheduling-enabled", false, "write it into metadata.labels" },
	{ "ray.io/priority-class-name", false, "write it into metadata.labels" },
	{ "ray.io/accelerator-type", false, "write it into labels of the group" },
	{ "ray.io/market-type", false, "write it into labels of the group" },
	{ "gpu-fraction", false, IN_TEMPLATE },
	{ "gpu-memory", false, IN_TEMPLATE },
	{ "gpu-fraction", true, IN_TEMPLATE },
	{ "gpu-memory", true, IN_TEMPLATE },
	{ "kai.scheduler/queue", false, "write it into metadata.labels" },
	{ "volcano.sh/queue-name", false, "write it into metadata.labels" },
	{ "yunikorn.apache.org/queue", false, "write it into metadata.labels" },
};

static const char *place_of(const char *key, bool is_label)
{
	for (size_t i = 0; i < sizeof(misplaced) / sizeof(misplaced[0]); i++)
		if (misplaced[i].is_label == is_label && strcmp(misplaced[i].key, key) == 0)
			return misplaced[i].cure;
	return NULL;
}

/* True: a label or annotation that has an effect in another place, and none here. */
static bool report_misplaced(struct lint_subject *subject, const char *path, const char *key,
			     bool is_label)
{
	const char *cure = place_of(key, is_label);

	if (cure)
		lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path, "",
				    "%s %.100s has no effect on a RayCluster: %s",
				    is_label ? "label" : "annotation", key, cure)
			->severity = LINT_ERROR;
	return cure;
}

/* Those that an object of ray.io may have; of KubeRay: ray-operator/controllers/ray/utils/constant.go and its
 * apiserver, 1.7.0. */
static const struct {
	const char *prefix, *names[20];
} known_annotations[] = {
	{ PREFIX, { ANNOTATION_MANAGED, ANNOTATION_REQUEST_RESOURCES, ANNOTATION_SUSPENDED } },
	{ "ray.io/",
	  { ANNOTATION_RESIZE, "ray.io/ft-enabled", "ray.io/external-storage-namespace",
	    "ray.io/gcs-ft-deletion-timeout", "ray.io/overwrite-container-cmd",
	    "ray.io/initializing-timeout", "ray.io/enable-serve-service",
	    "ray.io/disable-provisioned-head-restart", "ray.io/cronjob-scheduled-timestamp",
	    "ray.io/hash-without-replicas-and-workers-to-delete",
	    "ray.io/upgrade-strategy-recreate-hash", "ray.io/num-worker-groups",
	    "ray.io/kuberay-version", "ray.io/compute-template", "ray.io/compute-image",
	    "ray.io/creation-timestamp", "ray.io/update-timestamp" } },
};

/* Of a prefix of which all names are known. */
static void check_known(struct lint_subject *subject, const char *path, const char *key)
{
	struct nearest nearest = nearest_start(key);
	char hint[NEAREST_HINT_SIZE];
	size_t of = 0, count = sizeof(known_annotations) / sizeof(known_annotations[0]);
	while (of < count && strncmp(key, known_annotations[of].prefix,
				     strlen(known_annotations[of].prefix)) != 0)
		of++;
	if (of == count)
		return;
	for (const char *const *name = known_annotations[of].names; *name; name++) {
		if (strcmp(key, *name) == 0)
			return;
		nearest_offer(&nearest, *name);
	}
	lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path, "",
			    "annotation %.100s is unknown and has no effect%s", key,
			    nearest.word ? nearest_hint(&nearest, hint) :
					   "; correct the name, or remove it");
}

/* ---- parts of GPUs ---- */

static void report_part(struct lint_subject *subject, const char *name, const char *why)
{
	const char *path =
		arena_printf(subject->arena, "%s.template.metadata.annotations", subject->path);

	lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID,
			    lint_path_member(subject->arena, path, name), "",
			    "%s %s; KAI refuses each Pod of %s", name, why, subject->title)
		->severity = LINT_ERROR;
}

static bool is_fraction(const struct lint_subject *subject, const char *text)
{
	const struct quantity *part = quantities_find(&subject->pod->gpu_shares, "gpu-fraction");

	return part && text[strspn(text, "0123456789.")] == '\0' && text[0] < '1' &&
	       part->amount > 0;
}

/* As KAI's admission webhook does. */
static void check_gpu_part(struct lint_subject *subject)
{
	const struct labels *annotations = &subject->template->annotations;
	const char *fraction = labels_value(annotations, "gpu-fraction");
	const char *memory = labels_value(annotations, "gpu-memory");
	const struct container *container = subject->container;

	if (fraction && !is_fraction(subject, fraction))
		report_part(
			subject, "gpu-fraction",
			arena_printf(subject->arena,
				     "must be above 0 and below 1, is \"%.32s\": write \"0.5\", "
				     "or whole GPUs as limits of nvidia.com/gpu",
				     fraction));
	if (memory &&
	    (memory[strspn(memory, "0123456789")] != '\0' || strspn(memory, "0") == strlen(memory)))
		report_part(
			subject, "gpu-memory",
			arena_printf(subject->arena,
				     "must be a whole number of MiB, is \"%.32s\": write \"4000\"",
				     memory));
	if (fraction && memory)
		report_part(subject, "gpu-memory", "is there beside gpu-fraction: remove one");
	if ((fraction || memory) && container &&
	    (lint_quantity(&container->limits, "nvidia.com/gpu") ||
	     lint_quantity(&container->requests, "nvidia.com/gpu")))
		report_part(subject, fraction ? "gpu-fraction" : "gpu-memory",
			    "is there beside nvidia.com/gpu, a whole GPU: remove one");
}

/* Those of a template, and once those of the RayCluster. */
void lint_annotation_invalid(struct lint_subject *subject)
{
	const struct labels *annotations = &subject->cluster->annotations;
	check_gpu_part(subject);
	if (subject->group)
		return;
	VEC_EACH(const struct label, label, &subject->cluster->labels)
		(void)report_misplaced(
			subject, lint_path_member(subject->arena, "metadata.labels", label->key),
			label->key, true);
	for (size_t i = 0; i < annotations->count; i++) {
		const char *key = annotations->at[i].key, *value = annotations->at[i].value;
		const char *path = lint_path_member(subject->arena, "metadata.annotations", key);
		if (report_misplaced(subject, path, key, false))
			continue;
		check_known(subject, path, key);
		if (strcmp(key, ANNOTATION_MANAGED) == 0 && strcmp(value, "true") != 0 &&
		    strcmp(value, "false") != 0)
			lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path,
					    ANNOTATION_MANAGED ": \"false\"  # or \"true\"",
					    ANNOTATION_MANAGED
					    " must be \"true\" or \"false\", is \"%.64s\"; "
					    "the RayCluster is not scaled",
					    value)
				->severity = LINT_ERROR;
	}
}

void lint_resize_invalid(struct lint_subject *subject)
{
	const struct resize_limits *limits = subject->cluster->resize;
	const char *path =
		lint_path_member(subject->arena, "metadata.annotations", ANNOTATION_RESIZE);

	if (subject->group || !limits)
		return;
	if (limits->problem)
		lint_report_finding(subject, LINT_RULE_RESIZE_INVALID, path, "", "%s",
				    limits->problem);
	for (size_t i = 0; i < limits->group_count; i++) {
		const char *problem =
			resize_limits_problem(subject->cluster, &limits->groups[i], subject->arena);

		if (problem)
			lint_report_finding(subject, LINT_RULE_RESIZE_INVALID, path, "", "%s",
					    problem);
	}
}

static void look_for_misspelt(struct lint_subject *subject, const char *path,
			      const struct quantity *quantity)
{
	const struct device_table *devices = subject->context->devices;
	for (size_t i = 0; i < devices->count; i++) {
		const char *name = devices->rows[i].resource;
		if (strchr(name, '*') || nearest_distance(quantity->name, name) > 1)
			continue;
		lint_report_finding(
			subject, LINT_RULE_GPU_NAME_MISSPELT,
			lint_path_member(subject->arena, path, quantity->name),
			arena_printf(subject->arena, "%s: %s", name, quantity->text),
			"%.64s of %s is not the name of a known accelerator, and its Pods fit on no Node that "
			"lacks it; did you mean %s?",
			quantity->name, subject->title, name);
		return;
	}
}

/* Limits and requests of the Ray container. Names that the table describes are left out. */
void lint_gpu_name_misspelt(struct lint_subject *subject)
{
	if (!subject->container)
		return;
	for (int l = 0; l < 2; l++) {
		const struct quantities *list = l == 0 ? &subject->container->limits :
							 &subject->container->requests;
		const char *path = arena_printf(subject->arena, "%s.resources.%s",
						subject->container_path,
						l == 0 ? "limits" : "requests");
		for (size_t i = 0; i < lint_amount_count(list); i++) {
			const char *name = list->at[i].name;
			const struct device_row *row = device_find(subject->context->devices, name);
			/* KubeRay counts any name that ends in "gpu". */
			if (strchr(name, '/') && (!row || row->resource[0] == '*'))
				look_for_misspelt(subject, path, &list->at[i]);
		}
	}
}
