#include "codec/objects/ray_cluster_json.h"

#include <stdlib.h>
#include <string.h>

#include "codec/objects/pod_spec_json.h"
#include "codec/objects/redact.h"
#include "codec/objects/request_resources.h"
#include "codec/schema/field.h"
#include "codec/text/rfc3339.h"
#include "core/model/autoscaler_container.h"
#include "feature_codec.h"

/* The CRD's integers are int32. */
#define REPLICAS_MAX INT32_MAX
/* KubeRay has no limit; the API server's 1.5 MiB per object would allow tens of thousands. */
#define GROUPS_MAX 1000
#define PORT_MAX 65535
#define GCS_PORT 6379   /* Ray's default */
#define MANAGER_MAX 128 /* the API server's limit for names of field managers */

/* ---- a group ---- */

/* Records a problem of the group; the first one is also the group's own. */
static void group_problem(const struct json_at *at, struct worker_group *group, const char *what)
{
	struct arena *arena = at->reader->arena;

	json_problem(at, "%s", what);
	if (!group->problem)
		group->problem = arena_printf(arena, "%s: %s", json_path(at), what);
}

static int group_name_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct worker_group *group = object;
	bool taken = false;

	if (field_decode(member, field, object))
		return -1;
	for (const struct worker_group *before = group - member->parent->index; before < group;
	     before++)
		taken = taken || strcmp(before->name, group->name) == 0;
	if (*group->name == '\0')
		group_problem(member, group, "is required");
	else if (taken)
		group_problem(member, group, "an earlier group has this name");
	return 0;
}

/* Outside its range it is a problem and clamped. */
static int check_group_integer(const struct json_at *member, const struct field *field,
			       void *object)
{
	struct worker_group *group = object;
	int64_t *value = field_value(field, object);
	int64_t minimum = value == &group->num_of_hosts ? 1 : 0;

	if (*value >= minimum && *value <= REPLICAS_MAX)
		return 0;
	group_problem(member, group,
		      arena_printf(member->reader->arena, "must be %lld to %lld, is %lld",
				   (long long)minimum, (long long)REPLICAS_MAX, (long long)*value));
	if (!group->bad_member) {
		group->bad_member = field->name;
		group->bad_value = *value;
	}
	*value = *value < minimum ? minimum : REPLICAS_MAX;
	return 0;
}

/* An invalid number is written with its original value; otherwise the reader would not stop the
 * group. */
static void write_group_integer(struct json_writer *writer, const struct field *field,
				const void *object)
{
	const struct worker_group *group = object;

	if (group->bad_member && strcmp(group->bad_member, field->name) == 0)
		json_write_integer(writer, field->name, group->bad_value);
	else
		field_write_value(writer, field, object);
}

/* Ray accepts passwords as start parameters (redis-password). */
static void write_start_params(struct json_writer *writer, const struct field *field,
			       const void *object)
{
	const struct labels *params = field_value_read(field, object);

	json_write_object(writer, field->name);
	for (size_t i = 0; i < params->count; i++) {
		if (!redact_name(params->at[i].key))
			json_write_text(writer, params->at[i].key, params->at[i].value);
	}
	json_write_object_end(writer);
}

static int scale_gate_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	struct worker_group *group = object;

	group->scale_gate = json_type(member) == JSON_NULL ? "" : json_print(member);
	return 0;
}

static void write_scale_gate(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct worker_group *group = object;

	if (*group->scale_gate != '\0')
		json_write_raw(writer, field->name, group->scale_gate);
}

static const struct field scale_strategy_fields[] = {
	FIELD_TEXTS(struct worker_group, workers_to_delete, "workersToDelete",
		    .has = FIELD_HAS(struct worker_group, has_workers_to_delete)),
	FIELD_HOOK("scaleGate", .read = scale_gate_decode, .write = write_scale_gate),
	FIELD_NAMES(NULL),
};

#define GROUP_INTEGER(m, ...)                                                                      \
	FIELD_INTEGER(struct worker_group, m, __VA_ARGS__, .check = check_group_integer,           \
		      .write = write_group_integer)

