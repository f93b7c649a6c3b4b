#include "codec/objects/pod_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/gpu_annotation.h"
#include "codec/objects/gpushare_json.h"
#include "codec/objects/pod_spec_json.h"
#include "codec/objects/ray_auth_json.h"
#include "codec/schema/field.h"
#include "codec/text/rfc3339.h"
#include "feature_codec.h"

static const struct field waiting_fields[] = {
	FIELD_TEXT(struct container_status, reason, "reason"),
	FIELD_SHOWN(struct container_status, message, "message"),
	FIELD_END,
};

static const struct field end_fields[] = {
	FIELD_TEXT(struct container_end, reason, "reason"),
	FIELD_INTEGER(struct container_end, exit_code, "exitCode"),
	FIELD_SHOWN(struct container_end, message, "message"),
	FIELD_TIME(struct container_end, finished_at, "finishedAt"),
	FIELD_END,
};

static int state_decode(const struct json_at *member, const struct field *field UNUSED,
			void *object)
{
	struct container_status *ret = object;
	struct json_at waiting, running, terminated;

	if (json_optional(member, JSON_OBJECT) || json_object(member, "waiting", &waiting) ||
	    json_object(member, "running", &running) ||
	    json_object(member, "terminated", &terminated))
		return -1;
	if (running.json)
		ret->state = CONTAINER_RUNNING;
	else if (terminated.json)
		ret->state = CONTAINER_TERMINATED;
	else if (waiting.json)
		ret->state = CONTAINER_WAITING;
	return field_decode_all(&waiting, waiting_fields, ret) ||
	       field_decode_all(&terminated, end_fields, &ret->end) ||
	       rfc3339_decode(running.json ? &running : &terminated, "startedAt", &ret->started_at);
}

