#include "codec/objects/watch_json.h"

#include <string.h>

#include "codec/schema/field.h"

static int type_decode(const struct json_at *root, enum watch_type *ret_type)
{
	static const char *const names[] = {
		[WATCH_ADDED] = "ADDED",     [WATCH_MODIFIED] = "MODIFIED",
		[WATCH_DELETED] = "DELETED", [WATCH_BOOKMARK] = "BOOKMARK",
		[WATCH_ERROR] = "ERROR",
	};
	struct json_at type = json_member(root, "type");

	if (json_expect(&type, JSON_STRING))
		return -1;
	for (int i = WATCH_ADDED; i <= WATCH_ERROR; i++) {
		if (strcmp(names[i], json_text_value(&type)) == 0) {
			*ret_type = (enum watch_type)i;
			return 0;
		}
	}
	return json_fail(&type, "is \"%.40s\", none of ADDED, MODIFIED, DELETED, BOOKMARK, ERROR",
			 json_text_value(&type));
}

static int status_decode(const struct json_at *status, struct api_status *ret)
{
	struct json_at details;

	return json_expect(status, JSON_OBJECT) || json_integer(status, "code", NULL, &ret->code) ||
	       json_text(status, "reason", &ret->reason) ||
	       json_text(status, "message", &ret->message) ||
	       json_object(status, "details", &details) ||
	       json_integer(&details, "retryAfterSeconds", NULL, &ret->retry_after_seconds);
}

int watch_decode(const struct cJSON *json, struct arena *arena, struct watch_event *ret_event,
		 struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, "", &reader), object, metadata;
	struct watch_event event = {
		.resource_version = "",
		.status = { .reason = "", .message = "" },
	};

	if (json_expect(&root, JSON_OBJECT) || type_decode(&root, &event.type))
		return -1;
	object = json_member(&root, "object");
	if (json_expect(&object, JSON_OBJECT))
		return -1;
	event.object = object.json;
	if (event.type == WATCH_ERROR) {
		if (status_decode(&object, &event.status))
			return -1;
	} else if (json_object(&object, "metadata", &metadata) ||
		   json_text(&metadata, "resourceVersion", &event.resource_version)) {
		return -1;
	}
	*ret_event = event;
	return 0;
}

int api_status_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct api_status *ret_status, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	static const struct field kind = FIELD_FIXED("kind", "Status", .flags = FIELD_REQUIRED);
	struct json_at root = json_root(json, path, &reader);
	struct json_at member = json_member(&root, kind.name);
	struct api_status status = { .code = 0 };

	if (json_expect(&root, JSON_OBJECT) || field_decode(&member, &kind, &status) ||
	    status_decode(&root, &status))
		return -1;
	*ret_status = status;
	return 0;
}

enum err_kind api_status_kind(int64_t code)
{
	switch (code) {
	case 401:
	case 403:
		return ERR_DENIED;
	case 404:
		return ERR_NOT_FOUND;
	case 409:
	case 422:
		return ERR_CONFLICT;
	case 410:
		return ERR_GONE;
	case 408:
	case 429:
		return ERR_RETRY;
	default:
		return code >= 500 ? ERR_RETRY : ERR_INPUT;
	}
}
