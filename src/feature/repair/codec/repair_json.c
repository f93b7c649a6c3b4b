#include "feature/repair/codec/repair_json.h"

#include <string.h>

#define SPEC struct repair_spec
#define REQUEST struct drain_request
#define NODE struct repair_node

const struct field repair_spec_fields[] = {
	FIELD_INTEGER(SPEC, deadline_seconds, "deadlineSeconds",
		      .has = FIELD_HAS(SPEC, has_deadline_seconds),
		      .check = field_check_not_negative,
		      .description = "The time that Ray gets to move work, 600 if absent.",
		      .schema = "format: int32\nminimum: 1\nmaximum: 604800"),
	FIELD_BOOLEAN(SPEC, deletes, "deletes", .has = FIELD_HAS(SPEC, has_deletes),
		      .description = "True: after it the Pods are deleted while their work runs."),
	FIELD_INTEGER(SPEC, max_unavailable, "maxUnavailable",
		      .has = FIELD_HAS(SPEC, has_max_unavailable),
		      .check = field_check_not_negative,
		      .description = "At most so many Nodes are emptied at once, 1 if absent.",
		      .schema = "format: int32\nminimum: 0\nmaximum: 100000"),
	FIELD_INTEGER(SPEC, max_unavailable_percent, "maxUnavailablePercent",
		      .has = FIELD_HAS(SPEC, has_max_unavailable_percent),
		      .check = field_check_not_negative,
		      .description =
			      "The same, of the Nodes that the cluster uses. The larger counts.",
		      .schema = "format: int32\nminimum: 0\nmaximum: 100"),
	FIELD_NAMES(NULL),
};

const struct drain_request drain_request_initial = {
	.namespace_ = "",
	.name = "",
	.uid = "",
	.resource_version = "",
	.node = "",
	.check = "",
	.reason = "",
	.created = TIME_NONE,
};

static const struct field metadata_fields[] = {
	FIELD_NAME(REQUEST, namespace_, "namespace", .flags = FIELD_REQUIRED),
	FIELD_NAME(REQUEST, name, "name", .flags = FIELD_REQUIRED),
	FIELD_TEXT(REQUEST, uid, "uid"),
	FIELD_TEXT(REQUEST, resource_version, "resourceVersion"),
	FIELD_TIME(REQUEST, created, "creationTimestamp"),
	FIELD_END,
};

static const struct field drain_pods_fields[] = {
	FIELD_TEXT(struct drain_pods, namespace_, "namespace"),
	FIELD_TEXTS(struct drain_pods, names, "names"),
	FIELD_END,
};

/* {namespace: [name]} */
static int pods_decode(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct arena *arena = member->reader->arena;
	VEC(struct drain_pods) pods = { .at = NULL };
	struct drain_request *request = object;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	for (struct json_at at = json_first(member); at.json; json_next(&at)) {
		struct drain_pods *own = VEC_ADD(arena, &pods);

		own->namespace_ = arena_strdup(arena, at.name);
		if (field_decode(&at, &drain_pods_fields[1], own))
			return -1;
	}
	request->has_pods = json_is_given(member);
	request->pods = pods.at;
	request->pods_count = pods.count;
	return 0;
}

static void write_pods(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct drain_request *request = object;

	if (!request->has_pods)
		return;
	json_write_object_line(writer, field->name);
	ARRAY_EACH(const struct drain_pods, own, request->pods, request->pods_count)
		field_write_texts(writer, own->namespace_, &own->names);
	json_write_object_end(writer);
}

static const struct field request_spec_fields[] = {
	FIELD_NAME(REQUEST, node, "nodeName"),
	FIELD_TEXT(REQUEST, check, "checkName"),
	FIELD_TEXT(REQUEST, reason, "reason"),
	FIELD_LIST(REQUEST, pods, pods_count, drain_pods_fields, "podsToDrain",
		   .has = FIELD_HAS(REQUEST, has_pods), .read = pods_decode, .write = write_pods),
	FIELD_END,
};

static const struct field request_status_fields[] = {
	FIELD_LIST(REQUEST, conditions, condition_count, condition_fields, "conditions",
		   .flags = FIELD_LINE),
	FIELD_END,
};

const struct field drain_request_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(request_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(request_status_fields, "status"),
	FIELD_END,
};

int drain_request_decode(const struct cJSON *json, const char *path, struct arena *arena,
			 struct drain_request *ret_request, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(REQUEST, drain_request_fields,
					       .initial = &drain_request_initial),
				   arena, ret_request, err);
}

static const struct field patch_metadata_fields[] = {
	FIELD_TEXT(REQUEST, uid, "uid"),
	FIELD_TEXT(REQUEST, resource_version, "resourceVersion"),
	FIELD_END,
};

static const struct field patch_fields[] = {
	FIELD_OBJECT(patch_metadata_fields, "metadata"),
	FIELD_OBJECT(request_status_fields, "status"),
	FIELD_END,
};

/* The condition of NVSentinel's drainrequest_controller.go, beside those of others. */
const char *drain_request_patch_body(const struct drain_request *request, time_ms now,
				     struct arena *arena)
{
	struct drain_request patch = *request;
	VEC(struct condition) conditions = { .at = NULL };

	ARRAY_EACH(const struct condition, other, request->conditions, request->condition_count)
		if (strcmp(other->type, DRAIN_COMPLETE) != 0)
			VEC_PUSH(arena, &conditions, *other);
	VEC_PUSH(arena, &conditions,
		 ((struct condition){ .type = DRAIN_COMPLETE,
				      .status = "True",
				      .reason = "NoPods",
				      .message = "none of its Pods of a RayCluster is on the Node",
				      .last_transition = now / MS_PER_SECOND * MS_PER_SECOND }));
	patch.conditions = conditions.at;
	patch.condition_count = conditions.count;
	return field_text(patch_fields, &patch, arena);
}

FIELD_WORDS(repair_state, enum repair_state)

const struct field worker_failure_fields[] = {
	FIELD_NAME(struct worker_failure, group, "group", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct worker_failure, pod, "pod", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct worker_failure, node, "node", .flags = FIELD_REQUIRED),
	FIELD_TIME(struct worker_failure, at, "time", .flags = FIELD_REQUIRED),
	FIELD_TEXT(struct worker_failure, message, "message"),
	FIELD_END,
};

static const struct field repair_node_fields[] = {
	FIELD_TEXT(NODE, node, "node", .flags = FIELD_ALWAYS),
	FIELD_WORD(NODE, state, enum repair_state, repair_state_word, "state",
		   .flags = FIELD_ALWAYS),
	FIELD_TEXT(NODE, why, "sign", .flags = FIELD_ALWAYS),
	FIELD_TIME(NODE, since, "since"),
	FIELD_INTEGER(NODE, workers, "workers", .flags = FIELD_ALWAYS),
	FIELD_END,
};

const struct field plan_repair_fields[] = {
	FIELD_LIST(struct plan_repair, nodes.at, nodes.count, repair_node_fields, "nodes",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_END,
};