static void write_state(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct container_status *status = object;
	static const char *const names[] = {
		[CONTAINER_UNKNOWN] = NULL,
		[CONTAINER_WAITING] = "waiting",
		[CONTAINER_RUNNING] = "running",
		[CONTAINER_TERMINATED] = "terminated",
	};

	if (!names[status->state])
		return;
	json_write_object_line(writer, field->name);
	json_write_object_line(writer, names[status->state]);
	if (status->state == CONTAINER_WAITING)
		field_write_all(writer, waiting_fields, status);
	if (status->state == CONTAINER_TERMINATED)
		field_write_all(writer, end_fields, &status->end);
	if (status->started_at != TIME_NONE)
		json_write_time(writer, "startedAt", status->started_at);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static const struct field last_state_fields[] = {
	FIELD_POINTER(struct container_status, last, end_fields, "terminated", .flags = FIELD_LINE),
	FIELD_END,
};

/* Nearly every Pod has the usual value, `initial`: it is not copied for each. */
static int usual_text_decode(const struct json_at *member, const struct field *field, void *object)
{
	if (json_type(member) != JSON_STRING ||
	    strcmp(json_text_value(member), field->initial) != 0)
		return field_decode(member, field, object);
	memcpy(field_value(field, object), &field->initial, sizeof(field->initial));
	return 0;
}

static const struct field owner_fields[] = {
	FIELD_TEXT(struct pod_owner, api_version, "apiVersion", .initial = RAY_API_VERSION,
		   .read = usual_text_decode),
	FIELD_TEXT(struct pod_owner, kind, "kind", .initial = "RayCluster",
		   .read = usual_text_decode),
	FIELD_TEXT(struct pod_owner, name, "name"),
	FIELD_TEXT(struct pod_owner, uid, "uid"),
	FIELD_END,
};

/* Of a Pod that is written with an empty list. */
static const struct pod_owner no_owner;

/* An API server accepts one controller at most. */
static int owners_decode(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	struct pod *ret = object;

	if (json_optional(member, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		bool controls = false;
		struct pod_owner *owner;

		if (json_expect(&e, JSON_OBJECT) || json_boolean(&e, "controller", &controls))
			return -1;
		if (!controls || ret->owner)
			continue;
		owner = ARENA_NEW(member->reader->arena, struct pod_owner);
		if (field_decode_all(&e, owner_fields, owner))
			return -1;
		ret->owner = owner;
	}
	return 0;
}

static void write_owners(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct pod *pod = object;

	if (!pod->owner)
		return;
	json_write_array(writer, field->name);
	if (pod->owner != &no_owner) {
		json_write_object_line(writer, NULL);
		field_write_all(writer, owner_fields, pod->owner);
		json_write_boolean(writer, "controller", true);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static int annotations_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct pod *pod = object;

	if (field_decode(member, field, object))
		return -1;
	gpushare_decode(&pod->annotations, member->reader->arena, &pod->device_uses,
			&pod->device_use_count);
	pod->spec.gpu_shares = gpu_annotation_decode(&pod->annotations, member->reader->arena);
	FEATURE_POD_ANNOTATIONS(pod, member->reader->arena)
	return 0;
}

/* ---- the fields ---- */

static const struct field container_status_fields[] = {
	FIELD_TEXT(struct container_status, name, "name"),
	FIELD_HOOK("state", .read = state_decode, .write = write_state),
	FIELD_INTEGER(struct container_status, restart_count, "restartCount",
		      .flags = FIELD_ALWAYS),
	FIELD_OBJECT(last_state_fields, "lastState", .flags = FIELD_LINE),
	FEATURE_CONTAINER_STATUS_ROWS(struct container_status) FIELD_END,
};

/* Nearly every Pod of KubeRay has one that has ended well: it says nothing any more. */
static int init_statuses_decode(const struct json_at *member, const struct field *field UNUSED,
				void *object)
{
	struct pod *pod = object;
	VEC(struct container_status) kept = { .at = NULL };

	if (json_optional(member, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct container_status status = { .name = "" };

		if (json_expect(&e, JSON_OBJECT) ||
		    field_decode_all(&e, container_status_fields, &status))
			return -1;
		if (status.state != CONTAINER_TERMINATED || status.end.exit_code != 0)
			VEC_PUSH(member->reader->arena, &kept, status);
	}
	pod->init_statuses = kept.at;
	pod->init_status_count = kept.count;
	return 0;
}

static const struct field claim_status_fields[] = {
	FIELD_TEXT(struct pod_claim_status, name, "name"),
	FIELD_TEXT(struct pod_claim_status, claim, "resourceClaimName"),
	FIELD_END,
};

static const struct field status_fields[] = {
	FIELD_TEXT(struct pod, phase, "phase"),
	FIELD_TEXT(struct pod, pod_ip, "podIP"),
	FIELD_TEXT(struct pod, reason, "reason"),
	FIELD_SHOWN(struct pod, message, "message"),
	FIELD_LIST(struct pod, conditions, condition_count, condition_fields, "conditions",
		   .flags = FIELD_LINE),
	FIELD_LIST(struct pod, container_statuses, container_status_count, container_status_fields,
		   "containerStatuses", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct pod, init_statuses, init_status_count, container_status_fields,
		   "initContainerStatuses", .read = init_statuses_decode),
	FIELD_LIST(struct pod, claim_statuses, claim_status_count, claim_status_fields,
		   "resourceClaimStatuses", .flags = FIELD_LINE),
	FIELD_END,
};

static const struct field metadata_fields[] = {
	FIELD_NAME(struct pod, name, "name", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct pod, namespace_, "namespace"),
	FIELD_TEXT(struct pod, uid, "uid"),
	FIELD_TEXT(struct pod, resource_version, "resourceVersion"),
	FIELD_CHECK(FIELD_KIND_INTEGER, "generation"),
	FIELD_LABELS(struct pod, labels, "labels"),
	FIELD_NOTES(struct pod, annotations, "annotations", .read = annotations_decode),
	FIELD_TIME(struct pod, created, "creationTimestamp"),
	FIELD_TIME(struct pod, deletion_time, "deletionTimestamp",
		   .has = FIELD_HAS(struct pod, deleting)),
	FIELD_INTEGER(struct pod, deletion_grace_seconds, "deletionGracePeriodSeconds"),
	FIELD_HOOK("ownerReferences", .read = owners_decode, .write = write_owners),
	FIELD_END,
};

const struct field pod_fields[] = {
	FIELD_TEXT(struct pod, unreadable, OBJECT_UNREADABLE, .flags = FIELD_NULLABLE),
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_PART(struct pod, spec, pod_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(status_fields, "status", .flags = FIELD_ALWAYS),
	FIELD_END,
};

void pod_write_foreign(struct json_writer *writer, const char *name, const struct pod *pod)
{
	struct pod copy = *pod;

	if (!copy.owner)
		copy.owner = &no_owner;
	field_write_object(writer, name, pod_fields, &copy);
}

int pod_decode(const struct cJSON *json, const char *path, struct arena *arena, struct pod *ret_pod,
	       struct err *err)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, path, &reader), spec;

	if (field_decode_object(json, path,
				FIELD_WHOLE(struct pod, pod_fields, FIELD_PROBLEMS(struct pod)),
				arena, ret_pod, err))
		return -1;
	spec = json_member(&root, "spec");
	if (pod_is_head(ret_pod))
		ret_pod->ray_auth = ray_auth_decode(&spec);
	return 0;
}

static void labels_of(const struct json_at *metadata, struct labels *ret_labels)
{
	static const char *const names[] = { LABEL_CLUSTER,       LABEL_NODE_TYPE,
					     LABEL_GROUP,         LABEL_REPLICA_NAME,
					     LABEL_REPLICA_INDEX, LABEL_HOST_INDEX };
	struct json_at labels = json_member(metadata, "labels");
	VEC(struct label) found = { .at = NULL };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct json_at label = json_member(&labels, names[i]);

		if (json_type(&label) == JSON_STRING)
			VEC_PUSH(metadata->reader->arena, &found,
				 ((struct label){
					 .key = names[i],
					 .value = object_text_or_none(&labels, names[i]) }));
	}
	*ret_labels = labels_sort(found.at, found.count);
}

int pod_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
			  struct pod *ret_pod, struct err *err)
{
	static const struct field fields[] = {
		FIELD_TEXT(struct pod, namespace_, "namespace"),
		FIELD_TEXT(struct pod, name, "name"),
		FIELD_TEXT(struct pod, uid, "uid"),
		FIELD_TEXT(struct pod, resource_version, "resourceVersion"),
		FIELD_TIME(struct pod, created, "creationTimestamp"),
		FIELD_TIME(struct pod, deletion_time, "deletionTimestamp"),
		FIELD_END,
	};
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	struct json_at owners = json_member(&metadata, "ownerReferences");
	struct pod pod = pod_empty;

	(void)field_decode_each(&metadata, fields, &pod, sizeof(pod));
	if (*pod.name == '\0')
		return err_set(err, ERR_INPUT, "metadata.name is missing");
	labels_of(&metadata, &pod.labels);
	(void)owners_decode(&owners, NULL, &pod);
	pod.deleting = *object_text_or_none(&metadata, "deletionTimestamp") != '\0';
	pod.unreadable = arena_text(arena, why);
	*ret_pod = pod;
	return 0;
}

int pod_decode_text(const char *text, size_t size, const char *problem, struct arena *arena,
		    struct pod *ret_pod, struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct err unreadable;

	foreign_object_parse(text, size, false, &json, &unreadable);
	if (!problem && unreadable.kind == ERR_NONE &&
	    pod_decode(json, "", arena, ret_pod, &unreadable) == 0)
		return 0;
	return pod_decode_unreadable(json, problem ? problem : unreadable.text, arena, ret_pod,
				     err);
}
