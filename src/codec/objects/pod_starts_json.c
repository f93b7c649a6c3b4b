#include "codec/objects/pod_starts_json.h"

#include "base/text.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/schema/document_head.h"
#include "codec/schema/field.h"
#include "codec/text/duration.h"

/* A number of seconds. */
static int time_decode(const struct json_at *at, int64_t *ret_ms)
{
	const char *problem;

	if (json_expect(at, JSON_NUMBER))
		return -1;
	if (duration_from_seconds(json_number_value(at), ret_ms, &problem))
		return json_fail(at, "%g %s", json_number_value(at), problem);
	return *ret_ms <= POD_STARTS_MAX_MS ?
		       0 :
		       json_fail(at, "%g is more than a day, in seconds", json_number_value(at));
}

static int seconds_decode(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	struct pod_starts *starts = object;
	int64_t *ms;

	if (json_expect(member, JSON_ARRAY))
		return -1;
	starts->count = json_count(member);
	if (starts->count == 0 || starts->count > POD_STARTS_MAX)
		return json_fail(member, "has %zu elements; must have 1 to %d", starts->count,
				 POD_STARTS_MAX);
	ms = arena_array(member->reader->arena, starts->count, sizeof(*ms));
	starts->ms = ms;
	for (struct json_at e = json_first(member); e.json; json_next(&e))
		if (time_decode(&e, &ms[e.index]))
			return -1;
	return 0;
}

static const struct field start_fields[] = {
	FIELD_NAME(struct pod_starts, cluster, "cluster", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct pod_starts, group, "group", .flags = FIELD_REQUIRED),
	FIELD_HOOK("seconds", .read = seconds_decode),
	FIELD_END,
};

static const struct field starts_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION, .flags = FIELD_REQUIRED),
	FIELD_FIXED("kind", POD_STARTS_KIND, .flags = FIELD_REQUIRED),
	FIELD_HOOK("processSeconds"),
	FIELD_HOOK("groups"),
	FIELD_END,
};

static int read_process(const struct json_at *root, int64_t *process_ms)
{
	struct json_at seconds = json_member(root, "processSeconds");
	int64_t ms;

	if (!seconds.json)
		return 0;
	if (time_decode(&seconds, &ms))
		return -1;
	*process_ms = ms > *process_ms ? ms : *process_ms;
	return 0;
}

int pod_starts_read(const struct json_at *root, struct pod_starts_reading *reading)
{
	struct json_at groups;
	char none = '\0';

	if (field_decode_all(root, starts_fields, &none) ||
	    field_check_names(root, starts_fields, "PodStarts") ||
	    read_process(root, &reading->process_ms) || json_array(root, "groups", &groups))
		return -1;
	for (struct json_at e = json_first(&groups); e.json; json_next(&e)) {
		struct pod_starts starts = { .count = 0 };

		if (field_check_names(&e, start_fields, "a group of PodStarts") ||
		    field_decode_all(&e, start_fields, &starts))
			return -1;
		VEC_PUSH(root->reader->arena, &reading->list, starts);
	}
	return 0;
}

bool pod_starts_is_beside_work(const struct json_at *root)
{
	static const char *const kinds[] = { "RayCluster", AUTOSCALER_KIND, POD_STARTS_KIND,
					     "GPUPool", "Namespace" };
	struct json_at kind = json_member(root, "kind");

	return json_type(&kind) == JSON_STRING &&
	       text_is_among(json_text_value(&kind), kinds, sizeof(kinds) / sizeof(kinds[0]));
}
