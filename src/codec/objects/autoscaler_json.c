#include "codec/objects/autoscaler_json.h"

#include "codec/objects/autoscaler_status_json.h"
#include "codec/objects/object_json.h"
#include "codec/text/quantity.h"

/* A time-out in whole seconds; a negative one counts as missing. */
static int idle_timeout_decode(const struct json_at *at, bool *ret_has, int64_t *ret_seconds)
{
	struct json_at member = json_member(at, "idleTimeoutSeconds");

	if (json_integer(at, "idleTimeoutSeconds", ret_has, ret_seconds))
		return -1;
	if (*ret_has && *ret_seconds < 0) {
		json_problem(&member, "must not be negative, is %lld", (long long)*ret_seconds);
		*ret_has = false;
		*ret_seconds = 0;
	}
	return 0;
}

static int groups_decode(const struct json_at *spec, struct autoscaler_object *ret)
{
	VEC(struct autoscaler_group) groups = { .at = NULL };
	struct json_at array;

	if (json_array(spec, "groups", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct autoscaler_group *group = VEC_ADD(spec->reader->arena, &groups);

		if (json_expect(&e, JSON_OBJECT) || json_text(&e, "name", &group->name) ||
		    idle_timeout_decode(&e, &group->has_idle_timeout_seconds,
					&group->idle_timeout_seconds))
			return -1;
		if (*group->name == '\0')
			json_problem(&e, "name is required: the groupName of the RayCluster");
	}
	ret->groups = groups.at;
	ret->group_count = groups.count;
	return 0;
}

static int max_gpus_decode(const struct json_at *spec, struct autoscaler_object *ret)
{
	struct json_at member = json_member(spec, "maxGPUs");
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

int autoscaler_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct autoscaler_object *ret_autoscaler, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader), spec;
	struct object_metadata metadata;
	struct autoscaler_object object = { .paused = false };

	if (json_expect(&root, JSON_OBJECT) || object_metadata_decode(&root, false, &metadata) ||
	    json_object(&root, "spec", &spec) || json_boolean(&spec, "paused", &object.paused) ||
	    json_text(&spec, "upscalingMode", &object.upscaling_mode) ||
	    idle_timeout_decode(&spec, &object.has_idle_timeout_seconds,
				&object.idle_timeout_seconds) ||
	    max_gpus_decode(&spec, &object) || groups_decode(&spec, &object))
		return -1;
	object.namespace_ = metadata.namespace_;
	object.name = metadata.name;
	object.resource_version = metadata.resource_version;
	object.generation = metadata.generation;
	object.problems = object_problems(&reader);
	autoscaler_status_decode(json, arena, &object);
	*ret_autoscaler = object;
	return 0;
}
