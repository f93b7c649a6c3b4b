#include "codec/objects/pod_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/gpushare_json.h"
#include "codec/objects/object_json.h"
#include "codec/objects/pod_spec_json.h"
#include "codec/text/rfc3339.h"

static int state_decode(const struct json_at *at, struct container_status *ret)
{
	struct json_at state, waiting, running, terminated, told;

	if (json_object(at, "state", &state) || json_object(&state, "waiting", &waiting) ||
	    json_object(&state, "running", &running) ||
	    json_object(&state, "terminated", &terminated))
		return -1;
	if (running.json)
		ret->state = CONTAINER_RUNNING;
	else if (terminated.json)
		ret->state = CONTAINER_TERMINATED;
	else if (waiting.json)
		ret->state = CONTAINER_WAITING;
	told = terminated.json ? terminated : waiting;
	return json_text(&told, "reason", &ret->reason) ||
	       json_shown(&told, "message", &ret->message) ||
	       rfc3339_decode(running.json ? &running : &terminated, "startedAt", &ret->started_at);
}

static int status_decode(const struct json_at *at, struct container_status *ret)
{
	struct json_at last, last_terminated;

	if (json_expect(at, JSON_OBJECT) || json_text(at, "name", &ret->name) ||
	    state_decode(at, ret) || json_integer(at, "restartCount", NULL, &ret->restart_count) ||
	    json_object(at, "lastState", &last) ||
	    json_object(&last, "terminated", &last_terminated))
		return -1;
	ret->started_before = ret->state == CONTAINER_RUNNING ||
			      ret->state == CONTAINER_TERMINATED || last_terminated.json ||
			      ret->restart_count > 0;
	return 0;
}

static int container_statuses_decode(const struct json_at *status, struct pod *ret)
{
	VEC(struct container_status) statuses = { .at = NULL };
	struct json_at array;

	if (json_array(status, "containerStatuses", &array))
		return -1;
	VEC_RESERVE(status->reader->arena, &statuses, json_count(&array));
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (status_decode(&e, VEC_ADD(status->reader->arena, &statuses)))
			return -1;
	}
	ret->container_statuses = statuses.at;
	ret->container_status_count = statuses.count;
	return 0;
}

static int pod_status_decode(const struct json_at *root, struct pod *ret)
{
	struct json_at status;

	return json_object(root, "status", &status) || json_text(&status, "phase", &ret->phase) ||
	       json_text(&status, "podIP", &ret->pod_ip) ||
	       json_text(&status, "reason", &ret->reason) ||
	       json_shown(&status, "message", &ret->message) ||
	       object_conditions_decode(&status, "conditions", &ret->conditions,
					&ret->condition_count) ||
	       container_statuses_decode(&status, ret);
}

/* Nearly every Pod has the usual value: it is not copied for each. */
static int shared_text(const struct json_at *at, const char *name, const char *usual,
		       const char **ret_text)
{
	struct json_at member = json_member(at, name);

	if (json_type(&member) == JSON_STRING && strcmp(json_text_value(&member), usual) == 0) {
		*ret_text = usual;
		return 0;
	}
	return json_text(at, name, ret_text);
}

static int owner_decode(const struct json_at *at, struct pod_owner *ret)
{
	return shared_text(at, "apiVersion", "ray.io/v1", &ret->api_version) ||
	       shared_text(at, "kind", "RayCluster", &ret->kind) ||
	       json_text(at, "name", &ret->name) || json_text(at, "uid", &ret->uid);
}

/* An API server accepts one controller at most. */
static int owners_decode(const struct json_at *root, struct pod *ret)
{
	struct json_at metadata, array;

	if (json_object(root, "metadata", &metadata) ||
	    json_array(&metadata, "ownerReferences", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		bool controls = false;
		struct pod_owner *owner;

		if (json_expect(&e, JSON_OBJECT) || json_boolean(&e, "controller", &controls))
			return -1;
		if (!controls || ret->owner)
			continue;
		owner = ARENA_NEW(root->reader->arena, struct pod_owner);
		if (owner_decode(&e, owner))
			return -1;
		ret->owner = owner;
	}
	return 0;
}

int pod_decode(const struct cJSON *json, const char *path, struct arena *arena, struct pod *ret_pod,
	       struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);
	struct object_metadata metadata;
	struct pod pod = { .namespace_ = "" };
	const char *unreadable;

	if (json_expect(&root, JSON_OBJECT) || object_metadata_decode(&root, true, &metadata) ||
	    owners_decode(&root, &pod) || pod_spec_decode(&root, "spec", &pod.spec) ||
	    pod_status_decode(&root, &pod))
		return -1;
	pod.namespace_ = metadata.namespace_;
	pod.name = metadata.name;
	pod.uid = metadata.uid;
	pod.resource_version = metadata.resource_version;
	pod.labels = metadata.labels;
	pod.annotations = metadata.annotations;
	pod.created = metadata.created;
	pod.deleting = metadata.deleting;
	pod.deletion_time = metadata.deletion_time;
	if (json_text(&root, OBJECT_UNREADABLE, &unreadable))
		return -1;
	if (*unreadable)
		pod.unreadable = unreadable;
	gpushare_decode(&pod.annotations, arena, &pod.device_uses, &pod.device_use_count);
	pod.problems = object_problems(&reader);
	*ret_pod = pod;
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
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	struct pod pod = { .created = TIME_NONE, .deletion_time = TIME_NONE };

	pod.namespace_ = object_text_or_none(&metadata, "namespace");
	pod.name = object_text_or_none(&metadata, "name");
	if (*pod.name == '\0')
		return err_set(err, ERR_INPUT, "metadata.name is missing");
	pod.uid = object_text_or_none(&metadata, "uid");
	pod.resource_version = object_text_or_none(&metadata, "resourceVersion");
	labels_of(&metadata, &pod.labels);
	reader.err = NULL;
	(void)owners_decode(&root, &pod);
	(void)rfc3339_decode(&metadata, "creationTimestamp", &pod.created);
	(void)rfc3339_decode(&metadata, "deletionTimestamp", &pod.deletion_time);
	pod.deleting = *object_text_or_none(&metadata, "deletionTimestamp") != '\0';
	pod.phase = pod.pod_ip = pod.reason = pod.message = "";
	pod.spec.node_name = pod.spec.restart_policy = pod.spec.scheduler_name = "";
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
