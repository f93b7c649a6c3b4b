#include "codec/objects/autoscaler_status_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/objects/template_json.h"
#include "codec/text/json.h"
#include "codec/text/rfc3339.h"

static int scale_decode(const struct json_at *group, struct autoscaler_scale *scale, bool *ret_has)
{
	struct json_at last;

	if (json_expect(group, JSON_OBJECT) || json_text(group, "name", &scale->group) ||
	    json_object(group, "lastScale", &last))
		return -1;
	*ret_has = last.json != NULL;
	if (rfc3339_decode(&last, "time", &scale->time) ||
	    json_integer(&last, "from", NULL, &scale->from) ||
	    json_integer(&last, "to", NULL, &scale->to) ||
	    json_text(&last, "reason", &scale->reason) ||
	    json_text(&last, "message", &scale->message))
		return -1;
	return 0;
}

static int scales_decode(const struct json_at *status, struct autoscaler_object *object)
{
	VEC(struct autoscaler_scale) scales = { .at = NULL };
	struct json_at array;

	if (json_array(status, "groups", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct autoscaler_scale scale = { .group = "" };
		bool has;

		if (scale_decode(&e, &scale, &has))
			return -1;
		if (has)
			VEC_PUSH(status->reader->arena, &scales, scale);
	}
	object->scales = scales.at;
	object->scale_count = scales.count;
	return 0;
}

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
	    object_conditions_decode(&status, "conditions", &read.conditions,
				     &read.condition_count) ||
	    rfc3339_decode(&status, "lastScaleTime", &read.last_scale_time) ||
	    json_integer(&status, "undecidedIntervalSeconds", NULL, &read.undecided_seconds) ||
	    scales_decode(&status, &read) || templates_decode(&status, &read) ||
	    messages_decode(&status, &read))
		return;
	*object = read;
	object->status_text = text;
}
