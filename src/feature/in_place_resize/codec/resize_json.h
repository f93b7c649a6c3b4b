/* In-place resize in objects: Ray's annotation with the limits of groups, the annotation of Pods with
 * what was done, the resources of a running container, and the resizes of a plan. A value that Ray
 * refuses is a problem of the annotation, never an error. */
#ifndef FEATURE_IN_PLACE_RESIZE_CODEC_RESIZE_JSON_H
#define FEATURE_IN_PLACE_RESIZE_CODEC_RESIZE_JSON_H

#include "codec/schema/field.h"

/* NULL: no annotation. */
const struct resize_limits *resize_limits_decode(const struct labels *annotations,
						 struct arena *arena);
/* NULL: no annotation, or not an object of Ray's form. */
const struct resize_status *resize_status_decode(const struct labels *annotations,
						 struct arena *arena);

int resize_resources_decode(const struct json_at *member, const struct field *field, void *object);
void resize_resources_write(struct json_writer *writer, const struct field *field,
			    const void *object);
int resize_policy_decode(const struct json_at *member, const struct field *field, void *object);
void resize_policy_write(struct json_writer *writer, const struct field *field, const void *object);

extern const struct field plan_resize_fields[];

/* After the annotations of an object. */
#define RESIZE_RAY_CLUSTER_ANNOTATIONS(cluster, arena)                                             \
	(cluster)->resize = resize_limits_decode(&(cluster)->annotations, arena);
#define RESIZE_POD_ANNOTATIONS(pod, arena)                                                         \
	(pod)->resize = resize_status_decode(&(pod)->annotations, arena);

/* Rows of the tables of a struct container_status, container and plan. */
#define RESIZE_CONTAINER_STATUS_ROWS(T)                                                            \
	FIELD_HOOK("resources", .read = resize_resources_decode, .write = resize_resources_write)
#define RESIZE_CONTAINER_ROWS(T)                                                                   \
	FIELD_HOOK("resizePolicy", .read = resize_policy_decode, .write = resize_policy_write)
#define RESIZE_PLAN_ROWS(T)                                                                        \
	FIELD_LIST(T, resizes.at, resizes.count, plan_resize_fields, "resizes", .flags = FIELD_LINE)

#endif
