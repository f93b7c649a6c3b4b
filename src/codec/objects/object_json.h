/* Shared parts of Kubernetes objects: metadata, labels, lists of strings, conditions. Used by the
 * object decoders of codec only; results live in the reader's arena. */
#ifndef CODEC_OBJECTS_OBJECT_JSON_H
#define CODEC_OBJECTS_OBJECT_JSON_H

#include "codec/objects/field.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"

struct object_metadata {
	const char *namespace_, *name, *uid, *resource_version;
	int64_t generation;
	bool deleting; /* deletionTimestamp exists, whatever its value */
	time_ms created, deletion_time;
	struct labels labels, annotations;
};

/* Not a member of a Kubernetes object: why it could not be read, in the file form. */
#define OBJECT_UNREADABLE "unreadable"

/* Kubernetes allows no longer name, for any kind. */
#define OBJECT_NAME_SIZE_MAX 253

/* Fails on a string that is too long for a name, because every message would repeat it. */
int object_name_check(const struct json_at *at);
/* `metadata` of the object; with name_required it must have a name that is not empty. */
int object_metadata_decode(const struct json_at *object, bool name_required,
			   struct object_metadata *ret_metadata);
/* A member that is a map of strings, sorted by key; empty when missing. */
int object_labels_decode(const struct json_at *at, const char *name, struct labels *ret_labels);
/* `annotations` of the metadata `at`: free text, of which this program uses little. A character
 * that a string cannot hold is read as U+FFFD (json_shown), so that it costs no more than that
 * annotation. */
int object_annotations_decode(const struct json_at *at, struct labels *ret_annotations);
/* A member that is a list of strings; empty when missing. */
int object_strings_decode(const struct json_at *at, const char *name, struct strings *ret_strings);
extern const struct field condition_fields[]; /* of struct condition */
/* A member that is text, "" when it is missing or has another type: for values that only identify
 * an object, and for objects that cannot be read as a whole. */
const char *object_text_or_none(const struct json_at *at, const char *name);

#endif
