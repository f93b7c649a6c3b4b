#include "codec/objects/node_json.h"

#include <string.h>

#include "codec/schema/field.h"
#include "codec/schema/scheduling.h"

static int addresses_decode(const struct json_at *member, const struct field *field UNUSED,
			    void *object)
{
	struct node *node = object;

	if (json_optional(member, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		const char *type, *address;

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "type", &type) ||
		    json_text(&e, "address", &address))
			return -1;
		if (strcmp(type, "InternalIP") == 0 && node->address[0] == '\0')
			node->address = address;
	}
	return 0;
}

static const struct field metadata_fields[] = {
	FIELD_NAME(struct node, name, "name", .flags = FIELD_REQUIRED),
	FIELD_CHECK(FIELD_KIND_NAME, "namespace"),
	FIELD_CHECK(FIELD_KIND_TEXT, "uid"),
	FIELD_TEXT(struct node, resource_version, "resourceVersion"),
	FIELD_CHECK(FIELD_KIND_INTEGER, "generation"),
	FIELD_LABELS(struct node, labels, "labels"),
	FIELD_NOTES(struct node, annotations, "annotations"),
	FIELD_CHECK(FIELD_KIND_TIME, "creationTimestamp"),
	FIELD_CHECK(FIELD_KIND_TIME, "deletionTimestamp"),
	FIELD_END,
};

static const struct field spec_fields[] = {
	FIELD_BOOLEAN(struct node, unschedulable, "unschedulable"),
	FIELD_LIST(struct node, taints, taint_count, taint_fields, "taints", .flags = FIELD_LINE,
		   .initial = &taint_initial),
	FIELD_END,
};

static const struct field status_fields[] = {
	FIELD_HOOK("addresses", .read = addresses_decode),
	FIELD_QUANTITIES(struct node, capacity, "capacity"),
	FIELD_QUANTITIES(struct node, allocatable, "allocatable"),
	FIELD_LIST(struct node, conditions, condition_count, condition_fields, "conditions",
		   .flags = FIELD_LINE),
	FIELD_END,
};

const struct node node_initial = { .address = "" };

const struct field node_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(status_fields, "status", .flags = FIELD_ALWAYS),
	FIELD_END,
};

int node_decode(const struct cJSON *json, const char *path, struct arena *arena,
		struct node *ret_node, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct node, node_fields, .initial = &node_initial,
					       FIELD_PROBLEMS(struct node)),
				   arena, ret_node, err);
}
