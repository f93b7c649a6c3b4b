#include "codec/objects/event_write.h"

#include <ctype.h>
#include <string.h>

#include "codec/text/json_write.h"

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

static void write_involved(struct json_writer *writer, const struct event_object *about)
{
	json_write_object_line(writer, "involvedObject");
	json_write_text(writer, "apiVersion", about->api_version);
	json_write_text(writer, "kind", about->kind);
	json_write_text(writer, "namespace", about->namespace_);
	json_write_text(writer, "name", about->name);
	json_write_text(writer, "uid", about->uid);
	json_write_text(writer, "resourceVersion", about->resource_version);
	json_write_object_end(writer);
}

void event_write_new(struct buf *buf, const struct event_object *about,
		     const struct event_text *event)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", "v1");
	json_write_text(&writer, "kind", "Event");
	json_write_object_line(&writer, "metadata");
	json_write_text(&writer, "namespace", about->namespace_);
	json_write_text(&writer, "name", event->name);
	json_write_object_end(&writer);
	write_involved(&writer, about);
	json_write_text(&writer, "reason", event->reason);
	json_write_text(&writer, "message", event->message);
	json_write_text(&writer, "type", event->warning ? "Warning" : "Normal");
	json_write_integer(&writer, "count", event->count);
	json_write_time(&writer, "firstTimestamp", whole_second(event->first));
	json_write_time(&writer, "lastTimestamp", whole_second(event->last));
	json_write_object_line(&writer, "source");
	json_write_text(&writer, "component", EVENT_COMPONENT);
	json_write_object_end(&writer);
	json_write_text(&writer, "reportingComponent", EVENT_COMPONENT);
	json_write_text(&writer, "reportingInstance", event->instance);
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
