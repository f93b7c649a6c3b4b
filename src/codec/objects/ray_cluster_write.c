#include "codec/objects/ray_cluster_write.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/objects/object_write.h"
#include "codec/objects/pod_write.h"
#include "codec/objects/redact.h"

/* Ray accepts passwords as start parameters (redis-password). */
static void write_start_params(struct json_writer *writer, const struct labels *params)
{
	json_write_object(writer, "rayStartParams");
	for (size_t i = 0; i < params->count; i++) {
		if (!redact_name(params->at[i].key))
			json_write_text(writer, params->at[i].key, params->at[i].value);
	}
	json_write_object_end(writer);
}

static void write_template(struct json_writer *writer, const struct pod_template *template)
{
	const struct object_write_metadata metadata = {
		.created = TIME_NONE,
		.labels = &template->labels,
		.annotations = &template->annotations,
	};

	json_write_object(writer, "template");
	object_write_metadata(writer, &metadata);
	pod_write_spec(writer, "spec", &template->spec);
	json_write_object_end(writer);
}

/* An empty `resources` is not the same as none. */
static void write_own_resources(struct json_writer *writer, bool has,
				const struct quantities *resources, const struct labels *labels)
{
	if (has && resources->count == 0) {
		json_write_object(writer, "resources");
		json_write_object_end(writer);
	}
	object_write_quantities(writer, "resources", resources);
	object_write_labels(writer, "labels", labels);
}

static void write_scale_strategy(struct json_writer *writer, const struct worker_group *group)
{
	if (!group->has_scale_strategy)
		return;
	json_write_object(writer, "scaleStrategy");
	if (group->has_workers_to_delete) {
		json_write_array(writer, "workersToDelete");
		for (size_t i = 0; i < group->workers_to_delete.count; i++)
			json_write_text(writer, NULL, group->workers_to_delete.at[i]);
		json_write_array_end(writer);
	}
	if (*group->scale_gate != '\0')
		json_write_raw(writer, "scaleGate", group->scale_gate);
	json_write_object_end(writer);
}

/* An invalid number is written with its original value; otherwise the reader would not stop the
 * group. */
static void write_number(struct json_writer *writer, const struct worker_group *group,
			 const char *name, int64_t value)
{
	bool bad = group->bad_member && strcmp(group->bad_member, name) == 0;

	json_write_integer(writer, name, bad ? group->bad_value : value);
}

static void write_group(struct json_writer *writer, const struct worker_group *group)
{
	json_write_object(writer, NULL);
	object_write_text(writer, "groupName", group->name);
	if (group->has_replicas)
		write_number(writer, group, "replicas", group->replicas);
	write_number(writer, group, "minReplicas", group->min_replicas);
	write_number(writer, group, "maxReplicas", group->max_replicas);
	write_number(writer, group, "numOfHosts", group->num_of_hosts);
	if (group->has_idle_timeout_seconds)
		write_number(writer, group, "idleTimeoutSeconds", group->idle_timeout_seconds);
	if (group->priority != 0)
		json_write_integer(writer, "priority", group->priority);
	if (group->suspend)
		json_write_boolean(writer, "suspend", true);
	write_own_resources(writer, group->has_resources, &group->resources, &group->labels);
	write_start_params(writer, &group->ray_start_params);
	write_template(writer, &group->template);
	write_scale_strategy(writer, group);
	json_write_object_end(writer);
}

static void write_options(struct json_writer *writer, const struct ray_cluster *cluster)
{
	json_write_object(writer, "autoscalerOptions");
	if (cluster->has_idle_timeout_seconds)
		json_write_integer(writer, "idleTimeoutSeconds", cluster->idle_timeout_seconds);
	object_write_text(writer, "upscalingMode", cluster->upscaling_mode);
	object_write_text(writer, "version", cluster->autoscaler_version);
	json_write_object_end(writer);
}

static void write_spec(struct json_writer *writer, const struct ray_cluster *cluster)
{
	json_write_object(writer, "spec");
	json_write_boolean(writer, "enableInTreeAutoscaling", cluster->enable_in_tree_autoscaling);
	if (cluster->suspend)
		json_write_boolean(writer, "suspend", true);
	object_write_text(writer, "managedBy", cluster->managed_by);
	object_write_text(writer, "rayVersion", cluster->ray_version);
	write_options(writer, cluster);
	json_write_object(writer, "headGroupSpec");
	write_own_resources(writer, cluster->head_has_resources, &cluster->head_resources,
			    &cluster->head_labels);
	write_start_params(writer, &cluster->head_start_params);
	write_template(writer, &cluster->head_template);
	json_write_object_end(writer);
	json_write_array(writer, "workerGroupSpecs");
	for (size_t i = 0; i < cluster->group_count; i++)
		write_group(writer, &cluster->groups[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_head_status(struct json_writer *writer, const struct ray_cluster *cluster)
{
	if (cluster->head_pod_name[0] == '\0' && cluster->head_pod_ip[0] == '\0')
		return;
	json_write_object_line(writer, "head");
	object_write_text(writer, "podName", cluster->head_pod_name);
	object_write_text(writer, "podIP", cluster->head_pod_ip);
	json_write_object_end(writer);
}

void ray_cluster_write(struct json_writer *writer, const char *name,
		       const struct ray_cluster *cluster)
{
	const struct object_write_metadata metadata = {
		.namespace_ = cluster->namespace_,
		.name = cluster->name,
		.uid = cluster->uid,
		.resource_version = cluster->resource_version,
		.generation = cluster->generation,
		.created = TIME_NONE,
		.deleted = TIME_NONE,
		.deleting = cluster->deleting,
		.labels = &cluster->labels,
		.annotations = &cluster->annotations,
		.groups_manager = cluster->groups_manager,
	};

	json_write_object(writer, name);
	object_write_text(writer, "apiVersion", cluster->api_version);
	json_write_text(writer, "kind", "RayCluster");
	if (cluster->unreadable)
		json_write_text(writer, OBJECT_UNREADABLE, cluster->unreadable);
	object_write_metadata(writer, &metadata);
	write_spec(writer, cluster);
	json_write_object(writer, "status");
	object_write_conditions(writer, cluster->conditions, cluster->condition_count);
	write_head_status(writer, cluster);
	json_write_object_end(writer);
	json_write_object_end(writer);
}
