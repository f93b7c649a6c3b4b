#include <string.h>

#include "core/capacity/tpu.h"
#include "core/nodes/node_match.h"
#include "feature/lint/core/lint_subject.h"

#define AFFINITY_ANNOTATION "scheduler.alpha.kubernetes.io/affinity"
#define OLD_MODEL_LABEL "alpha.kubernetes.io/nvidia-gpu-name"
#define MODEL_LABEL "nvidia.com/gpu.product"
#define VALUES_MAX 256

/* --- A7: the taint of GPU Nodes --- */

/* The key of the taint that Nodes with this resource have as a rule; NULL: none is usual. */
static const char *usual_taint(const char *resource)
{
	if (strncmp(resource, "nvidia.com/", strlen("nvidia.com/")) == 0 ||
	    strcmp(resource, "alpha.kubernetes.io/nvidia-gpu") == 0)
		return "nvidia.com/gpu";
	return strcmp(resource, "amd.com/gpu") == 0 ? resource : NULL;
}

/* Ignores the value of the taint. */
static bool tolerates_key(const struct pod_spec *pod, const char *key)
{
	ARRAY_EACH(const struct toleration, one, pod->tolerations, pod->toleration_count) {
		bool any = one->key[0] == '\0' && strcmp(one->operation, "Exists") == 0;
		if ((any || strcmp(one->key, key) == 0) &&
		    (one->effect[0] == '\0' || strcmp(one->effect, "NoSchedule") == 0))
			return true;
	}
	return false;
}

static bool node_has(const struct node *node, const char *resource)
{
	const struct quantity *capacity = lint_quantity(&node->capacity, resource);
	const struct quantity *allocatable = lint_quantity(&node->allocatable, resource);
	return (capacity && capacity->amount > 0) || (allocatable && allocatable->amount > 0);
}

/* ExtendedResourceToleration tolerates the taint NoSchedule whose key is the resource's name. */
static bool plugin_adds(const char *resource, const struct taint *taint)
{
	return strcmp(resource, taint->key) == 0 && strcmp(taint->effect, "NoSchedule") == 0;
}

static void report_toleration(struct lint_subject *subject, enum lint_severity severity,
			      const struct taint *taint, const char *message)
{
	const char *fix = arena_printf(subject->arena,
				       "- key: %s\n"
				       "  operator: Exists\n"
				       "  effect: %s",
				       taint->key, taint->effect);
	const char *path = arena_printf(subject->arena, "%s.template.spec", subject->path);
	path = lint_place(subject, path, "tolerations", subject->pod->toleration_count > 0, &fix);
	lint_report_finding(subject, LINT_RULE_GPU_TOLERATION_MISSING, path, fix, "%s", message)
		->severity = severity;
}

/* Checks the Nodes that have the resource for the first taint that keeps the Pods off all of them.
 * False: no Node has the resource, so nothing is known. */
static bool judge_nodes(struct lint_subject *subject, const char *resource)
{
	const struct lint_context *context = subject->context;
	const struct taint *taint = NULL;
	const struct node *node = NULL;
	if (context->nodes_known)
		for (size_t i = 0; i < context->node_count; i++) {
			const struct taint *keeps;
			if (!node_has(&context->nodes[i], resource) ||
			    !node_match_selects(subject->pod, &context->nodes[i]))
				continue;
			keeps = node_match_taint(subject->pod, &context->nodes[i]);
			if (!keeps)
				return true;
			if (!taint) {
				taint = keeps;
				node = &context->nodes[i];
			}
		}
	if (!taint)
		return false;
	report_toleration(
		subject, plugin_adds(resource, taint) ? LINT_INFO : LINT_WARNING, taint,
		arena_printf(
			subject->arena,
			"the Pods of %s fit on no Node that has %s: Node %s has the taint %s:%s, "
			"which they do not tolerate%s",
			subject->title, resource, node->name, taint->key, taint->effect,
			plugin_adds(resource, taint) ?
				"; managed clusters (GKE, EKS, AKS) add the toleration by the "
				"ExtendedResourceToleration admission plugin" :
				""));
	return true;
}

void lint_gpu_toleration_missing(struct lint_subject *subject)
{
	struct quantities devices = lint_devices(subject, subject->pod);
	for (size_t i = 0; i < devices.count; i++) {
		const char *resource = devices.at[i].name, *key = usual_taint(resource);
		struct taint taint = { key, "", "NoSchedule", TIME_NONE };
		if (judge_nodes(subject, resource))
			return;
		if (!key || tolerates_key(subject->pod, key))
			continue;
		report_toleration(
			subject, LINT_INFO, &taint,
			arena_printf(subject->arena,
				     "the Pods of %s do not tolerate the taint %s:NoSchedule that "
				     "GPU Nodes have as a rule; managed clusters (GKE, EKS, AKS) "
				     "add a toleration for %s by the ExtendedResourceToleration "
				     "admission plugin, in others the Pods stay Pending",
				     subject->title, key, resource));
		return;
	}
}

/* --- A8: Pods that see GPUs which they did not request --- */

