#include "codec/objects/autoscaler_status_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/objects/template_json.h"
#include "codec/text/json.h"

/* A group of the status, with its lastScale. */
struct scaled_group {
	struct autoscaler_scale scale;
	bool has_scale;
};

static const struct field scale_fields[] = {
	FIELD_TIME(struct scaled_group, scale.time, "time"),
	FIELD_INTEGER(struct scaled_group, scale.from, "from"),
	FIELD_INTEGER(struct scaled_group, scale.to, "to"),
	FIELD_TEXT(struct scaled_group, scale.reason, "reason"),
	FIELD_TEXT(struct scaled_group, scale.message, "message"),
	FIELD_END,
};

static const struct field group_fields[] = {
	FIELD_TEXT(struct scaled_group, scale.group, "name"),
	FIELD_OBJECT(scale_fields, "lastScale", .has = FIELD_HAS(struct scaled_group, has_scale)),
	FIELD_END,
};

static int scales_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct autoscaler_object *ret = object;
	VEC(struct autoscaler_scale) scales = { .at = NULL };
	struct json_at array;

	if (json_array(at, field->name, &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct scaled_group group = { .has_scale = false };

		if (json_expect(&e, JSON_OBJECT) || field_decode_all(&e, group_fields, &group))
			return -1;
		if (group.has_scale)
			VEC_PUSH(at->reader->arena, &scales, group.scale);
	}
	ret->scales = scales.at;
	ret->scale_count = scales.count;
	return 0;
}

static const struct field status_fields[] = {
	FIELD_LIST(struct autoscaler_object, conditions, condition_count, condition_fields,
		   "conditions"),
	FIELD_TIME(struct autoscaler_object, last_scale_time, "lastScaleTime"),
	FIELD_INTEGER(struct autoscaler_object, undecided_seconds, "undecidedIntervalSeconds"),
	FIELD_HOOK("groups", .read = scales_decode),
	FIELD_END,
};

/* A template that does not parse is left out: it is recorded again. */
static int templates_decode(const struct json_at *status, struct autoscaler_object *object)
{
	VEC(struct memory_template) templates = { .at = NULL };
	struct json_at array;

	if (json_array(status, "groups", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct memory_template template = { .since = TIME_NONE };
		struct json_at seen;

		if (json_text(&e, "name", &template.group) || json_object(&e, "seen", &seen))
			return -1;
		if (seen.json && template_json_decode(&seen, &template) == 0)
			VEC_PUSH(status->reader->arena, &templates, template);
	}
	object->templates = templates.at;
	object->template_count = templates.count;
	return 0;
}

struct message_list {
	VEC(const char *) at;
};

static int messages_collect(const struct json_at *array, struct message_list *list)
{
	for (struct json_at e = json_first(array); e.json; json_next(&e)) {
		struct json_at backoff;
		const char *text;

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "message", &text))
			return -1;
		if (*text)
			VEC_PUSH(array->reader->arena, &list->at, text);
		if (json_object(&e, "backoff", &backoff) || json_text(&backoff, "message", &text))
			return -1;
		if (*text)
			VEC_PUSH(array->reader->arena, &list->at, text);
	}
	return 0;
}

static int messages_decode(const struct json_at *status, struct autoscaler_object *object)
{
	static const char *const lists[] = { "groups", "infeasible", "unserved", "conditions" };
	struct message_list list = { .at = { .at = NULL } };
	const char *text;

	if (json_text(status, "message", &text))
		return -1;
	if (*text)
		VEC_PUSH(status->reader->arena, &list.at, text);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct json_at array;

		if (json_array(status, lists[i], &array) || messages_collect(&array, &list))
			return -1;
	}
	object->messages = (struct strings){ list.at.at, list.at.count };
	return 0;
}

void autoscaler_status_decode(const struct cJSON *json, struct arena *arena,
			      struct autoscaler_object *object)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "", &reader), status;
	struct autoscaler_object read = *object;
	const char *text;

	object->status_text = "";
	object->last_scale_time = TIME_NONE;
	read.last_scale_time = TIME_NONE;
	if (json_object(&root, "status", &status) || !status.json)
		return;
	text = json_print(&status);
	if (strlen(text) > AUTOSCALER_STATUS_MAX ||
	    field_decode_all(&status, status_fields, &read) || templates_decode(&status, &read) ||
	    messages_decode(&status, &read))
		return;
	*object = read;
	object->status_text = text;
}
