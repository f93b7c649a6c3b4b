#include "codec/objects/lease_json.h"

#include <string.h>

#include "codec/schema/field.h"

/* Those of other writers are kept, so all are written back; their texts are read as free text. */
static int annotations_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct field shown = *field;

	shown.kind = FIELD_KIND_NOTES;
	return field_decode(member, &shown, object);
}

static const struct field metadata_fields[] = {
	FIELD_NAME(struct lease, name, "name", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct lease, namespace_, "namespace", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct lease, resource_version, "resourceVersion"),
	FIELD_LABELS(struct lease, labels, "labels"),
	FIELD_LABELS(struct lease, annotations, "annotations", .read = annotations_decode),
	FIELD_END,
};

static const struct field spec_fields[] = {
	FIELD_TEXT(struct lease, holder, "holderIdentity", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct lease, duration_seconds, "leaseDurationSeconds", .flags = FIELD_ALWAYS,
		      .most = INT32_MAX),
	FIELD_TEXT(struct lease, acquire_time, "acquireTime"),
	FIELD_TEXT(struct lease, renew_time, "renewTime"),
	FIELD_INTEGER(struct lease, transitions, "leaseTransitions", .flags = FIELD_ALWAYS,
		      .most = INT32_MAX),
	FIELD_END,
};

static const struct field lease_fields[] = {
	FIELD_FIXED("apiVersion", LEASE_API_VERSION),
	FIELD_FIXED("kind", "Lease"),
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_END,
};

int lease_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct lease *ret_lease, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct lease, lease_fields, .initial = &LEASE_INIT),
				   arena, ret_lease, err);
}

int lease_write(const struct lease *lease, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	field_write_object(&writer, NULL, lease_fields, lease);
	return buf->overflowed ? -1 : 0;
}

bool lease_same(const struct lease *one, const struct lease *other)
{
	return !strcmp(one->holder, other->holder) &&
	       !strcmp(one->acquire_time, other->acquire_time) &&
	       !strcmp(one->renew_time, other->renew_time) &&
	       one->duration_seconds == other->duration_seconds &&
	       one->transitions == other->transitions;
}
