#include "feature/in_place_resize/codec/resize_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/quantity.h"
#include "core/model/plan.h"

/* The API server allows 256 KiB of annotations. */
static const struct json_limits limits = { .bytes = 1 << 18, .depth = 8, .elements = 20000 };

/* ---- the limits (IPPRSpecsSchema of ray/autoscaler/v2/schema.py) ---- */

static int amount_decode(const struct json_at *group, const char *name, int64_t *ret_amount)
{
	struct json_at member = json_member(group, name);
	struct quantity quantity;

	if (!json_is_given(&member))
		return json_fail(&member, "is required");
	if (json_type(&member) != JSON_STRING && json_type(&member) != JSON_NUMBER)
		return json_fail(&member, "must be a quantity such as \"2\" or \"8Gi\"");
	if (quantity_decode(&member, &quantity))
		return -1;
	if (!quantity.valid || quantity.amount == 0)
		return json_fail(&member, "\"%.40s\" is not a quantity above 0", quantity.text);
	*ret_amount = quantity.amount;
	return 0;
}

static int group_decode(const struct json_at *at, struct resize_group *group)
{
	struct json_at memory, timeout;

	*group = (struct resize_group){ .name = arena_strdup(at->reader->arena, at->name) };
	if (json_expect(at, JSON_OBJECT) || amount_decode(at, "max-cpu", &group->max_cpu) ||
	    amount_decode(at, "max-memory", &group->max_memory))
		return -1;
	memory = json_member(at, "max-memory");
	if (json_type(&memory) == JSON_NUMBER && group->max_memory % RESOURCE_UNIT != 0)
		return json_fail(&memory, "must be a whole number of bytes");
	timeout = json_member(at, "resize-timeout");
	if (json_type(&timeout) != JSON_NUMBER ||
	    json_integer_value(&timeout, &group->timeout_seconds) || group->timeout_seconds < 0)
		return json_fail(&timeout, "must be a whole number of seconds");
	return 0;
}

static int limits_decode(const char *text, struct arena *arena, struct resize_limits *ret_limits,
			 struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root, all;
	VEC(struct resize_group) groups = { .at = NULL };

	if (json_parse(text, strlen(text), &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) || json_object(&root, "groups", &all))
		return -1;
	for (struct json_at e = json_first(&all); e.json; json_next(&e))
		if (group_decode(&e, VEC_ADD(arena, &groups)))
			return -1;
	*ret_limits = (struct resize_limits){ .groups = groups.at, .group_count = groups.count };
	return 0;
}

const struct resize_limits *resize_limits_decode(const struct labels *annotations,
						 struct arena *arena)
{
	const char *text = labels_value(annotations, ANNOTATION_RESIZE);
	struct resize_limits found = { .problem = NULL };
	struct err err;

	if (!text || text[0] == '\0')
		return NULL;
	if (limits_decode(text, arena, &found, &err))
		found.problem = arena_text(arena, err.text);
	return ARENA_COPY(arena, &found, 1);
}

/* ---- the record on a Pod ---- */

static const struct field status_fields[] = {
	FIELD_TEXT(struct resize_status, raylet_id, "raylet-id"),
	FIELD_INTEGER(struct resize_status, resizing_at, "resizing-at"),
	FIELD_AMOUNT(struct resize_status, suggested_cpu, "suggested-max-cpu"),
	FIELD_AMOUNT(struct resize_status, suggested_memory, "suggested-max-memory"),
	FIELD_AMOUNT(struct resize_status, wanted_cpu, "wanted-cpu"),
	FIELD_AMOUNT(struct resize_status, wanted_memory, "wanted-memory"),
	FIELD_INTEGER(struct resize_status, last_failed_at, "last-failed-at"),
	FIELD_TEXT(struct resize_status, last_failed_reason, "last-failed-reason"),
	FIELD_END,
};

const struct resize_status *resize_status_decode(const struct labels *annotations,
						 struct arena *arena)
{
	const char *text = labels_value(annotations, ANNOTATION_RESIZE_STATUS);
	AUTO(json_done) struct cJSON *json = NULL;
	struct resize_status status;
	struct err err;

