#include "codec/objects/event_json.h"

#include <ctype.h>
#include <string.h>

#include "codec/text/json_write.h"
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

static int message_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct event *ret = object;

	return first_text(member->parent, field->name, "note", &ret->message);
}

static int source_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct event *ret = object;
	struct json_at source;

	if (json_object(member->parent, "source", &source) ||
	    json_text(&source, "component", &ret->source))
		return -1;
	if (*ret->source != '\0')
		return 0;
	return first_text(member->parent, field->name, "reportingComponent", &ret->source);
}

static int involved_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct json_at involved = *member;

	if (!json_is_given(member))
		involved = json_member(member->parent, "regarding");
	if (json_optional(&involved, JSON_OBJECT))
		return -1;
	return field_decode_all(&involved, field->members, object);
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

static int times_decode(const struct json_at *member, const struct field *field, void *object)
{
	const struct json_at *root = member->parent;
	struct event *ret = object;
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
	    json_integer(root, field->name, &has_count, &ret->count) ||
	    (!has_count && json_integer(root, "deprecatedCount", NULL, &ret->count)) ||
	    json_integer(&series, "count", NULL, &ret->count) ||
	    rfc3339_decode(&series, "lastObservedTime", &observed))
		return -1;
	if (observed != TIME_NONE && observed > ret->last_time)
		ret->last_time = observed;
	return 0;
}

static const struct field metadata_fields[] = {
	FIELD_NAME(struct event, name, "name"),
	FIELD_NAME(struct event, namespace_, "namespace"),
	FIELD_CHECK(FIELD_KIND_TEXT, "uid"),
	FIELD_CHECK(FIELD_KIND_TEXT, "resourceVersion"),
	FIELD_CHECK(FIELD_KIND_INTEGER, "generation"),
	FIELD_CHECK(FIELD_KIND_LABELS, "labels"),
	FIELD_CHECK(FIELD_KIND_NOTES, "annotations"),
	FIELD_CHECK(FIELD_KIND_TIME, "creationTimestamp"),
	FIELD_CHECK(FIELD_KIND_TIME, "deletionTimestamp"),
	FIELD_END,
};

static const struct field involved_fields[] = {
	FIELD_TEXT(struct event, involved_kind, "kind"),
	FIELD_TEXT(struct event, involved_name, "name"),
	FIELD_TEXT(struct event, involved_uid, "uid"),
	FIELD_END,
};

const struct field event_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(involved_fields, "involvedObject", .flags = FIELD_ALWAYS | FIELD_LINE,
		     .read = involved_decode),
	FIELD_TEXT(struct event, reason, "reason"),
	FIELD_TEXT(struct event, type, "type"),
	FIELD_SHOWN(struct event, message, "message", .read = message_decode),
	FIELD_TEXT(struct event, source, "reportingController", .read = source_decode),
	FIELD_TIME(struct event, first_time, "firstTimestamp", .flags = FIELD_ALWAYS),
	FIELD_TIME(struct event, last_time, "lastTimestamp", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct event, count, "count", .flags = FIELD_ALWAYS, .read = times_decode),
	FIELD_END,
};

int event_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct event *ret_event, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct event, event_fields,
					       .initial = &(const struct event){ .count = 1 }),
				   arena, ret_event, err);
}

/* ---- Events of this program ---- */

#define ID_DIGITS 17 /* a dot and 64 bits in hex */

const char *event_name(struct arena *arena, const char *object, uint64_t id)
{
	size_t size = strnlen(object, EVENT_NAME_MAX - ID_DIGITS);

	/* Every label of the name ends with a letter or a digit. */
	while (size > 0 && !isalnum((unsigned char)object[size - 1]))
		size--;
	return arena_printf(arena, "%.*s.%llx", (int)size, object, (unsigned long long)id);
}

/* Times of core/v1 Events have no fraction. */
static time_ms whole_second(time_ms time)
{
	return time - time % MS_PER_SECOND;
}

#define ABOUT_TEXT(m, n) FIELD_TEXT(struct event_object, m, n, .flags = FIELD_ALWAYS)

const struct field event_object_fields[] = {
	ABOUT_TEXT(api_version, "apiVersion"),
	ABOUT_TEXT(kind, "kind"),
	ABOUT_TEXT(namespace_, "namespace"),
	ABOUT_TEXT(name, "name"),
	ABOUT_TEXT(uid, "uid"),
	ABOUT_TEXT(resource_version, "resourceVersion"),
	FIELD_END,
};

void event_write_new(struct buf *buf, const struct event_object *about,
		     const struct event_text *event)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", "v1" }, { "kind", "Event" });
	JSON_WRITE_TEXTS_LINE(&writer, "metadata",
			      { "namespace", *about->namespace_ ? about->namespace_ : "default" },
			      { "name", event->name });
	field_write_object(&writer, "involvedObject", event_object_fields, about);
	JSON_WRITE_TEXTS(&writer, { "reason", event->reason }, { "message", event->message },
			 { "type", event->warning ? "Warning" : "Normal" });
	json_write_integer(&writer, "count", event->count);
	json_write_time(&writer, "firstTimestamp", whole_second(event->first));
	json_write_time(&writer, "lastTimestamp", whole_second(event->last));
	JSON_WRITE_TEXTS_LINE(&writer, "source", { "component", EVENT_COMPONENT });
	JSON_WRITE_TEXTS(&writer, { "reportingComponent", EVENT_COMPONENT },
			 { "reportingInstance", event->instance });
	json_write_object_end(&writer);
}

void event_write_repeat(struct buf *buf, const struct event_text *event)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_integer(&writer, "count", event->count);
	json_write_time(&writer, "lastTimestamp", whole_second(event->last));
	json_write_text(&writer, "message", event->message);
	json_write_object_end(&writer);
}