static bool node_has_nvidia(const struct lint_subject *subject, const struct node *node)
{
	for (size_t i = 0; i < lint_amount_count(&node->capacity); i++) {
		const struct device_row *row = lint_device(subject, &node->capacity.at[i]);
		if (lint_is_nvidia(row))
			return true;
	}
	return false;
}

/* A GPU Node that accepts the Pods; NULL with *ret_any false: no GPU Node is known. */
static const struct node *open_gpu_node(const struct lint_subject *subject, bool *ret_any)
{
	const struct lint_context *context = subject->context;
	*ret_any = false;
	if (!context->nodes_known)
		return NULL;
	ARRAY_EACH(const struct node, node, context->nodes, context->node_count) {
		if (!node_has_nvidia(subject, node))
			continue;
		*ret_any = true;
		if (node_match_selects(subject->pod, node) && !node_match_taint(subject->pod, node))
			return node;
	}
	return NULL;
}

static const char *visible_place(struct lint_subject *subject, size_t at, const char **ret_fix)
{
	*ret_fix = "- name: " VISIBLE_DEVICES_VARIABLE "\n  value: void";
	if (at < subject->container->env_count) {
		*ret_fix = "value: void";
		return arena_printf(subject->arena, "%s.env[%zu].value", subject->container_path,
				    at);
	}
	return lint_place(subject, subject->container_path, "env",
			  subject->container->env_count > 0, ret_fix);
}

void lint_gpu_visible_without_request(struct lint_subject *subject)
{
	const struct container *container = subject->container;
	const struct node *node;
	const char *fix, *path;
	size_t at = 0;
	bool any;
	if (!container || lint_devices(subject, subject->pod).count > 0 ||
	    container->claim_count > 0 || !subject->cluster_has_nvidia)
		return;
	while (at < container->env_count &&
	       strcmp(container->env[at].name, VISIBLE_DEVICES_VARIABLE) != 0)
		at++;
	if (at < container->env_count && strcmp(container->env[at].value, "all") != 0)
		return;
	node = open_gpu_node(subject, &any);
	if (any && !node)
		return;
	path = visible_place(subject, at, &fix);
	lint_report_finding(
		subject, LINT_RULE_GPU_VISIBLE_WITHOUT_REQUEST, path, fix,
		"the Pods of %s ask for no GPU and see all of a GPU Node that they land on%s, "
		"because " VISIBLE_DEVICES_VARIABLE " is \"all\" %s",
		subject->title,
		node ? arena_printf(subject->arena, " (Node %s takes them)", node->name) : "",
		at < container->env_count ? "here" : "by default")
		->severity = node ? LINT_WARNING : LINT_INFO;
}

/* --- TPU slices --- */

void lint_tpu_selector_missing(struct lint_subject *subject)
{
	const struct labels *selector = &subject->pod->node_selector;
	bool topology = labels_value(selector, TPU_TOPOLOGY_SELECTOR) != NULL;
	bool accelerator = labels_value(selector, TPU_ACCELERATOR_SELECTOR) != NULL;
	const char *fix, *path;
	if (resources_amount(&subject->capacity.resources, "TPU", 0) == 0 ||
	    (topology && accelerator))
		return;
	fix = arena_printf(subject->arena, "%s%s%s",
			   accelerator ? "" : TPU_ACCELERATOR_SELECTOR ": tpu-v6e-slice",
			   topology || accelerator ? "" : "\n",
			   topology ? "" : TPU_TOPOLOGY_SELECTOR ": 2x2");
	path = arena_printf(subject->arena, "%s.template.spec", subject->path);
	path = lint_place(subject, path, "nodeSelector", selector->count > 0, &fix);
	lint_report_finding(subject, LINT_RULE_TPU_SELECTOR_MISSING, path, fix,
			    "%s has TPUs without the node selectors " TPU_ACCELERATOR_SELECTOR
			    " and " TPU_TOPOLOGY_SELECTOR
			    ": the resource TPU-...-head of a slice is not known "
			    "before a worker lives",
			    subject->title);
}

/* --- A9, D5: Nodes by label --- */

/* A value that Nodes have for a label, the first by name; NULL: no Node has the label. */
static const char *value_of_nodes(const struct lint_context *context, const char *key)
{
	const char *found = NULL;
	for (size_t i = 0; i < context->node_count; i++) {
		const char *value = labels_value(&context->nodes[i].labels, key);
		if (value && (!found || strcmp(value, found) < 0))
			found = value;
	}
	return found;
}

static bool some_node_has(const struct lint_context *context, const struct label *label)
{
	struct labels one = { label, 1 };
	for (size_t i = 0; i < context->node_count; i++)
		if (node_match_selector(&one, &context->nodes[i]))
			return true;
	return false;
}

