#include "feature/in_place_resize/codec/resize_patch.h"

#include "codec/text/json_write.h"
#include "feature/in_place_resize/core/resize_step.h"

#define BODY_MAX ((size_t)64 << 10)
#define CONTAINER_PATH "/spec/containers/0"

static const char *text_of(struct buf *buf, struct arena *arena)
{
	return arena_strndup(arena, buf_string(buf), buf->size);
}

/* ---- the record ---- */

static void write_integer(struct json_writer *writer, const char *name, int64_t value)
{
	if (value)
		json_write_integer(writer, name, value);
	else
		json_write_null(writer, name);
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (text[0] != '\0')
		json_write_text(writer, name, text);
	else
		json_write_null(writer, name);
}

static const char *status_text(const struct plan_resize *resize, struct arena *arena)
{
	const struct resize_status *status = &resize->status;
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object_line(&writer, NULL);
	write_text(&writer, "raylet-id", status->raylet_id);
	write_integer(&writer, "resizing-at", status->resizing_at);
	if (status->suggested_cpu)
		json_write_amount(&writer, "suggested-max-cpu", status->suggested_cpu);
	else
		json_write_null(&writer, "suggested-max-cpu");
	write_integer(&writer, "suggested-max-memory", status->suggested_memory / RESOURCE_UNIT);
	write_integer(&writer, "last-failed-at", status->last_failed_at);
	write_text(&writer, "last-failed-reason", status->last_failed_reason);
	if (status->resizing_at) {
		json_write_amount(&writer, "wanted-cpu",
				  resize_step_rounded(resize->wanted.cpu, true));
		json_write_amount(&writer, "wanted-memory",
				  resize_step_rounded(resize->wanted.memory, false));
	}
	json_write_object_end(&writer);
	return text_of(&buf, arena);
}

const char *resize_record_body(const struct plan_resize *resize, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_object(&writer, "metadata");
	json_write_text(&writer, "uid", resize->object->uid);
	if (resize->object->resource_version[0] != '\0')
		json_write_text(&writer, "resourceVersion", resize->object->resource_version);
	json_write_object(&writer, "annotations");
	json_write_text(&writer, ANNOTATION_RESIZE_STATUS, status_text(resize, arena));
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	return text_of(&buf, arena);
}

/* ---- the resize ---- */

static void write_operation(struct json_writer *writer, const char *op, const char *path,
			    const char *value)
{
	json_write_object_line(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "op", op }, { "path", path }, { "value", value });
	json_write_object_end(writer);
}

/* "4500m", or bytes. */
static const char *quantity_text(struct arena *arena, int64_t amount, bool cpu)
{
	return arena_printf(arena, "%lld%s",
			    (long long)(amount / (cpu ? RESOURCE_MILLI : RESOURCE_UNIT)),
			    cpu ? "m" : "");
}

static void write_resource(struct json_writer *writer, const struct plan_resize *resize, bool cpu,
			   struct arena *arena)
{
	const char *name = cpu ? "cpu" : "memory";
	struct resize_amount amount = resize_step_amount(resize, cpu);

	if (amount.limit >= 0)
		write_operation(writer, "replace",
				arena_printf(arena, CONTAINER_PATH "/resources/limits/%s", name),
				quantity_text(arena, amount.limit, cpu));
	write_operation(writer, "replace",
			arena_printf(arena, CONTAINER_PATH "/resources/requests/%s", name),
			quantity_text(arena, amount.request, cpu));
}

const char *resize_patch_body(const struct plan_resize *resize, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_array(&writer, NULL);
	write_operation(&writer, "test", "/metadata/uid", resize->object->uid);
	write_operation(&writer, "test", CONTAINER_PATH "/name",
			resize->object->spec.containers[0].name);
	write_resource(&writer, resize, true, arena);
	write_resource(&writer, resize, false, arena);
	json_write_array_end(&writer);
	return text_of(&buf, arena);
}
