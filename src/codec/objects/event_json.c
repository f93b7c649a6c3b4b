#include "codec/objects/event_json.h"

#include "codec/objects/object_json.h"
#include "codec/text/rfc3339.h"

/* v1 and events.k8s.io/v1 have different names for the same members: uses the first that is
 * given. */
static int first_text(const struct json_at *at, const char *name, const char *other,
		      const char **ret_value)
{
	if (json_shown(at, name, ret_value))
		return -1;
	return **ret_value == '\0' ? json_shown(at, other, ret_value) : 0;
}

static int first_time(const struct json_at *at, const char *const names[3], time_ms *ret_time)
{
	*ret_time = TIME_NONE;
	for (int i = 0; i < 3 && *ret_time == TIME_NONE; i++) {
		if (rfc3339_decode(at, names[i], ret_time))
			return -1;
	}
	return 0;
}

static int times_decode(const struct json_at *root, struct event *ret)
{
	static const char *const first_names[] = { "firstTimestamp", "deprecatedFirstTimestamp",
						   "eventTime" };
	static const char *const last_names[] = { "lastTimestamp", "deprecatedLastTimestamp",
						  "eventTime" };
	struct json_at series;
	bool has_count;
	time_ms observed;

	ret->count = 1;
	if (first_time(root, first_names, &ret->first_time) ||
	    first_time(root, last_names, &ret->last_time) || json_object(root, "series", &series) ||
	    json_integer(root, "count", &has_count, &ret->count) ||
	    (!has_count && json_integer(root, "deprecatedCount", NULL, &ret->count)) ||
	    json_integer(&series, "count", NULL, &ret->count) ||
	    rfc3339_decode(&series, "lastObservedTime", &observed))
		return -1;
	if (observed != TIME_NONE && observed > ret->last_time)
		ret->last_time = observed;
	return 0;
}

static int source_decode(const struct json_at *root, struct event *ret)
{
	struct json_at source;

	if (json_object(root, "source", &source) || json_text(&source, "component", &ret->source))
		return -1;
	if (*ret->source != '\0')
		return 0;
	return first_text(root, "reportingController", "reportingComponent", &ret->source);
}

int event_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct event *ret_event, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), involved;
	struct object_metadata metadata;
	struct event event = { .count = 1 };

	if (json_expect(&root, JSON_OBJECT) || object_metadata_decode(&root, false, &metadata) ||
	    json_object(&root, "involvedObject", &involved) ||
	    (!involved.json && json_object(&root, "regarding", &involved)) ||
	    json_text(&involved, "kind", &event.involved_kind) ||
	    json_text(&involved, "name", &event.involved_name) ||
	    json_text(&involved, "uid", &event.involved_uid) ||
	    json_text(&root, "reason", &event.reason) || json_text(&root, "type", &event.type) ||
	    first_text(&root, "message", "note", &event.message) || source_decode(&root, &event) ||
	    times_decode(&root, &event))
		return -1;
	event.namespace_ = metadata.namespace_;
	event.name = metadata.name;
	*ret_event = event;
	return 0;
}