static const struct field group_fields[] = {
	FIELD_NAME(struct worker_group, name, "groupName", .read = group_name_decode),
	GROUP_INTEGER(replicas, "replicas", .has = FIELD_HAS(struct worker_group, has_replicas)),
	GROUP_INTEGER(min_replicas, "minReplicas", .flags = FIELD_ALWAYS),
	GROUP_INTEGER(max_replicas, "maxReplicas", .flags = FIELD_ALWAYS),
	GROUP_INTEGER(num_of_hosts, "numOfHosts", .flags = FIELD_ALWAYS),
	GROUP_INTEGER(idle_timeout_seconds, "idleTimeoutSeconds",
		      .has = FIELD_HAS(struct worker_group, has_idle_timeout_seconds)),
	FIELD_INTEGER(struct worker_group, priority, "priority"),
	FIELD_BOOLEAN(struct worker_group, suspend, "suspend"),
	FIELD_QUANTITIES(struct worker_group, resources, "resources", .flags = FIELD_STRINGS,
			 .has = FIELD_HAS(struct worker_group, has_resources)),
	FIELD_LABELS(struct worker_group, labels, "labels"),
	FIELD_LABELS(struct worker_group, ray_start_params, "rayStartParams",
		     .flags = FIELD_ALWAYS | FIELD_START_PARAMS, .write = write_start_params),
	FIELD_PART(struct worker_group, template, pod_template_fields, "template",
		   .flags = FIELD_ALWAYS),
	FIELD_OBJECT(scale_strategy_fields, "scaleStrategy",
		     .has = FIELD_HAS(struct worker_group, has_scale_strategy)),
	FIELD_NAMES(NULL),
};

static const struct worker_group initial_group = { .max_replicas = REPLICAS_MAX,
						   .num_of_hosts = 1 };

static int groups_decode(const struct json_at *member, const struct field *field, void *object)
{
	if (json_count(member) > GROUPS_MAX)
		return json_fail(member, "must not have more than %d groups", GROUPS_MAX);
	return field_decode(member, field, object);
}

/* ---- the rest of the spec ---- */

static const struct field head_fields[] = {
	FIELD_QUANTITIES(struct ray_cluster, head_resources, "resources", .flags = FIELD_STRINGS,
			 .has = FIELD_HAS(struct ray_cluster, head_has_resources)),
	FIELD_LABELS(struct ray_cluster, head_labels, "labels"),
	FIELD_LABELS(struct ray_cluster, head_start_params, "rayStartParams",
		     .flags = FIELD_ALWAYS | FIELD_START_PARAMS, .write = write_start_params),
	FIELD_PART(struct ray_cluster, head_template, pod_template_fields, "template",
		   .flags = FIELD_ALWAYS),
	FIELD_NAMES("serviceType", "enableIngress", "ingressOptions", "headService"),
};

/* A command may hold anything: of the container only whether it is parked is written. */
static void write_parked(struct json_writer *writer, const struct field *field, const void *object)
{
	static const char *const command[] = { "sleep", "infinity" };
	const struct strings texts = { command, 2 };

	if (autoscaler_options_run(object) == AUTOSCALER_RUNS_NOTHING)
		field_write_texts(writer, field->name, &texts);
}

static const struct field options_fields[] = {
	FIELD_INTEGER(struct ray_cluster, idle_timeout_seconds, "idleTimeoutSeconds",
		      .has = FIELD_HAS(struct ray_cluster, has_idle_timeout_seconds),
		      .check = field_check_not_negative),
	FIELD_TEXT(struct ray_cluster, upscaling_mode, "upscalingMode", .check = field_check_enum,
		   .schema = UPSCALING_MODES),
	FIELD_TEXT(struct ray_cluster, autoscaler_version, "version"),
	FIELD_HOOK("command", .write = write_parked),
	FIELD_END,
};

