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

/* GKE, EKS and AKS run that plugin; their Nodes have labels of these prefixes. */
static bool has_plugin(const struct node *node)
{
	static const char *const prefixes[] = { "cloud.google.com/gke-", "eks.amazonaws.com/",
						"kubernetes.azure.com/" };
	VEC_EACH(const struct label, label, &node->labels)
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (strncmp(label->key, prefixes[i], strlen(prefixes[i])) == 0)
				return true;
	return false;
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

static const struct taint *keeping_taint(const struct pod_spec *pod, const struct node *node,
					 const char *resource)
{
	const struct taint *taint = node_match_taint(pod, node);
	return taint && plugin_adds(resource, taint) && has_plugin(node) ? NULL : taint;
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
			keeps = keeping_taint(subject->pod, &context->nodes[i], resource);
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
			plugin_adds(resource, taint) ? "; add it, unless the admission plugin "
						       "ExtendedResourceToleration does" :
						       ""));
	return true;
}

/* Without Nodes a taint with the name of the resource is not reported: GKE, EKS and AKS tolerate it. */
void lint_gpu_toleration_missing(struct lint_subject *subject)
{
	struct quantities devices = lint_devices(subject, subject->pod);
	for (size_t i = 0; i < devices.count; i++) {
		const char *resource = devices.at[i].name, *key = usual_taint(resource);
		struct taint taint = { key, "", "NoSchedule", TIME_NONE };
		if (judge_nodes(subject, resource))
			return;
		if (!key || plugin_adds(resource, &taint) || tolerates_key(subject->pod, key))
			continue;
		report_toleration(
			subject, LINT_INFO, &taint,
			arena_printf(
				subject->arena,
				"the Pods of %s do not tolerate the taint %s:NoSchedule that "
				"GPU Nodes have as a rule, and the admission plugin of GKE, EKS "
				"and AKS adds a toleration for %s alone",
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

/* A GPU Node that accepts the Pods. NULL: none is known that does. */
static const struct node *open_gpu_node(const struct lint_subject *subject)
{
	const struct lint_context *context = subject->context;
	ARRAY_EACH(const struct node, node, context->nodes, context->node_count)
		if (node_has_nvidia(subject, node) && node_match_selects(subject->pod, node) &&
		    !node_match_taint(subject->pod, node))
			return node;
	return NULL;
}

static bool any_gpu_node(const struct lint_subject *subject)
{
	const struct lint_context *context = subject->context;
	ARRAY_EACH(const struct node, node, context->nodes, context->node_count)
		if (node_has_nvidia(subject, node))
			return true;
	return false;
}

static bool asks_for_gpus(const struct lint_subject *subject, const struct pod_spec *pod)
{
	return lint_devices(subject, pod).count > 0;
}

/* The Pods are for the Nodes of a group with GPUs: they ask for the same labels. */
static bool selects_gpu_nodes(const struct lint_subject *subject)
{
	const struct labels *own = &subject->pod->node_selector;
	const struct ray_cluster *cluster = subject->cluster;
	for (size_t g = 0; own->count > 0 && g < cluster->group_count; g++) {
		const struct pod_spec *other = &cluster->groups[g].template.spec;
		struct node gpu_node = { .labels = other->node_selector };
		if (node_match_selector(own, &gpu_node) && asks_for_gpus(subject, other))
			return true;
	}
	return false;
}

/* Whether a GPU Node could take the Pods; *ret_node: one that does, NULL for none. */
static bool may_take(const struct lint_subject *subject, bool asks_for_all,
		     const struct node **ret_node)
{
	*ret_node = open_gpu_node(subject);
	if (any_gpu_node(subject))
		return *ret_node;
	return asks_for_all || tolerates_key(subject->pod, "nvidia.com/gpu") ||
	       selects_gpu_nodes(subject);
}

static bool is_reported(const struct lint_subject *subject, enum lint_rule_id rule)
{
	const char *name = lint_rules()[rule].name;
	VEC_EACH(const struct lint_finding, finding, &subject->findings->list)
		if (strcmp(finding->rule, name) == 0)
			return true;
	return false;
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

/* Once for a cluster. */
void lint_gpu_visible_without_request(struct lint_subject *subject)
{
	const struct container *container = subject->container;
	const struct node *node;
	const char *fix, *path;
	size_t at = 0;
	if (!container || asks_for_gpus(subject, subject->pod) || container->claim_count > 0 ||
	    !subject->cluster_has_nvidia ||
	    is_reported(subject, LINT_RULE_GPU_VISIBLE_WITHOUT_REQUEST))
		return;
	while (at < container->env_count &&
	       strcmp(container->env[at].name, VISIBLE_DEVICES_VARIABLE) != 0)
		at++;
	if (at < container->env_count && strcmp(container->env[at].value, "all") != 0)
		return;
	if (!may_take(subject, at < container->env_count, &node))
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

/* A host is a Pod with all chips of its Node. */
void lint_tpu_hosts_differ(struct lint_subject *subject)
{
	const char *topology = labels_value(&subject->pod->node_selector, TPU_TOPOLOGY_SELECTOR);
	const struct quantity *tpus =
		subject->container ?
			quantities_find(&subject->container->limits, "google.com/tpu") :
			NULL;
	int64_t chips, hosts, each = tpus && tpus->valid ? tpus->amount / RESOURCE_UNIT : 0;

	if (!subject->group || !topology || each <= 0 || !tpu_chips(topology, &chips))
		return;
	hosts = chips / each;
	if (chips % each == 0 && hosts == subject->group->num_of_hosts)
		return;
	if (chips % each != 0)
		lint_report_finding(
			subject, LINT_RULE_TPU_HOSTS_DIFFER,
			arena_printf(subject->arena, "%s.resources.limits[\"google.com/tpu\"]",
				     subject->container_path),
			"",
			"topology %s has %lld chips, not a multiple of the %lld of a Pod of "
			"%s: write the chips of one Node",
			topology, (long long)chips, (long long)each, subject->title);
	else
		lint_report_finding(
			subject, LINT_RULE_TPU_HOSTS_DIFFER,
			lint_path_member(subject->arena, subject->path, "numOfHosts"),
			arena_printf(subject->arena, "numOfHosts: %lld", (long long)hosts),
			"a slice of topology %s has %lld hosts of %lld chips, and numOfHosts of %s "
			"is %lld",
			topology, (long long)hosts, (long long)each, subject->title,
			(long long)subject->group->num_of_hosts);
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
