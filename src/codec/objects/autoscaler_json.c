#include "codec/objects/autoscaler_json.h"

#include "codec/objects/autoscaler_status_json.h"
#include "codec/objects/object_json.h"
#include "codec/objects/template_json.h"
#include "codec/text/quantity.h"
#include "core/decide/template_seen.h"

static int group_name_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct autoscaler_group *group = object;

	if (field_decode(at, field, object))
		return -1;
	if (*group->name == '\0')
		json_problem(at, "name is required: the groupName of the RayCluster");
	return 0;
}

static int max_gpus_decode(const struct json_at *spec, const struct field *field, void *object)
{
	struct autoscaler_object *ret = object;
	struct json_at member = json_member(spec, field->name);
	enum json_type type = json_type(&member);
	struct quantity quantity;

	if (type == JSON_MISSING || type == JSON_NULL)
		return 0;
	if (quantity_decode(&member, &quantity))
		return -1;
	/* A quota that does not parse still applies: nothing more is launched. */
	ret->has_max_gpus = true;
	ret->max_gpus = quantity.amount;
	if (!quantity.valid)
		ret->bad_max_gpus = quantity.text;
	return 0;
}

static void write_max_gpus(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct autoscaler_object *autoscaler = object;

	if (autoscaler->bad_max_gpus)
		json_write_text(writer, field->name, autoscaler->bad_max_gpus);
	else if (autoscaler->has_max_gpus)
		json_write_amount(writer, field->name, autoscaler->max_gpus);
}

/* The part of the status that decisions use. */
static void write_templates(struct json_writer *writer, const struct field *field,
			    const void *object)
{
	const struct autoscaler_object *autoscaler = object;

	if (autoscaler->template_count == 0)
		return;
	json_write_object(writer, field->name);
	json_write_array(writer, "groups");
	for (size_t i = 0; i < autoscaler->template_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "name", autoscaler->templates[i].group);
		json_write_object(writer, "seen");
		template_json_write(writer, &autoscaler->templates[i]);
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static const struct field metadata_fields[] = {
	FIELD_NAME(struct autoscaler_object, name, "name"),
	FIELD_NAME(struct autoscaler_object, namespace_, "namespace"),
	FIELD_CHECK(FIELD_KIND_TEXT, "uid"),
	FIELD_TEXT(struct autoscaler_object, resource_version, "resourceVersion"),
	FIELD_INTEGER(struct autoscaler_object, generation, "generation"),
	FIELD_CHECK(FIELD_KIND_LABELS, "labels"),
	FIELD_CHECK(FIELD_KIND_NOTES, "annotations"),
	FIELD_CHECK(FIELD_KIND_TIME, "creationTimestamp"),
	FIELD_CHECK(FIELD_KIND_TIME, "deletionTimestamp"),
	FIELD_END,
};

static const struct field group_fields[] = {
	FIELD_TEXT(struct autoscaler_group, name, "name", .read = group_name_decode),
	FIELD_INTEGER(struct autoscaler_group, idle_timeout_seconds, "idleTimeoutSeconds",
		      .has = FIELD_HAS(struct autoscaler_group, has_idle_timeout_seconds),
		      .read = field_decode_not_negative),
	FIELD_END,
};

static const struct field spec_fields[] = {
	FIELD_BOOLEAN(struct autoscaler_object, paused, "paused"),
	FIELD_INTEGER(struct autoscaler_object, idle_timeout_seconds, "idleTimeoutSeconds",
		      .has = FIELD_HAS(struct autoscaler_object, has_idle_timeout_seconds),
		      .read = field_decode_not_negative),
	FIELD_TEXT(struct autoscaler_object, upscaling_mode, "upscalingMode"),
	FIELD_HOOK("maxGPUs", .read = max_gpus_decode, .write = write_max_gpus),
	FIELD_LIST(struct autoscaler_object, groups, group_count, group_fields, "groups",
		   .flags = FIELD_LINE),
	FIELD_END,
};

static const struct field autoscaler_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_HOOK("status", .write = write_templates),
	FIELD_END,
};

int autoscaler_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct autoscaler_object *ret_autoscaler, struct err *err)
{
	struct autoscaler_object object = { .paused = false };

	if (field_decode_object(json, path, autoscaler_fields, arena, &object, &object.problems,
				err))
		return -1;
	autoscaler_status_decode(json, arena, &object);
	*ret_autoscaler = object;
	return 0;
}

void autoscaler_write(struct json_writer *writer, const char *name,
		      const struct autoscaler_object *autoscaler)
{
	field_write_object(writer, name, autoscaler_fields, autoscaler);
}
