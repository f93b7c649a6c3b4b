#include "codec/objects/ray_cluster_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/objects/pod_spec_json.h"
#include "codec/text/quantity.h"

/* The CRD's integers are int32. */
#define REPLICAS_MAX INT32_MAX
/* KubeRay has no limit; the API server's 1.5 MiB per object would allow tens of thousands. */
#define GROUPS_MAX 1000
/* The field manager that the API server derives from our User-Agent, and its limit for such
 * names. */
#define OWN_MANAGER "rayscaler"
#define MANAGER_MAX 128

/* Records a problem of the group; the first one is also the group's own. */
static void group_problem(const struct json_at *at, struct worker_group *group, const char *what)
{
	struct arena *arena = at->reader->arena;

	json_problem(at, "%s", what);
	if (!group->problem)
		group->problem = arena_printf(arena, "%s: %s", json_path(at), what);
}

/* An integer of a group; outside its range it is a problem and clamped. */
static int group_integer(const struct json_at *at, const char *name, struct worker_group *group,
			 int64_t minimum, bool *ret_has, int64_t *ret_value)
{
	struct json_at member = json_member(at, name);
	const char *what;
	bool has;

	if (json_integer(at, name, &has, ret_value))
		return -1;
	if (ret_has)
		*ret_has = has;
	if (*ret_value >= minimum && *ret_value <= REPLICAS_MAX)
		return 0;
	what = arena_printf(at->reader->arena, "must be %lld to %lld, is %lld", (long long)minimum,
			    (long long)REPLICAS_MAX, (long long)*ret_value);
	group_problem(&member, group, what);
	if (!group->bad_member) {
		group->bad_member = name;
		group->bad_value = *ret_value;
	}
	*ret_value = *ret_value < minimum ? minimum : REPLICAS_MAX;
	return 0;
}

static int replicas_decode(const struct json_at *at, struct worker_group *ret)
{
	ret->max_replicas = REPLICAS_MAX;
	ret->num_of_hosts = 1;
	return group_integer(at, "replicas", ret, 0, &ret->has_replicas, &ret->replicas) ||
	       group_integer(at, "minReplicas", ret, 0, NULL, &ret->min_replicas) ||
	       group_integer(at, "maxReplicas", ret, 0, NULL, &ret->max_replicas) ||
	       group_integer(at, "numOfHosts", ret, 1, NULL, &ret->num_of_hosts) ||
	       group_integer(at, "idleTimeoutSeconds", ret, 0, &ret->has_idle_timeout_seconds,
			     &ret->idle_timeout_seconds) ||
	       json_integer(at, "priority", NULL, &ret->priority);
}

static int scale_strategy_decode(const struct json_at *at, struct worker_group *ret)
{
	struct json_at strategy, names, gate;

	if (json_object(at, "scaleStrategy", &strategy) ||
	    json_array(&strategy, "workersToDelete", &names) ||
	    object_strings_decode(&strategy, "workersToDelete", &ret->workers_to_delete))
		return -1;
	ret->has_scale_strategy = strategy.json != NULL;
	ret->has_workers_to_delete = names.json != NULL;
	gate = json_member(&strategy, "scaleGate");
	ret->scale_gate = json_type(&gate) == JSON_NULL ? "" : json_print(&gate);
	return 0;
}

/* `resources` is a field of its own beside rayStartParams; null counts as missing. */
static int own_resources_decode(const struct json_at *at, bool *ret_has,
				struct quantities *ret_resources, struct labels *ret_labels)
{
	struct json_at resources;

	if (json_object(at, "resources", &resources) ||
	    quantities_decode(at, "resources", ret_resources) ||
	    object_labels_decode(at, "labels", ret_labels))
		return -1;
	*ret_has = resources.json != NULL;
	return 0;
}

static bool name_is_taken(const struct worker_group *groups, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(groups[i].name, name) == 0)
			return true;
	}
	return false;
}