static const struct field autoscaler_fields[] = {
	FIELD_SHOWN(struct container, image, "image"),
	FIELD_TEXTS(struct container, command, "command"),
	FIELD_TEXTS(struct container, args, "args"),
	FIELD_LIST(struct container, env, env_count, env_fields, "env"),
	FIELD_OBJECT(resources_fields, "resources"),
	/* The first three are in options_fields. */
	FIELD_NAMES("version", "upscalingMode", "idleTimeoutSeconds", "noDriverTimeoutSeconds",
		    "imagePullPolicy", "envFrom", "volumeMounts", "securityContext"),
};

static const struct field tls_fields[] = {
	FIELD_BOOLEAN(struct ray_cluster, tls_enabled, "enabled"),
	FIELD_NAMES(NULL),
};

static const struct field auth_fields[] = {
	FIELD_TEXT(struct ray_cluster, auth_mode, "mode"),
	FIELD_TEXT(struct ray_cluster, auth_secret_name, "secretName"),
	FIELD_BOOLEAN(struct ray_cluster, auth_kubernetes_tokens, "enableK8sTokenAuth"),
	FIELD_NAMES(NULL),
};

static const struct field upgrade_fields[] = { FIELD_NAMES("type") };
static const struct field redis_value_fields[] = { FIELD_NAMES("value", "valueFrom") };

#define ELECTION_NAMES                                                                             \
	FIELD_NAMES("leaseDurationSeconds", "renewDeadlineSeconds", "retryPeriodSeconds")

static const struct field active_passive_head_fields[] = {
	FIELD_BOOLEAN(struct ray_cluster, active_passive_head, "enable"),
	ELECTION_NAMES,
};

static const struct field active_passive_options_fields[] = {
	FIELD_BOOLEAN(struct ray_cluster, active_passive_options, "enable"),
	ELECTION_NAMES,
};

/* The part that a snapshot has. */
static const struct field active_passive_fields[] = {
	FIELD_OBJECT(active_passive_head_fields, "activePassiveHead"),
	FIELD_OBJECT(active_passive_options_fields, "activePassiveOptions"),
	FIELD_END,
};

static const struct field gcs_fields[] = {
	FIELD_HOOK("redisUsername", .members = redis_value_fields),
	FIELD_HOOK("redisPassword", .members = redis_value_fields),
	/* The last two are in active_passive_fields. */
	FIELD_NAMES("backend", "storage", "redisAddress", "externalStorageNamespace",
		    "activePassiveHead", "activePassiveOptions"),
};

/* ---- networkPolicy (kuberay 1.7, networkpolicy_controller.go) ---- */

static const struct field network_policy_fields[] = { FIELD_NAMES("mode", "head", "worker",
								  "workerGroups") };

static bool is_gcs_name(const char *name)
{
	return strcmp(name, "gcs-server") == 0 || strcmp(name, "gcs") == 0;
}

/* The port that KubeRay gives the head of this spec. */
static int64_t gcs_port_of(const struct json_at *spec)
{
	struct json_at head = json_member(spec, "headGroupSpec");
	struct json_at params = json_member(&head, "rayStartParams");
	struct json_at template = json_member(&head, "template");
	struct json_at pod = json_member(&template, "spec");
	struct json_at containers = json_member(&pod, "containers");
	struct json_at container = json_first(&containers);
	struct json_at ports = json_member(&container, "ports");
	double number = (double)strtol(object_text_or_none(&params, "port"), NULL, 10);

	for (struct json_at port = json_first(&ports); port.json; json_next(&port)) {
		struct json_at value = json_member(&port, "containerPort");

		if (is_gcs_name(object_text_or_none(&port, "name")) &&
		    json_type(&value) == JSON_NUMBER)
			number = json_number_value(&value);
	}
	return number >= 1 && number <= PORT_MAX ? (int64_t)number : GCS_PORT;
}

/* A port of a rule: a number, also the first of a range, or a name; none: all ports. */
static bool has_port(const struct json_at *port, int64_t wanted)
{
	struct json_at value = json_member(port, "port");
	struct json_at end = json_member(port, "endPort");
	double number;

	if (!json_is_given(&value))
		return true;
	if (json_type(&value) != JSON_NUMBER)
		return is_gcs_name(json_text_or_none(&value));
	number = json_number_value(&value);
	return (double)wanted >= number &&
	       (double)wanted <=
		       (json_type(&end) == JSON_NUMBER ? json_number_value(&end) : number);
}

