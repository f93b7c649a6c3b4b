#include "codec/objects/object_write.h"

#include <string.h>

#include "codec/objects/gpushare_json.h"
#include "codec/objects/template_json.h"

void object_write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (text && *text != '\0')
		json_write_text(writer, name, text);
}

void object_write_strings(struct json_writer *writer, const char *name,
			  const struct strings *strings)
{
	if (strings->count == 0)
		return;
	json_write_array_line(writer, name);
	for (size_t i = 0; i < strings->count; i++)
		json_write_text(writer, NULL, strings->at[i]);
	json_write_array_end(writer);
}

void object_write_labels(struct json_writer *writer, const char *name, const struct labels *labels)
{
	if (labels->count == 0)
		return;
	json_write_object(writer, name);
	for (size_t i = 0; i < labels->count; i++)
		json_write_text(writer, labels->at[i].key, labels->at[i].value);
	json_write_object_end(writer);
}

void object_write_quantities(struct json_writer *writer, const char *name,
			     const struct quantities *quantities)
{
	if (quantities->count == 0)
		return;
	json_write_object_line(writer, name);
	for (size_t i = 0; i < quantities->count; i++)
		json_write_text(writer, quantities->at[i].name, quantities->at[i].text);
	json_write_object_end(writer);
}

void object_write_conditions(struct json_writer *writer, const struct condition *conditions,
			     size_t count)
{
	if (count == 0)
		return;
	json_write_array(writer, "conditions");
	for (size_t i = 0; i < count; i++) {
		json_write_object_line(writer, NULL);
		object_write_text(writer, "type", conditions[i].type);
		object_write_text(writer, "status", conditions[i].status);
		object_write_text(writer, "reason", conditions[i].reason);
		object_write_text(writer, "message", conditions[i].message);
		if (conditions[i].last_transition != TIME_NONE)
			json_write_time(writer, "lastTransitionTime",
					conditions[i].last_transition);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* Annotations of others may hold secrets: kubectl keeps the whole applied object in one. */
static bool annotation_is_known(const char *key)
{
	return strncmp(key, "rayscaler.dev/", strlen("rayscaler.dev/")) == 0 ||
	       strncmp(key, "ray.io/", strlen("ray.io/")) == 0 ||
	       strcmp(key, GPUSHARE_ANNOTATION_INDEX) == 0 ||
	       strcmp(key, GPUSHARE_ANNOTATION_ALLOCATION) == 0;
}

static void write_annotations(struct json_writer *writer, const struct labels *annotations)
{
	bool any = false;

	for (size_t i = 0; i < annotations->count; i++) {
		if (!annotation_is_known(annotations->at[i].key))
			continue;
		if (!any)
			json_write_object(writer, "annotations");
		any = true;
		json_write_text(writer, annotations->at[i].key, annotations->at[i].value);
	}
	if (any)
		json_write_object_end(writer);
}

/* The part of managedFields that ray_cluster_decode reads: the last writer of the worker groups. */
static void write_groups_manager(struct json_writer *writer, const char *manager)
{
	json_write_array(writer, "managedFields");
	json_write_object_line(writer, NULL);
	json_write_text(writer, "manager", manager);
	json_write_object(writer, "fieldsV1");
	json_write_object(writer, "f:spec");
	json_write_object(writer, "f:workerGroupSpecs");
	json_write_object_end(writer);
	json_write_object_end(writer);
	json_write_object_end(writer);
	json_write_object_end(writer);
	json_write_array_end(writer);
}

static void write_owner(struct json_writer *writer, const struct pod_owner *owner)
{
	json_write_array(writer, "ownerReferences");
	if (owner) {
		json_write_object_line(writer, NULL);
		object_write_text(writer, "apiVersion", owner->api_version);
		object_write_text(writer, "kind", owner->kind);
		object_write_text(writer, "name", owner->name);
		object_write_text(writer, "uid", owner->uid);
		json_write_boolean(writer, "controller", true);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

void object_write_metadata(struct json_writer *writer, const struct object_write_metadata *metadata)
{
	json_write_object(writer, "metadata");
	object_write_text(writer, "namespace", metadata->namespace_);
	object_write_text(writer, "name", metadata->name);
	object_write_text(writer, "uid", metadata->uid);
	object_write_text(writer, "resourceVersion", metadata->resource_version);
	if (metadata->generation != 0)
		json_write_integer(writer, "generation", metadata->generation);
	if (metadata->created != TIME_NONE)
		json_write_time(writer, "creationTimestamp", metadata->created);
	if (metadata->deleting)
		json_write_time(writer, "deletionTimestamp",
				metadata->deleted != TIME_NONE ? metadata->deleted : 0);
	if (metadata->labels)
		object_write_labels(writer, "labels", metadata->labels);
	if (metadata->annotations)
		write_annotations(writer, metadata->annotations);
	if (metadata->groups_manager && metadata->groups_manager[0])
		write_groups_manager(writer, metadata->groups_manager);
	if (metadata->owner || metadata->owners_known)
		write_owner(writer, metadata->owner);
	json_write_object_end(writer);
}

void object_write_node(struct json_writer *writer, const char *name, const struct node *node)
{
	const struct object_write_metadata metadata = {
		.name = node->name,
		.resource_version = node->resource_version,
		.created = TIME_NONE,
		.labels = &node->labels,
		.annotations = &node->annotations,
	};

	json_write_object(writer, name);
	object_write_metadata(writer, &metadata);
	json_write_object(writer, "spec");
	if (node->unschedulable)
		json_write_boolean(writer, "unschedulable", true);
	if (node->taint_count > 0) {
		json_write_array(writer, "taints");
		for (size_t i = 0; i < node->taint_count; i++) {
			json_write_object_line(writer, NULL);
			object_write_text(writer, "key", node->taints[i].key);
			object_write_text(writer, "value", node->taints[i].value);
			object_write_text(writer, "effect", node->taints[i].effect);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
	json_write_object(writer, "status");
	object_write_quantities(writer, "capacity", &node->capacity);
	object_write_quantities(writer, "allocatable", &node->allocatable);
	object_write_conditions(writer, node->conditions, node->condition_count);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

void object_write_event(struct json_writer *writer, const char *name, const struct event *event)
{
	const struct object_write_metadata metadata = {
		.namespace_ = event->namespace_,
		.name = event->name,
		.created = TIME_NONE,
	};

	json_write_object(writer, name);
	object_write_metadata(writer, &metadata);
	json_write_object_line(writer, "involvedObject");
	object_write_text(writer, "kind", event->involved_kind);
	object_write_text(writer, "name", event->involved_name);
	object_write_text(writer, "uid", event->involved_uid);
	json_write_object_end(writer);
	object_write_text(writer, "reason", event->reason);
	object_write_text(writer, "message", event->message);
	object_write_text(writer, "type", event->type);
	object_write_text(writer, "reportingController", event->source);
	json_write_integer(writer, "count", event->count);
	json_write_time(writer, "firstTimestamp", event->first_time);
	json_write_time(writer, "lastTimestamp", event->last_time);
	json_write_object_end(writer);
}

/* The part of the status that decisions use. */
static void write_templates(struct json_writer *writer, const struct autoscaler_object *autoscaler)
{
	if (autoscaler->template_count == 0)
		return;
	json_write_object(writer, "status");
	json_write_array(writer, "groups");
	for (size_t i = 0; i < autoscaler->template_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "name", autoscaler->templates[i].group);
		json_write_object(writer, "seen");
		template_json_write(writer, &autoscaler->templates[i]);
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

void object_write_autoscaler(struct json_writer *writer, const char *name,
			     const struct autoscaler_object *autoscaler)
{
	const struct object_write_metadata metadata = {
		.namespace_ = autoscaler->namespace_,
		.name = autoscaler->name,
		.resource_version = autoscaler->resource_version,
		.generation = autoscaler->generation,
		.created = TIME_NONE,
	};

	json_write_object(writer, name);
	object_write_metadata(writer, &metadata);
	json_write_object(writer, "spec");
	if (autoscaler->paused)
		json_write_boolean(writer, "paused", true);
	if (autoscaler->has_idle_timeout_seconds)
		json_write_integer(writer, "idleTimeoutSeconds", autoscaler->idle_timeout_seconds);
	object_write_text(writer, "upscalingMode", autoscaler->upscaling_mode);
	if (autoscaler->bad_max_gpus)
		json_write_text(writer, "maxGPUs", autoscaler->bad_max_gpus);
	else if (autoscaler->has_max_gpus)
		json_write_amount(writer, "maxGPUs", autoscaler->max_gpus);
	if (autoscaler->group_count > 0) {
		json_write_array(writer, "groups");
		for (size_t i = 0; i < autoscaler->group_count; i++) {
			const struct autoscaler_group *group = &autoscaler->groups[i];

			json_write_object_line(writer, NULL);
			object_write_text(writer, "name", group->name);
			if (group->has_idle_timeout_seconds)
				json_write_integer(writer, "idleTimeoutSeconds",
						   group->idle_timeout_seconds);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
	write_templates(writer, autoscaler);
	json_write_object_end(writer);
}
