/* Kubernetes objects of core/model/kubernetes as JSON, for the snapshot file only: decoded values
 * that may be shown (see codec/objects/snapshot_write); Pods and RayClusters have their own files.
 * Must never be sent to an API server. */
#ifndef CODEC_OBJECTS_OBJECT_WRITE_H
#define CODEC_OBJECTS_OBJECT_WRITE_H

#include "codec/text/json_write.h"
#include "core/model/kubernetes.h"

void object_write_node(struct json_writer *writer, const char *name, const struct node *node);
void object_write_event(struct json_writer *writer, const char *name, const struct event *event);
void object_write_autoscaler(struct json_writer *writer, const char *name,
			     const struct autoscaler_object *autoscaler);

/* Parts that several files write; empty ones are omitted. */
void object_write_text(struct json_writer *writer, const char *name, const char *text);
void object_write_strings(struct json_writer *writer, const char *name,
			  const struct strings *strings);
void object_write_labels(struct json_writer *writer, const char *name, const struct labels *labels);
void object_write_quantities(struct json_writer *writer, const char *name,
			     const struct quantities *quantities);
void object_write_conditions(struct json_writer *writer, const struct condition *conditions,
			     size_t count);
/* name, namespace, ...: the members that are not "". `created` and `deleted` may be TIME_NONE;
 * deleting without a time is written as the epoch. */
struct object_write_metadata {
	const char *namespace_, *name, *uid, *resource_version;
	int64_t generation;
	time_ms created, deleted;
	bool deleting;
	const struct labels *labels, *annotations;
	const char *groups_manager;    /* of a RayCluster; NULL and "": unknown */
	const struct pod_owner *owner; /* of a Pod; NULL: none */
	bool owners_known;             /* without one the list is written as empty */
};
void object_write_metadata(struct json_writer *writer,
			   const struct object_write_metadata *metadata);

#endif