/* Whether a rule of the head is about this port; the peers that it admits are not judged. */
static bool opens_port(const struct json_at *rule, int64_t wanted)
{
	struct json_at ports = json_member(rule, "ports");

	for (struct json_at port = json_first(&ports); port.json; json_next(&port))
		if (has_port(&port, wanted))
			return true;
	return json_count(&ports) == 0;
}

/* Without mode it denies all. No value is an error: the API server checks them. */
static int network_policy_decode(const struct json_at *member, const struct field *field UNUSED,
				 void *object)
{
	struct ray_cluster *cluster = object;
	struct json_at head = json_member(member, "head");
	struct json_at rules = json_member(&head, "ingressRules");
	int64_t port = gcs_port_of(member->parent);

	cluster->closed_gcs_port = 0;
	if (json_type(member) != JSON_OBJECT ||
	    strcmp(object_text_or_none(member, "mode"), "DenyAllEgress") == 0)
		return 0;
	for (struct json_at rule = json_first(&rules); rule.json; json_next(&rule))
		if (opens_port(&rule, port))
			return 0;
	cluster->closed_gcs_port = port;
	return 0;
}

/* codec_lint_field_test compares the names of the spec and below with crd/rayclusters.ray.io.yaml. */
static const struct field spec_fields[] = {
	FIELD_BOOLEAN(struct ray_cluster, enable_in_tree_autoscaling, "enableInTreeAutoscaling",
		      .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(struct ray_cluster, suspend, "suspend"),
	FIELD_TEXT(struct ray_cluster, managed_by, "managedBy"),
	FIELD_TEXT(struct ray_cluster, ray_version, "rayVersion"),
	FIELD_OBJECT(options_fields, "autoscalerOptions", .flags = FIELD_ALWAYS),
	FIELD_PART(struct ray_cluster, autoscaler_options, autoscaler_fields, "autoscalerOptions",
		   .flags = FIELD_UNWRITTEN,
		   .has = FIELD_HAS(struct ray_cluster, has_autoscaler_options)),
	FIELD_OBJECT(active_passive_fields, "gcsFaultToleranceOptions"),
	FIELD_OBJECT(gcs_fields, "gcsFaultToleranceOptions", .flags = FIELD_UNWRITTEN,
		     .has = FIELD_HAS(struct ray_cluster, gcs_fault_tolerance)),
	FIELD_OBJECT(auth_fields, "authOptions", .flags = FIELD_UNWRITTEN),
	FIELD_OBJECT(tls_fields, "tlsOptions", .flags = FIELD_UNWRITTEN),
	FIELD_OBJECT(head_fields, "headGroupSpec", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct ray_cluster, groups, group_count, group_fields, "workerGroupSpecs",
		   .flags = FIELD_ALWAYS, .initial = &initial_group, .read = groups_decode),
	FIELD_HOOK("upgradeStrategy", .members = upgrade_fields),
	FIELD_BOOLEAN(struct ray_cluster, idle_suspend, "idleSuspend"),
	FEATURE_RAY_CLUSTER_ROWS(struct ray_cluster) FIELD_HOOK(
		"networkPolicy", .members = network_policy_fields, .read = network_policy_decode),
	FIELD_NAMES("headServiceAnnotations", "historyServerOptions"),
};

/* ---- status, metadata ---- */

static const struct field head_status_fields[] = {
	FIELD_TEXT(struct ray_cluster, head_pod_name, "podName"),
	FIELD_TEXT(struct ray_cluster, head_pod_ip, "podIP"),
	FIELD_END,
};

/* A text of another type counts as missing: it is written by the operator. */
static int head_status_decode(const struct json_at *member, const struct field *field UNUSED,
			      void *object)
{
	struct ray_cluster *cluster = object;

	cluster->head_pod_name = object_text_or_none(member, "podName");
	cluster->head_pod_ip = object_text_or_none(member, "podIP");
	return 0;
}

static const struct field status_fields[] = {
	FIELD_LIST(struct ray_cluster, conditions, condition_count, condition_fields, "conditions",
		   .flags = FIELD_LINE),
	FIELD_OBJECT(head_status_fields, "head", .flags = FIELD_LINE, .read = head_status_decode),
	FIELD_INTEGER(struct ray_cluster, observed_generation, "observedGeneration"),
	FIELD_END,
};

/* Does the entry own the field itself, not only its status? */
static bool owns_groups(const struct json_at *entry)
{
	struct json_at fields = json_member(entry, "fieldsV1");
	struct json_at spec = json_member(&fields, "f:spec");
	struct json_at groups = json_member(&spec, "f:workerGroupSpecs");

	return json_type(&groups) == JSON_OBJECT;
}

/* Only for a message: an entry that does not parse gives no manager, never an error. */
static int groups_manager_decode(const struct json_at *member, const struct field *field UNUSED,
				 void *object)
{
	struct ray_cluster *cluster = object;
	const char *found = "", *newest = "";

	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct json_at name = json_member(&e, "manager"), time = json_member(&e, "time");

		/* All have one form: the order of the texts is the order of the times. */
		const char *when = json_type(&time) == JSON_STRING ? json_text_value(&time) : "";

		if (json_type(&name) != JSON_STRING ||
		    strcmp(json_text_value(&name), FIELD_MANAGER) == 0 ||
		    strlen(json_text_value(&name)) > MANAGER_MAX || !owns_groups(&e) ||
		    strcmp(when, newest) < 0)
			continue;
		newest = when;
		found = json_text_value(&name);
	}
	cluster->groups_manager = arena_strdup(member->reader->arena, found);
	return 0;
}

