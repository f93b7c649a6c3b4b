#include "feature/pools/codec/kueue_owner_json.h"

#include <string.h>

#include "codec/schema/field.h"

#define OWNER struct kueue_owner

static int owners_decode(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	OWNER *owner = object;

	for (struct json_at one = json_first(member); one.json; json_next(&one)) {
		bool controls = false;

		if (json_expect(&one, JSON_OBJECT) || json_boolean(&one, "controller", &controls))
			return -1;
		if (!controls || strcmp(object_text_or_none(&one, "kind"), "RayCluster") != 0)
			continue;
		owner->cluster = object_text_or_none(&one, "name");
		owner->uid = object_text_or_none(&one, "uid");
	}
	return 0;
}

static int conditions_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	OWNER *owner = object;

	for (struct json_at one = json_first(member); one.json; json_next(&one))
		owner->has_quota |= strcmp(object_text_or_none(&one, "type"), "QuotaReserved") ==
					    0 &&
				    strcmp(object_text_or_none(&one, "status"), "True") == 0;
	return 0;
}

static const struct field metadata_rows[] = {
	FIELD_NAME(OWNER, namespace_, "namespace"),
	FIELD_HOOK("ownerReferences", .read = owners_decode),
	FIELD_END,
};

static const struct field status_rows[] = {
	FIELD_HOOK("conditions", .read = conditions_decode),
	FIELD_END,
};

static const struct field owner_fields[] = {
	FIELD_OBJECT(metadata_rows, "metadata"),
	FIELD_OBJECT(status_rows, "status"),
	FIELD_END,
};

int kueue_owner_decode(const struct cJSON *json, const char *path, struct arena *arena,
		       struct kueue_owner *ret_owner, struct err *err)
{
	static const OWNER none = { .namespace_ = "", .cluster = "", .uid = "" };

	return field_decode_object(json, path, FIELD_WHOLE(OWNER, owner_fields, .initial = &none),
				   arena, ret_owner, err);
}