static int group_decode(const struct json_at *at, const struct worker_group *before,
			size_t before_count, struct worker_group *ret)
{
	struct json_at name = json_member(at, "groupName");

	if (json_expect(at, JSON_OBJECT) || json_text(at, "groupName", &ret->name) ||
	    object_name_check(&name))
		return -1;
	if (*ret->name == '\0')
		group_problem(&name, ret, "is required");
	else if (name_is_taken(before, before_count, ret->name))
		group_problem(&name, ret, "an earlier group has this name");
	return replicas_decode(at, ret) || json_boolean(at, "suspend", &ret->suspend) ||
	       own_resources_decode(at, &ret->has_resources, &ret->resources, &ret->labels) ||
	       object_labels_decode(at, "rayStartParams", &ret->ray_start_params) ||
	       pod_template_decode(at, "template", &ret->template) ||
	       scale_strategy_decode(at, ret);
}

static int groups_decode(const struct json_at *spec, struct ray_cluster *ret)
{
	VEC(struct worker_group) groups = { .at = NULL };
	struct json_at array;

	if (json_array(spec, "workerGroupSpecs", &array))
		return -1;
	if (json_count(&array) > GROUPS_MAX)
		return json_fail(&array, "must not have more than %d groups", GROUPS_MAX);
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct worker_group *group = VEC_ADD(spec->reader->arena, &groups);

		if (group_decode(&e, groups.at, groups.count - 1, group))
			return -1;
	}
	ret->groups = groups.at;
	ret->group_count = groups.count;
	return 0;
}

static int options_decode(const struct json_at *spec, struct ray_cluster *ret)
{
	struct json_at options, timeout;

	if (json_object(spec, "autoscalerOptions", &options) ||
	    json_text(&options, "upscalingMode", &ret->upscaling_mode) ||
	    json_text(&options, "version", &ret->autoscaler_version) ||
	    json_integer(&options, "idleTimeoutSeconds", &ret->has_idle_timeout_seconds,
			 &ret->idle_timeout_seconds))
		return -1;
	timeout = json_member(&options, "idleTimeoutSeconds");
	if (ret->idle_timeout_seconds < 0) {
		json_problem(&timeout, "must not be negative, is %lld; it counts as not given",
			     (long long)ret->idle_timeout_seconds);
		ret->has_idle_timeout_seconds = false;
		ret->idle_timeout_seconds = 0;
	}
	return 0;
}

static int connection_decode(const struct json_at *spec, struct ray_cluster *ret)
{
	struct json_at auth, tls;

	if (json_object(spec, "authOptions", &auth) || json_text(&auth, "mode", &ret->auth_mode) ||
	    json_text(&auth, "secretName", &ret->auth_secret_name) ||
	    json_boolean(&auth, "enableK8sTokenAuth", &ret->auth_kubernetes_tokens) ||
	    json_object(spec, "tlsOptions", &tls))
		return -1;
	ret->tls_enabled = tls.json != NULL;
	return 0;
}

static int head_decode(const struct json_at *spec, struct ray_cluster *ret)
{
	struct json_at head;

	return json_object(spec, "headGroupSpec", &head) ||
	       object_labels_decode(&head, "rayStartParams", &ret->head_start_params) ||
	       own_resources_decode(&head, &ret->head_has_resources, &ret->head_resources,
				    &ret->head_labels) ||
	       pod_template_decode(&head, "template", &ret->head_template);
}

static int spec_decode(const struct json_at *root, struct ray_cluster *ret)
{
	struct json_at spec;

	return json_object(root, "spec", &spec) ||
	       json_boolean(&spec, "enableInTreeAutoscaling", &ret->enable_in_tree_autoscaling) ||
	       json_boolean(&spec, "suspend", &ret->suspend) ||
	       json_text(&spec, "managedBy", &ret->managed_by) ||
	       json_text(&spec, "rayVersion", &ret->ray_version) || options_decode(&spec, ret) ||
	       connection_decode(&spec, ret) || head_decode(&spec, ret) ||
	       groups_decode(&spec, ret);
}

static int status_decode(const struct json_at *root, struct ray_cluster *ret)
{
	struct json_at status, head;

	if (json_object(root, "status", &status) ||
	    object_conditions_decode(&status, "conditions", &ret->conditions,
				     &ret->condition_count))
		return -1;
	head = json_member(&status, "head");
	ret->head_pod_name = object_text_or_none(&head, "podName");
	ret->head_pod_ip = object_text_or_none(&head, "podIP");
	return 0;
}