/* The part of managedFields that groups_manager_decode reads: the last writer of the worker groups. */
static void write_groups_manager(struct json_writer *writer, const struct field *field,
				 const void *object)
{
	const struct ray_cluster *cluster = object;

	if (cluster->groups_manager[0] == '\0')
		return;
	json_write_array(writer, field->name);
	json_write_object_line(writer, NULL);
	json_write_text(writer, "manager", cluster->groups_manager);
	json_write_raw(writer, "fieldsV1", "{\"f:spec\": {\"f:workerGroupSpecs\": {}}}");
	json_write_object_end(writer);
	json_write_array_end(writer);
}

static int deletion_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct ray_cluster *cluster = object;
	time_ms time;

	cluster->deleting = json_type(member) == JSON_STRING;
	return rfc3339_decode(member->parent, field->name, &time);
}

static void write_deletion(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct ray_cluster *cluster = object;

	if (cluster->deleting)
		json_write_time(writer, field->name, 0);
}

/* Owners that do not parse are owners all the same. */
static int owner_decode(const struct json_at *member, const struct field *field UNUSED,
			void *object)
{
	struct ray_cluster *cluster = object;
	struct json_at first = json_first(member);

	if (!json_is_given(member) || (json_type(member) == JSON_ARRAY && !first.json))
		return 0;
	cluster->owner_kind = object_text_or_none(&first, "kind");
	cluster->owner_name = object_text_or_none(&first, "name");
	return 0;
}

static void write_owner(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct ray_cluster *cluster = object;

	if (!cluster->owner_kind)
		return;
	json_write_array(writer, field->name);
	JSON_WRITE_TEXTS_LINE(writer, NULL, { "kind", cluster->owner_kind },
			      { "name", cluster->owner_name });
	json_write_array_end(writer);
}

static int annotations_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct ray_cluster *cluster = object;

	if (field_decode(member, field, object))
		return -1;
	FEATURE_RAY_CLUSTER_ANNOTATIONS(cluster, member->reader->arena)
	cluster->request = request_resources_decode(&cluster->annotations, member->reader->arena);
	return 0;
}

