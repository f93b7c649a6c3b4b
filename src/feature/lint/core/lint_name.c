#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "core/capacity/resize_limits.h"
#include "feature/lint/core/lint_subject.h"

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

/* "nvidia/gpu" and "cloud.google.com/tpu" for nvidia.com/gpu and google.com/tpu: the same resource, with another
 * domain of the same vendor. */
static bool has_other_domain(const char *given, const char *known)
{
	const char *resource = strchr(known, '/'), *own = strchr(given, '/');
	size_t vendor = strcspn(known, "./");

	if (!resource || nearest_distance(own, resource) != 0)
		return false;
	for (const char *at = given; at < own; at += strcspn(at, "./"), at += *at == '.')
		if (strcspn(at, "./") == vendor && strncmp(at, known, vendor) == 0)
			return true;
	return false;
}

static void look_for_misspelt(struct lint_subject *subject, const char *path,
			      const struct quantity *quantity)
{
	const struct device_table *devices = subject->context->devices;
	for (size_t i = 0; i < devices->count; i++) {
		const char *name = devices->rows[i].resource;
		if (strchr(name, '*') || (nearest_distance(quantity->name, name) > 1 &&
					  !has_other_domain(quantity->name, name)))
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

/* Labels of Nodes that clouds and device plugins set. */
static const char *const node_labels[] = {
	"cloud.google.com/gke-accelerator",
	"cloud.google.com/gke-accelerator-count",
	"cloud.google.com/gke-nodepool",
	"cloud.google.com/gke-spot",
	"cloud.google.com/gke-tpu-accelerator",
	"cloud.google.com/gke-tpu-topology",
	"eks.amazonaws.com/capacityType",
	"eks.amazonaws.com/nodegroup",
	"karpenter.sh/capacity-type",
	"karpenter.sh/nodepool",
	"kubernetes.azure.com/agentpool",
	"kubernetes.azure.com/scalesetpriority",
	"kubernetes.io/arch",
	"kubernetes.io/hostname",
	"kubernetes.io/os",
	"node.kubernetes.io/instance-type",
	"nvidia.com/gpu.count",
	"nvidia.com/gpu.memory",
	"nvidia.com/gpu.present",
	"nvidia.com/gpu.product",
	"topology.kubernetes.io/region",
	"topology.kubernetes.io/zone",
};

static void look_for_label(struct lint_subject *subject, const struct label *given)
{
	const size_t count = sizeof(node_labels) / sizeof(node_labels[0]);

	if (text_is_among(given->key, node_labels, count))
		return;
	for (size_t i = 0; i < count; i++)
		if (nearest_distance(given->key, node_labels[i]) <= 1) {
			lint_report_finding(
				subject, LINT_RULE_GPU_NAME_MISSPELT,
				lint_path_member(subject->arena,
						 arena_printf(subject->arena,
							      "%s.template.spec.nodeSelector",
							      subject->path),
						 given->key),
				arena_printf(subject->arena, "%s: %s", node_labels[i],
					     given->value),
				"%.64s of %s is not a label that clouds give to Nodes, and its Pods fit "
				"on no Node that lacks it; did you mean %s?",
				given->key, subject->title, node_labels[i]);
			return;
		}
}

/* Limits and requests of the Ray container. Names that the table describes are left out. */
void lint_gpu_name_misspelt(struct lint_subject *subject)
{
	VEC_EACH(const struct label, label, &subject->template->spec.node_selector)
		look_for_label(subject, label);
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
