#include "codec/objects/pod_spec_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/gpu_annotation.h"
#include "codec/objects/redact.h"
#include "codec/schema/field.h"
#include "codec/schema/scheduling.h"
#include "core/model/autoscaler_container.h"
#include "feature_codec.h"

#define PORT_MAX 65535

static int port_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct container_port *port = object;

	if (field_decode(member, field, object))
		return -1;
	if (port->port < 1 || port->port > PORT_MAX) {
		json_problem(member->parent, "containerPort must be 1 to %d", PORT_MAX);
		port->port = 0;
	}
	return 0;
}

static void write_words(struct json_writer *writer, const char *name, const struct strings *words,
			bool *next_is_secret)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	if (words->count == 0)
		return;
	json_write_array_line(writer, name);
	for (size_t i = 0; i < words->count; i++)
		json_write_text(writer, NULL, redact_command(words->at[i], next_is_secret, &arena));
	json_write_array_end(writer);
}

static bool is_autoscaler(const struct container *container)
{
	return strcmp(container->name, AUTOSCALER_CONTAINER) == 0;
}

/* Only the words of this container are used (to find a second autoscaler). */
static void write_command(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct container *container = object;
	bool next_is_secret = false;

	if (!is_autoscaler(container))
		return;
	write_words(writer, field->name, &container->command, &next_is_secret);
	write_words(writer, "args", &container->args, &next_is_secret);
}

/* The name is the first row. A script may have 1 MiB. */
static int command_decode(const struct json_at *member, const struct field *field, void *object)
{
	if (!is_autoscaler(object))
		return json_optional(member, JSON_ARRAY);
	return field_decode(member, field, object);
}

static const struct field port_fields[] = {
	FIELD_TEXT(struct container_port, name, "name"),
	FIELD_INTEGER(struct container_port, port, "containerPort", .flags = FIELD_ALWAYS,
		      .read = port_decode),
	FIELD_END,
};

/* Those that are read: of a second autoscaler, and by a rule of lint. */
static int env_value_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct env_variable *variable = object;

	variable->value = "";
	if (strcmp(variable->name, AUTOSCALER_MODE_VARIABLE) == 0 ||
	    strcmp(variable->name, VISIBLE_DEVICES_VARIABLE) == 0)
		return field_decode(member, field, object);
	return 0;
}

/* Other values may be secret. */
static void write_env_value(struct json_writer *writer, const struct field *field,
			    const void *object)
{
	const struct env_variable *variable = object;

	if (strcmp(variable->name, AUTOSCALER_MODE_VARIABLE) == 0)
		field_write_value(writer, field, object);
}

const struct field env_fields[] = {
	FIELD_TEXT(struct env_variable, name, "name"),
	FIELD_SHOWN(struct env_variable, value, "value", .read = env_value_decode,
		    .write = write_env_value),
	FIELD_NAMES("valueFrom"),
};

static const struct field container_claim_fields[] = {
	FIELD_TEXT(struct container_claim, name, "name"),
	FIELD_TEXT(struct container_claim, request, "request"),
	FIELD_NAMES(NULL),
};

const struct field resources_fields[] = {
	FIELD_QUANTITIES(struct container, limits, "limits"),
	FIELD_QUANTITIES(struct container, requests, "requests"),
	FIELD_LIST(struct container, claims, claim_count, container_claim_fields, "claims",
		   .flags = FIELD_LINE),
	FIELD_NAMES(NULL),
};

/* The names of containers and Pods are those of Kubernetes 1.35: e2e/tests/test_lint_rows.py
 * compares them with an API server's. */
static const struct field container_fields[] = {
	FIELD_TEXT(struct container, name, "name"),
	FIELD_SHOWN(struct container, image, "image"),
	FIELD_TEXTS(struct container, command, "command", .flags = FIELD_ALWAYS,
		    .read = command_decode, .write = write_command),
	FIELD_TEXTS(struct container, args, "args", .flags = FIELD_UNWRITTEN,
		    .read = command_decode),
	FIELD_OBJECT(resources_fields, "resources", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct container, ports, port_count, port_fields, "ports", .flags = FIELD_LINE),
	FIELD_LIST(struct container, env, env_count, env_fields, "env", .flags = FIELD_LINE),
	FEATURE_CONTAINER_ROWS(struct container)
		FIELD_NAMES("envFrom", "imagePullPolicy", "lifecycle", "livenessProbe",
			    "readinessProbe", "restartPolicy", "restartPolicyRules",
			    "securityContext", "startupProbe", "stdin", "stdinOnce",
			    "terminationMessagePath", "terminationMessagePolicy", "tty",
			    "volumeDevices", "volumeMounts", "workingDir"),
};

/* Ray's container, and some beside it as they are; of more only those that ask for something or may be a
 * second autoscaler: no decision reads others, and a template may have 75,000. */
#define CONTAINERS_WHOLE 8

static bool is_kept(const struct json_at *container)
{
	struct json_at name = json_member(container, "name");
	struct json_at resources = json_member(container, "resources");

	return container->index < CONTAINERS_WHOLE || json_is_given(&resources) ||
	       (json_type(&name) == JSON_STRING &&
		strcmp(json_text_value(&name), AUTOSCALER_CONTAINER) == 0);
}

/* Limits and requests of all containers together: each is compared with each device, also on the loop. */
#define AMOUNTS_MAX 1000

