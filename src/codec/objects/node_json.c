#include "codec/objects/node_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/text/quantity.h"

static int taints_decode(const struct json_at *spec, struct node *ret)
{
	VEC(struct taint) taints = { .at = NULL };
	struct json_at array;

	if (json_array(spec, "taints", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct taint *taint = VEC_ADD(spec->reader->arena, &taints);

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "key", &taint->key) ||
		    json_text(&e, "value", &taint->value) ||
		    json_text(&e, "effect", &taint->effect))
			return -1;
	}
	ret->taints = taints.at;
	ret->taint_count = taints.count;
	return 0;
}

static int address_decode(const struct json_at *status, struct node *ret)
{
	struct json_at array;

	if (json_array(status, "addresses", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		const char *type, *address;

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "type", &type) ||
		    json_text(&e, "address", &address))
			return -1;
		if (strcmp(type, "InternalIP") == 0 && ret->address[0] == '\0')
			ret->address = address;
	}
	return 0;
}

int node_decode(const struct cJSON *json, const char *path, struct arena *arena,
		struct node *ret_node, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), spec, status;
	struct object_metadata metadata;
	struct node node = { .name = "", .address = "" };

	if (json_expect(&root, JSON_OBJECT) || object_metadata_decode(&root, true, &metadata) ||
	    json_object(&root, "spec", &spec) || json_object(&root, "status", &status) ||
	    taints_decode(&spec, &node) || address_decode(&status, &node) ||
	    json_boolean(&spec, "unschedulable", &node.unschedulable) ||
	    quantities_decode(&status, "capacity", &node.capacity) ||
	    quantities_decode(&status, "allocatable", &node.allocatable) ||
	    object_conditions_decode(&status, "conditions", &node.conditions,
				     &node.condition_count))
		return -1;
	node.name = metadata.name;
	node.resource_version = metadata.resource_version;
	node.labels = metadata.labels;
	node.annotations = metadata.annotations;
	node.problems = object_problems(&reader);
	*ret_node = node;
	return 0;
}