static void report_selector(struct lint_subject *subject, const char *spec)
{
	const struct labels *selector = &subject->pod->node_selector;
	const char *path = arena_printf(subject->arena, "%s.nodeSelector", spec);
	VEC_EACH(const struct label, label, selector) {
		const char *value = value_of_nodes(subject->context, label->key);
		if (some_node_has(subject->context, label))
			continue;
		lint_report_finding(
			subject, LINT_RULE_SELECTOR_MATCHES_NO_NODE,
			lint_path_member(subject->arena, path, label->key),
			value ? arena_printf(subject->arena, "%s: \"%s\"", label->key, value) : "",
			"no Node has the label %s=%s that the Pods of %s ask for%s", label->key,
			label->value, subject->title,
			value ? arena_printf(subject->arena, "; there is %s=%s", label->key,
					     value) :
				"");
		return;
	}
	lint_report_finding(subject, LINT_RULE_SELECTOR_MATCHES_NO_NODE, path, "",
			    "no Node has all labels of nodeSelector of %s together",
			    subject->title);
}

/* The first label of the terms that Nodes have with other values. */
static const char *affinity_fix(struct lint_subject *subject)
{
	ARRAY_EACH(const struct node_term, term, subject->pod->required_node_terms,
		   subject->pod->required_node_term_count) {
		ARRAY_EACH(const struct node_expression, one, term->expressions, term->count) {
			const char *value = value_of_nodes(subject->context, one->key);
			if (!value || one->is_field || strcmp(one->operation, "In") != 0)
				continue;
			return arena_printf(subject->arena,
					    "- key: %s\n"
					    "  operator: In\n"
					    "  values: [\"%s\"]",
					    one->key, value);
		}
	}
	return "";
}

void lint_selector_matches_no_node(struct lint_subject *subject)
{
	const struct lint_context *context = subject->context;
	const char *spec = arena_printf(subject->arena, "%s.template.spec", subject->path);
	bool selector = false, affinity = false;
	if (!context->nodes_known)
		return;
	for (size_t i = 0; i < context->node_count; i++) {
		bool selects =
			node_match_selector(&subject->pod->node_selector, &context->nodes[i]);
		if (selects && node_match_affinity(subject->pod, &context->nodes[i]))
			return;
		selector = selector || selects;
		affinity = affinity || node_match_affinity(subject->pod, &context->nodes[i]);
	}
	if (!selector && subject->pod->node_selector.count > 0)
		report_selector(subject, spec);
	else if (subject->pod->required_node_term_count > 0)
		lint_report_finding(
			subject, LINT_RULE_SELECTOR_MATCHES_NO_NODE,
			arena_printf(subject->arena,
				     "%s.affinity.nodeAffinity"
				     ".requiredDuringSchedulingIgnoredDuringExecution",
				     spec),
			affinity ? "" : affinity_fix(subject),
			affinity ? "no Node fits nodeSelector and required node affinity of %s "
				   "together" :
				   "no Node fits the required node affinity of %s",
			subject->title);
}

/* --- D5: the annotation of before Kubernetes 1.6 --- */

/* The text in quotes behind `"key":`, "" for none; it is only a proposal, so no JSON is read. */
static const char *annotation_key(struct lint_subject *subject, const char *text)
{
	const char *at = strstr(text, "\"key\""), *end;
	at = at ? strchr(at + strlen("\"key\""), '"') : NULL;
	end = at ? strchr(at + 1, '"') : NULL;
	if (!end || end - at > VALUES_MAX)
		return MODEL_LABEL;
	const char *key = arena_strndup(subject->arena, at + 1, (size_t)(end - at - 1));
	return strcmp(key, OLD_MODEL_LABEL) == 0 ? MODEL_LABEL : key;
}

static const char *annotation_values(struct lint_subject *subject, const char *text)
{
	const char *at = strstr(text, "\"values\""), *end;
	at = at ? strchr(at, '[') : NULL;
	end = at ? strchr(at, ']') : NULL;
	if (!end || end - at > VALUES_MAX)
		return "[\"NVIDIA-A100-SXM4-40GB\"]";
	return arena_strndup(subject->arena, at, (size_t)(end - at + 1));
}

void lint_affinity_annotation_obsolete(struct lint_subject *subject)
{
	const char *text = labels_value(&subject->template->annotations, AFFINITY_ANNOTATION);
	if (!text)
		return;
	lint_report_finding(subject, LINT_RULE_AFFINITY_ANNOTATION_OBSOLETE,
			    arena_printf(subject->arena, "%s.template.metadata.annotations[\"%s\"]",
					 subject->path, AFFINITY_ANNOTATION),
			    arena_printf(subject->arena,
					 "affinity:\n"
					 "  nodeAffinity:\n"
					 "    requiredDuringSchedulingIgnoredDuringExecution:\n"
					 "      nodeSelectorTerms:\n"
					 "      - matchExpressions:\n"
					 "        - key: %s\n"
					 "          operator: In\n"
					 "          values: %s",
					 annotation_key(subject, text),
					 annotation_values(subject, text)),
			    "the annotation " AFFINITY_ANNOTATION
			    " of %s has no effect since Kubernetes 1.8: its "
			    "Pods land on any Node; write it as affinity of the Pod's spec",
			    subject->title);
}