static int containers_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	struct pod_spec *spec = object;
	VEC(struct container) kept = { .at = NULL };
	size_t count = 0, amounts = 0;

	if (json_optional(member, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		if (json_expect(&e, JSON_OBJECT))
			return -1;
		count += is_kept(&e);
	}
	VEC_RESERVE(member->reader->arena, &kept, count);
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct container *container;

		if (!is_kept(&e))
			continue;
		container = VEC_ADD(member->reader->arena, &kept);
		if (field_decode_all(&e, container_fields, container))
			return -1;
		amounts += container->limits.count + container->requests.count;
		if (amounts > AMOUNTS_MAX)
			return json_fail(member,
					 "limits and requests have more than %d amounts, the limit "
					 "for one Pod; remove some",
					 AMOUNTS_MAX);
	}
	spec->containers = kept.at;
	spec->container_count = kept.count;
	return 0;
}

/* ---- affinity ---- */

/* struct strings is a list of these. */
struct text_item {
	const char *name;
};

static const struct field required_fields[] = {
	FIELD_LIST(struct pod_spec, required_node_terms, required_node_term_count, node_term_fields,
		   "nodeSelectorTerms"),
	FIELD_END,
};

static const struct field node_affinity_fields[] = {
	FIELD_OBJECT(required_fields, "requiredDuringSchedulingIgnoredDuringExecution"),
	FIELD_END,
};

static const struct field pod_term_fields[] = {
	FIELD_TEXT(struct text_item, name, "topologyKey"),
	FIELD_END,
};

static const struct field pod_affinity_fields[] = {
	FIELD_LIST(struct pod_spec, pod_affinity_keys.at, pod_affinity_keys.count, pod_term_fields,
		   "requiredDuringSchedulingIgnoredDuringExecution", .flags = FIELD_LINE),
	FIELD_END,
};

static const struct field affinity_fields[] = {
	FIELD_OBJECT(node_affinity_fields, "nodeAffinity"),
	FIELD_OBJECT(pod_affinity_fields, "podAffinity"),
	FIELD_END,
};

/* ---- the spec ---- */

static const struct field gate_fields[] = { FIELD_TEXT(struct text_item, name, "name"), FIELD_END };

static const struct field claim_fields[] = {
	FIELD_TEXT(struct pod_claim, name, "name"),
	FIELD_TEXT(struct pod_claim, claim, "resourceClaimName"),
	FIELD_TEXT(struct pod_claim, template_, "resourceClaimTemplateName"),
	FIELD_NAMES(NULL),
};

static const struct field pod_resources_fields[] = {
	FIELD_QUANTITIES(struct pod_spec, resources.limits, "limits"),
	FIELD_QUANTITIES(struct pod_spec, resources.requests, "requests"),
	FIELD_NAMES("claims"),
};

static const struct field pod_group_fields[] = {
	FIELD_TEXT(struct pod_spec, pod_group, "podGroupName"),
	FIELD_NAMES(NULL),
};

static const struct field workload_fields[] = {
	FIELD_TEXT(struct pod_spec, workload, "name"),
	FIELD_NAMES("podGroup", "podGroupReplicaKey"),
};

const struct field pod_spec_fields[] = {
	FIELD_LIST(struct pod_spec, containers, container_count, container_fields, "containers",
		   .flags = FIELD_ALWAYS, .read = containers_decode),
	FIELD_LABELS(struct pod_spec, node_selector, "nodeSelector"),
	FIELD_OBJECT(affinity_fields, "affinity"),
	FIELD_LIST(struct pod_spec, tolerations, toleration_count, toleration_fields, "tolerations",
		   .flags = FIELD_LINE),
	FIELD_LIST(struct pod_spec, scheduling_gates.at, scheduling_gates.count, gate_fields,
		   "schedulingGates", .flags = FIELD_LINE),
	FIELD_TEXT(struct pod_spec, node_name, "nodeName"),
	FIELD_TEXT(struct pod_spec, restart_policy, "restartPolicy"),
	FIELD_TEXT(struct pod_spec, scheduler_name, "schedulerName"),
	FIELD_OBJECT(pod_group_fields, "schedulingGroup"),
	FIELD_OBJECT(workload_fields, "workloadRef"),
	FIELD_LIST(struct pod_spec, claims, claim_count, claim_fields, "resourceClaims",
		   .flags = FIELD_LINE),
	FIELD_OBJECT(pod_resources_fields, "resources"),
	FIELD_HOOK("initContainers", .members = container_fields),
	FIELD_NAMES("activeDeadlineSeconds", "automountServiceAccountToken", "dnsConfig",
		    "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases",
		    "hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname",
		    "hostnameOverride", "imagePullSecrets", "os", "overhead", "preemptionPolicy",
		    "priority", "priorityClassName", "readinessGates", "runtimeClassName",
		    "securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN",
		    "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds",
		    "topologySpreadConstraints", "volumes"),
};

static int annotations_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct pod_template *template = object;

	if (field_decode(member, field, object))
		return -1;
	template->spec.gpu_shares =
		gpu_annotation_decode(&template->annotations, member->reader->arena);
	return 0;
}

static const struct field template_metadata_fields[] = {
	FIELD_LABELS(struct pod_template, labels, "labels"),
	FIELD_NOTES(struct pod_template, annotations, "annotations", .read = annotations_decode),
	FIELD_END,
};

const struct field pod_template_fields[] = {
	FIELD_OBJECT(template_metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_PART(struct pod_template, spec, pod_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_NAMES(NULL),
};
