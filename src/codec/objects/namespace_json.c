#include "codec/objects/namespace_json.h"

#include "codec/schema/field.h"

static const struct field metadata_fields[] = {
	FIELD_NAME(struct namespace, name, "name", .flags = FIELD_REQUIRED),
	FIELD_TEXT(struct namespace, resource_version, "resourceVersion"),
	FIELD_LABELS(struct namespace, labels, "labels"),
	FIELD_END,
};

const struct field namespace_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata"),
	FIELD_END,
};

int namespace_decode(const struct cJSON *json, const char *path, struct arena *arena,
		     struct namespace *ret_namespace, struct err *err)
{
	return field_decode_object(json, path, FIELD_WHOLE(struct namespace, namespace_fields),
				   arena, ret_namespace, err);
}

struct labels namespace_labels_of(const struct labels *labels, const char *name,
				  struct arena *arena)
{
	const struct label own = { LABEL_NAMESPACE_NAME, name };

	return labels_merge(arena, labels, &(struct labels){ &own, 1 });
}