	if (!text || text[0] == '\0' || json_parse(text, strlen(text), &limits, &json, &err) ||
	    field_decode_object(json, "", FIELD_WHOLE(struct resize_status, status_fields), arena,
				&status, &err))
		return NULL;
	return ARENA_COPY(arena, &status, 1);
}

/* ---- containers ---- */

/* The Pod around `member`, an element of status.containerStatuses. */
static bool was_resized(const struct json_at *member)
{
	const struct json_at *pod = member;
	struct json_at metadata, annotations, own;

	for (int level = 0; level < 4; level++)
		pod = pod ? pod->parent : NULL;
	if (!pod)
		return false;
	metadata = json_member(pod, "metadata");
	annotations = json_member(&metadata, "annotations");
	own = json_member(&annotations, ANNOTATION_RESIZE_STATUS);
	return json_is_given(&own);
}

int resize_resources_decode(const struct json_at *member, const struct field *field UNUSED,
			    void *object)
{
	struct container_status *status = object;
	struct container_resources *resources;
	struct json_at of_limits, of_requests;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (!json_is_given(member) || !was_resized(member))
		return 0;
	resources = ARENA_NEW(member->reader->arena, struct container_resources);
	of_limits = json_member(member, "limits");
	of_requests = json_member(member, "requests");
	if (quantities_decode(&of_limits, &resources->limits) ||
	    quantities_decode(&of_requests, &resources->requests))
		return -1;
	status->resources = resources;
	return 0;
}

static const struct field resources_fields[] = {
	FIELD_QUANTITIES(struct container_resources, limits, "limits"),
	FIELD_QUANTITIES(struct container_resources, requests, "requests"),
	FIELD_END,
};

void resize_resources_write(struct json_writer *writer, const struct field *field,
			    const void *object)
{
	const struct container_status *status = object;

	if (status->resources)
		field_write_object(writer, field->name, resources_fields, status->resources);
}

/* Ray needs NotRequired for CPU and memory, which is also the default. */
int resize_policy_decode(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	struct container *container = object;

	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		const char *resource = object_text_or_none(&e, "resourceName");
		const char *policy = object_text_or_none(&e, "restartPolicy");

		if (container->restarts_for || policy[0] == '\0' ||
		    strcmp(policy, "NotRequired") == 0)
			continue;
		if (strcmp(resource, "cpu") == 0)
			container->restarts_for = "cpu";
		else if (strcmp(resource, "memory") == 0)
			container->restarts_for = "memory";
	}
	return 0;
}

void resize_policy_write(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct container *container = object;

	if (!container->restarts_for)
		return;
	json_write_array(writer, field->name);
	json_write_object_line(writer, NULL);
	json_write_text(writer, "resourceName", container->restarts_for);
	json_write_text(writer, "restartPolicy", "RestartContainer");
	json_write_object_end(writer);
	json_write_array_end(writer);
}

/* ---- the plan ---- */

#define RESIZE struct plan_resize

FIELD_WORDS(resize_action, enum resize_action)

const struct field plan_resize_fields[] = {
	FIELD_TEXT(RESIZE, pod, "pod", .flags = FIELD_ALWAYS),
	FIELD_TEXT(RESIZE, group, "group", .flags = FIELD_ALWAYS),
	FIELD_WORD(RESIZE, action, enum resize_action, resize_action_word, "action",
		   .flags = FIELD_ALWAYS),
	FIELD_AMOUNT(RESIZE, now.cpu, "cpuNow", .flags = FIELD_ALWAYS),
	FIELD_AMOUNT(RESIZE, wanted.cpu, "cpu", .flags = FIELD_ALWAYS),
	FIELD_AMOUNT(RESIZE, now.memory, "memoryNow", .flags = FIELD_ALWAYS),
	FIELD_AMOUNT(RESIZE, wanted.memory, "memory", .flags = FIELD_ALWAYS),
	FIELD_REASON(RESIZE, reason, REASONS_OF_CONDITIONS, "reason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(RESIZE, message, "message", .flags = FIELD_ALWAYS),
	FIELD_END,
};