static const struct field metadata_fields[] = {
	FIELD_NAME(struct ray_cluster, name, "name", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct ray_cluster, namespace_, "namespace"),
	FIELD_TEXT(struct ray_cluster, uid, "uid"),
	FIELD_TEXT(struct ray_cluster, resource_version, "resourceVersion"),
	FIELD_INTEGER(struct ray_cluster, generation, "generation"),
	FIELD_LABELS(struct ray_cluster, labels, "labels"),
	FIELD_NOTES(struct ray_cluster, annotations, "annotations", .read = annotations_decode),
	FIELD_CHECK(FIELD_KIND_TIME, "creationTimestamp"),
	FIELD_HOOK("deletionTimestamp", .read = deletion_decode, .write = write_deletion),
	FIELD_HOOK("ownerReferences", .read = owner_decode, .write = write_owner),
	FIELD_HOOK("managedFields", .read = groups_manager_decode, .write = write_groups_manager),
	FIELD_END,
};

const struct field ray_cluster_fields[] = {
	FIELD_TEXT(struct ray_cluster, api_version, "apiVersion"),
	/* The file form and lists may omit it. */
	FIELD_FIXED("kind", "RayCluster", .flags = FIELD_NULLABLE),
	FIELD_TEXT(struct ray_cluster, unreadable, OBJECT_UNREADABLE, .flags = FIELD_NULLABLE),
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(status_fields, "status", .flags = FIELD_ALWAYS),
	FIELD_END,
};

int ray_cluster_decode(const struct cJSON *json, const char *path, struct arena *arena,
		       struct ray_cluster *ret_cluster, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct ray_cluster, ray_cluster_fields,
					       FIELD_PROBLEMS(struct ray_cluster)),
				   arena, ret_cluster, err);
}

/* The owner for scaling. A field that is missing, because a skeleton has no spec, is taken as ours:
 * the user is then informed why the cluster is not scaled. */
static void unreadable_owner(const struct json_at *root, const struct json_at *metadata,
			     struct ray_cluster *cluster)
{
	struct json_at spec = json_member(root, "spec");
	struct json_at annotations = json_member(metadata, "annotations");
	const char *managed = object_text_or_none(&annotations, ANNOTATION_MANAGED);
	VEC(struct label) found = { .at = NULL };

	cluster->enable_in_tree_autoscaling = true;
	if (json_type(&spec) == JSON_OBJECT)
		(void)json_boolean(&spec, "enableInTreeAutoscaling",
				   &cluster->enable_in_tree_autoscaling);
	cluster->managed_by = object_text_or_none(&spec, "managedBy");
	if (*managed)
		VEC_PUSH(root->reader->arena, &found,
			 ((struct label){ .key = ANNOTATION_MANAGED, .value = managed }));
	cluster->annotations = labels_sort(found.at, found.count);
}

int ray_cluster_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
				  struct ray_cluster *ret_cluster, struct err *err)
{
	static const struct field fields[] = {
		FIELD_TEXT(struct ray_cluster, namespace_, "namespace"),
		FIELD_TEXT(struct ray_cluster, name, "name"),
		FIELD_TEXT(struct ray_cluster, uid, "uid"),
		FIELD_TEXT(struct ray_cluster, resource_version, "resourceVersion"),
		FIELD_INTEGER(struct ray_cluster, generation, "generation"),
		FIELD_END,
	};
	struct json_reader reader = { .arena = arena, .err = NULL };
	struct json_at root = json_root(json, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	struct ray_cluster cluster = {
		.api_version = object_text_or_none(&root, "apiVersion"),
		.namespace_ = "",
		.name = "",
		.uid = "",
		.resource_version = "",
		.deleting = *object_text_or_none(&metadata, "deletionTimestamp") != '\0',
		.ray_version = "",
		.upscaling_mode = "",
		.autoscaler_version = "",
		.auth_mode = "",
		.auth_secret_name = "",
		.groups_manager = "",
		.head_pod_name = "",
		.head_pod_ip = "",
		.autoscaler_options = { .image = "" },
		.head_template = { .spec = { .node_name = "",
					     .restart_policy = "",
					     .scheduler_name = "" } },
		.unreadable = arena_text(arena, why),
	};

	(void)field_decode_each(&metadata, fields, &cluster, sizeof(cluster));
	if (*cluster.name == '\0')
		return err_set(err, ERR_INPUT, "metadata.name is missing");
	unreadable_owner(&root, &metadata, &cluster);
	*ret_cluster = cluster;
	return 0;
}