/* Does the entry own the field itself, not only its status? */
static bool owns_groups(const struct json_at *entry)
{
	struct json_at fields = json_member(entry, "fieldsV1");
	struct json_at spec = json_member(&fields, "f:spec");
	struct json_at groups = json_member(&spec, "f:workerGroupSpecs");

	return json_type(&groups) == JSON_OBJECT;
}

/* Only for a message: an entry that does not parse gives no manager, never an error. */
static const char *groups_manager(const struct json_at *root)
{
	struct json_at metadata = json_member(root, "metadata");
	struct json_at list = json_member(&metadata, "managedFields");
	const char *found = "", *newest = "";

	for (struct json_at e = json_first(&list); e.json; json_next(&e)) {
		struct json_at name = json_member(&e, "manager"), time = json_member(&e, "time");

		/* All have one form: the order of the texts is the order of the times. */
		const char *when = json_type(&time) == JSON_STRING ? json_text_value(&time) : "";

		if (json_type(&name) != JSON_STRING ||
		    strcmp(json_text_value(&name), OWN_MANAGER) == 0 ||
		    strlen(json_text_value(&name)) > MANAGER_MAX || !owns_groups(&e) ||
		    strcmp(when, newest) < 0)
			continue;
		newest = when;
		found = json_text_value(&name);
	}
	return arena_strdup(root->reader->arena, found);
}

/* Optional, because the file form and lists may omit it. */
static int kind_check(const struct json_at *root)
{
	struct json_at member = json_member(root, "kind");
	const char *kind;

	if (json_text(root, "kind", &kind))
		return -1;
	if (*kind != '\0' && strcmp(kind, "RayCluster") != 0)
		return json_fail(&member, "must be RayCluster, is \"%.40s\"", kind);
	return 0;
}

int ray_cluster_decode(const struct cJSON *json, const char *path, struct arena *arena,
		       struct ray_cluster *ret_cluster, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);
	struct object_metadata metadata;
	struct ray_cluster cluster = { .suspend = false };
	const char *unreadable;

	if (json_expect(&root, JSON_OBJECT) || kind_check(&root) ||
	    object_metadata_decode(&root, true, &metadata) ||
	    json_text(&root, "apiVersion", &cluster.api_version) || spec_decode(&root, &cluster) ||
	    status_decode(&root, &cluster) || json_text(&root, OBJECT_UNREADABLE, &unreadable))
		return -1;
	cluster.namespace_ = metadata.namespace_;
	cluster.name = metadata.name;
	cluster.uid = metadata.uid;
	cluster.resource_version = metadata.resource_version;
	cluster.generation = metadata.generation;
	cluster.deleting = metadata.deleting;
	cluster.labels = metadata.labels;
	cluster.annotations = metadata.annotations;
	cluster.groups_manager = groups_manager(&root);
	cluster.problems = object_problems(&reader);
	if (*unreadable)
		cluster.unreadable = unreadable;
	*ret_cluster = cluster;
	return 0;
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
	struct json_reader reader = { .arena = arena, .err = NULL };
	struct json_at root = json_root(json, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	struct ray_cluster cluster = { .suspend = false };

	cluster.namespace_ = object_text_or_none(&metadata, "namespace");
	cluster.name = object_text_or_none(&metadata, "name");
	if (*cluster.name == '\0')
		return err_set(err, ERR_INPUT, "metadata.name is missing");
	cluster.api_version = object_text_or_none(&root, "apiVersion");
	cluster.uid = object_text_or_none(&metadata, "uid");
	cluster.resource_version = object_text_or_none(&metadata, "resourceVersion");
	(void)json_integer(&metadata, "generation", NULL, &cluster.generation);
	cluster.deleting = *object_text_or_none(&metadata, "deletionTimestamp") != '\0';
	unreadable_owner(&root, &metadata, &cluster);
	cluster.ray_version = cluster.upscaling_mode = cluster.autoscaler_version = "";
	cluster.auth_mode = cluster.auth_secret_name = cluster.groups_manager = "";
	cluster.head_pod_name = cluster.head_pod_ip = "";
	cluster.head_template.spec.node_name = cluster.head_template.spec.restart_policy =
		cluster.head_template.spec.scheduler_name = "";
	cluster.unreadable = arena_text(arena, why);
	*ret_cluster = cluster;
	return 0;
}
