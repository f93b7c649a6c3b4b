#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "feature/lint/core/lint_subject.h"

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

/* Labels with few values, which are separated by "|": of kubelets (GOOS and GOARCH), Karpenter, EKS, AKS and GKE. */
static const struct {
	const char *keys, *values;
} label_values[] = {
	{ "|kubernetes.io/os|beta.kubernetes.io/os|", "linux|windows" },
	{ "|kubernetes.io/arch|beta.kubernetes.io/arch|",
	  "amd64|arm64|arm|386|ppc64le|s390x|riscv64|loong64" },
	{ "|karpenter.sh/capacity-type|", "spot|on-demand|reserved" },
	{ "|eks.amazonaws.com/capacityType|", "SPOT|ON_DEMAND|CAPACITY_BLOCK" },
	{ "|kubernetes.azure.com/scalesetpriority|", "spot|regular" },
	{ "|cloud.google.com/gke-spot|nvidia.com/gpu.present|", "true" },
};

/* Names that machines and vendors have for an architecture. */
static const struct {
	const char *given, *value;
} other_names[] = { { "x86_64", "amd64" },       { "x86-64", "amd64" },
		    { "x64", "amd64" },          { "aarch64", "arm64" },
		    { "armv8", "arm64" },        { "i386", "386" },
		    { "SPOT", "spot" },          { "spot", "SPOT" },
		    { "ondemand", "on-demand" }, { "on-demand", "ON_DEMAND" },
		    { "ON_DEMAND", "on-demand" } };

/* The value that was meant; "": unknown. */
static const char *meant(const char *given, const char *values, struct arena *arena)
{
	struct nearest nearest = nearest_start(given);

	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (strcmp(other_names[i].given, given) == 0 &&
		    text_is_word(other_names[i].value, values))
			return other_names[i].value;
	for (const char *word = values; *word != '\0';
	     word += strcspn(word, "|"), word += *word == '|')
		nearest_offer(&nearest, arena_strndup(arena, word, strcspn(word, "|")));
	return nearest.word ? nearest.word : "";
}

static const char *selector_path(struct lint_subject *subject, const char *key)
{
	return lint_path_member(
		subject->arena,
		arena_printf(subject->arena, "%s.template.spec.nodeSelector", subject->path), key);
}

static void look_for_value(struct lint_subject *subject, const struct label *given)
{
	const char *key = arena_printf(subject->arena, "|%.253s|", given->key), *value;
	size_t i = 0, count = sizeof(label_values) / sizeof(label_values[0]);

	while (i < count && !strstr(label_values[i].keys, key))
		i++;
	if (i == count)
		return;
	if (i == 0 && strcmp(given->value, "windows") == 0) {
		lint_report_finding(subject, LINT_RULE_GPU_NAME_MISSPELT,
				    selector_path(subject, given->key),
				    arena_printf(subject->arena, "%s: linux", given->key),
				    "%s asks for Nodes with Windows, and KubeRay starts Ray with a "
				    "shell of Linux: write linux",
				    subject->title);
		return;
	}
	if (text_is_word(given->value, label_values[i].values))
		return;
	value = meant(given->value, label_values[i].values, subject->arena);
	lint_report_finding(
		subject, LINT_RULE_GPU_NAME_MISSPELT, selector_path(subject, given->key),
		*value == '\0' ? "" : arena_printf(subject->arena, "%s: %s", given->key, value),
		"no Node has %.64s %.64s, so the Pods of %s fit on none; write one of %s",
		given->key, given->value, subject->title, label_values[i].values);
}

static void look_for_label(struct lint_subject *subject, const struct label *given)
{
	const size_t count = sizeof(node_labels) / sizeof(node_labels[0]);

	if (text_is_among(given->key, node_labels, count))
		return;
	for (size_t i = 0; i < count; i++)
		if (nearest_distance(given->key, node_labels[i]) <= 1) {
			lint_report_finding(
				subject, LINT_RULE_GPU_NAME_MISSPELT,
				selector_path(subject, given->key),
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
	VEC_EACH(const struct label, label, &subject->template->spec.node_selector) {
		look_for_label(subject, label);
		look_for_value(subject, label);
	}
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
