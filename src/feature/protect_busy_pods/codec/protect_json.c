#include "feature/protect_busy_pods/codec/protect_json.h"

#include "codec/text/json_write.h"

#define BODY_MAX ((size_t)64 << 10)
#define ITEM struct protected_pod

FIELD_WORDS(protect_action, enum protect_action)

static const struct field protected_pod_fields[] = {
	FIELD_TEXT(ITEM, name, "pod", .flags = FIELD_ALWAYS),
	FIELD_WORD(ITEM, action, enum protect_action, protect_action_word, "action",
		   .flags = FIELD_ALWAYS),
	FIELD_TIME(ITEM, since, "since"),
	FIELD_TIME(ITEM, until, "until"),
	FIELD_BOOLEAN(ITEM, ended, "ended"),
	FIELD_END,
};

const struct field plan_protection_fields[] = {
	FIELD_LIST(struct plan_protection, pods.at, pods.count, protected_pod_fields, "pods",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_END,
};

static void write_annotations(struct json_writer *writer, const struct protected_pod *item,
			      struct arena *arena)
{
	json_write_object(writer, "annotations");
	for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++) {
		enum protect_annotation annotation = (enum protect_annotation)i;

		if (item->action == PROTECT_SET && item->record.keys[i])
			json_write_text(writer, protect_key(annotation), protect_value(annotation));
		else if (item->removes[i])
			json_write_null(writer, protect_key(annotation));
	}
	if (item->action == PROTECT_REMOVE)
		json_write_null(writer, ANNOTATION_PROTECTED);
	else
		json_write_text(writer, ANNOTATION_PROTECTED,
				protect_record_text(&item->record, arena));
	json_write_object_end(writer);
}

const char *protect_patch_body(const struct protected_pod *item, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_object(&writer, "metadata");
	json_write_text(&writer, "uid", item->object->uid);
	json_write_text(&writer, "resourceVersion", item->object->resource_version);
	write_annotations(&writer, item, arena);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	return arena_strndup(arena, buf_string(&buf), buf.size);
}
