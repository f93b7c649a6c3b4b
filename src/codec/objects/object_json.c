#include "codec/objects/object_json.h"

#include <string.h>

#include "codec/text/rfc3339.h"

static int text_map_decode(const struct json_at *at, const char *name, bool shown,
			   struct labels *ret_labels)
{
	struct arena *arena = at->reader->arena;
	VEC(struct label) labels = { .at = NULL };
	struct json_at object;

	if (json_object(at, name, &object))
		return -1;
	VEC_RESERVE(arena, &labels, json_count(&object));
	for (struct json_at e = json_first(&object); e.json; json_next(&e)) {
		enum json_type type = json_type(&e);
		/* kubectl and YAML write an empty value as null. */
		const char *value = "";

		if (type == JSON_UNREADABLE && shown)
			value = json_unreadable_value(&e);
		else if (type != JSON_NULL && json_expect(&e, JSON_STRING))
			return -1;
		else if (type != JSON_NULL)
			value = json_text_value(&e);
		VEC_PUSH(arena, &labels,
			 ((struct label){ .key = json_shown_text(arena, e.name),
					  .value = json_shown_text(arena, value) }));
	}
	*ret_labels = labels_sort(labels.at, labels.count);
	return 0;
}

int object_labels_decode(const struct json_at *at, const char *name, struct labels *ret_labels)
{
	return text_map_decode(at, name, false, ret_labels);
}

int object_annotations_decode(const struct json_at *at, struct labels *ret_annotations)
{
	return text_map_decode(at, "annotations", true, ret_annotations);
}

const char *object_text_or_none(const struct json_at *at, const char *name)
{
	struct json_at member = json_member(at, name);

	return json_type(&member) == JSON_STRING ?
		       arena_text(at->reader->arena, json_text_value(&member)) :
		       "";
}

int object_strings_decode(const struct json_at *at, const char *name, struct strings *ret_strings)
{
	struct arena *arena = at->reader->arena;
	VEC(const char *) strings = { .at = NULL };
	struct json_at array;

	if (json_array(at, name, &array))
		return -1;
	VEC_RESERVE(arena, &strings, json_count(&array));
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (json_expect(&e, JSON_STRING))
			return -1;
		VEC_PUSH(arena, &strings, arena_text(arena, json_text_value(&e)));
	}
	*ret_strings = (struct strings){ .at = strings.at, .count = strings.count };
	return 0;
}

int object_name_check(const struct json_at *at)
{
	size_t size;

	if (json_type(at) != JSON_STRING)
		return 0;
	size = strlen(json_text_value(at));
	if (size > OBJECT_NAME_SIZE_MAX)
		return json_fail(at, "has %zu bytes; a name has at most %d", size,
				 OBJECT_NAME_SIZE_MAX);
	return 0;
}

int object_metadata_decode(const struct json_at *object, bool name_required,
			   struct object_metadata *ret_metadata)
{
	struct object_metadata metadata = { .generation = 0 };
	struct json_at at, name, namespace, deletion;

	if (json_object(object, "metadata", &at))
		return -1;
	name = json_member(&at, "name");
	namespace = json_member(&at, "namespace");
	if ((name_required && json_expect(&name, JSON_STRING)) ||
	    json_text(&at, "name", &metadata.name) || object_name_check(&name) ||
	    json_text(&at, "namespace", &metadata.namespace_) || object_name_check(&namespace) ||
	    json_text(&at, "uid", &metadata.uid) ||
	    json_text(&at, "resourceVersion", &metadata.resource_version) ||
	    json_integer(&at, "generation", NULL, &metadata.generation) ||
	    object_labels_decode(&at, "labels", &metadata.labels) ||
	    object_annotations_decode(&at, &metadata.annotations) ||
	    rfc3339_decode(&at, "creationTimestamp", &metadata.created) ||
	    rfc3339_decode(&at, "deletionTimestamp", &metadata.deletion_time))
		return -1;
	if (name_required && *metadata.name == '\0')
		return json_fail(&name, "must not be empty");
	deletion = json_member(&at, "deletionTimestamp");
	metadata.deleting = json_type(&deletion) == JSON_STRING;
	*ret_metadata = metadata;
	return 0;
}

const struct field condition_fields[] = {
	FIELD_TEXT(struct condition, type, "type"),
	FIELD_TEXT(struct condition, status, "status"),
	FIELD_TEXT(struct condition, reason, "reason"),
	FIELD_SHOWN(struct condition, message, "message"),
	FIELD_TIME(struct condition, last_transition, "lastTransitionTime"),
	FIELD_END,
};
