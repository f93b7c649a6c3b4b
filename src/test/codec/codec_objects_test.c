/* The small decoders: Node, Event, Secret, RayClusterAutoscaler, LIST, WATCH and Status. */
#include <string.h>

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/secret_json.h"
#include "codec/objects/watch_json.h"
#include "test/support/codec_support.h"

/* ---- Node ---- */

static int decode_node(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct node node;

	return node_decode(tree, "nodes[0]", arena, &node, err);
}

static void test_node(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(
		"metadata: {name: n1, resourceVersion: '3', labels: {zone: a}}\n"
		"spec: {unschedulable: true, taints: [{key: gpu, value: x, effect: NoSchedule}]}\n"
		"status: {capacity: {cpu: '8'}, allocatable: {cpu: 7500m, memory: bad},\n"
		"  conditions: [{type: Ready, status: 'True'}], images: [{names: 5}]}\n");
	struct node node;
	struct err err;

	(void)state;
	assert_int_equal(node_decode(tree, "", &arena, &node, &err), 0);
	assert_string_equal(node.name, "n1");
	assert_true(node.unschedulable && node.taint_count == 1);
	assert_string_equal(node.taints[0].effect, "NoSchedule");
	assert_true(node.capacity.at[0].amount == 80000);
	assert_true(node.allocatable.at[0].amount == 75000);
	assert_string_equal(node.problems.at[0],
			    "status.allocatable.memory: \"bad\" is not a quantity");
	assert_string_equal(node.conditions[0].type, "Ready");
}

static void test_node_wrong_types(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "nodes[0]: must be an object" },
		{ "{}", "nodes[0].metadata.name: is missing" },
		{ "{metadata: {name: n}, spec: []}", "nodes[0].spec: must be an object" },
		{ "{metadata: {name: n}, spec: {unschedulable: 'x'}}",
		  "nodes[0].spec.unschedulable: must be a boolean" },
		{ "{metadata: {name: n}, spec: {taints: {}}}", "nodes[0].spec.taints: must be" },
		{ "{metadata: {name: n}, spec: {taints: [{effect: 1}]}}",
		  "nodes[0].spec.taints[0].effect: must be a string" },
		{ "{metadata: {name: n}, status: {capacity: []}}",
		  "nodes[0].status.capacity: must be an object" },
		{ "{metadata: {name: n}, status: {allocatable: {cpu: false}}}",
		  "nodes[0].status.allocatable.cpu: must be a quantity" },
		{ "{metadata: {name: n}, status: {conditions: [{type: 1}]}}",
		  "nodes[0].status.conditions[0].type: must be a string" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), decode_node);
}

/* ---- Event ---- */

static struct event decode_good_event(const char *text, struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct event event;
	struct err err;

	if (event_decode(tree, "events[0]", arena, &event, &err))
		fail_msg("%s", err.text);
	return event;
}

static void test_event(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event event = decode_good_event(
		"metadata: {name: e, namespace: n}\n"
		"involvedObject: {kind: Pod, name: p, uid: u}\n"
		"reason: NotTriggerScaleUp\nmessage: no group\ntype: Normal\ncount: 4\n"
		"source: {component: cluster-autoscaler}\n"
		"firstTimestamp: '1970-01-01T00:00:01Z'\nlastTimestamp: '1970-01-01T00:00:05Z'\n"
		"eventTime: null\n",
		&arena);

	(void)state;
	assert_string_equal(event.involved_kind, "Pod");
	assert_string_equal(event.involved_uid, "u");
	assert_string_equal(event.reason, "NotTriggerScaleUp");
	assert_string_equal(event.source, "cluster-autoscaler");
	assert_true(event.count == 4 && event.first_time == 1000 && event.last_time == 5000);
	event = decode_good_event("regarding: {kind: Pod, name: q}\nnote: hello\n"
				  "eventTime: '1970-01-01T00:00:02.123456Z'\n"
				  "reportingController: karpenter\n"
				  "series: {count: 9, lastObservedTime: '1970-01-01T00:00:08Z'}\n",
				  &arena);
	assert_string_equal(event.name, "");
	assert_string_equal(event.involved_name, "q");
	assert_string_equal(event.message, "hello");
	assert_string_equal(event.source, "karpenter");
	assert_true(event.count == 9 && event.first_time == 2123 && event.last_time == 8000);
	event = decode_good_event("{deprecatedCount: 3, deprecatedLastTimestamp: "
				  "'1970-01-01T00:00:03Z', firstTimestamp: rubbish}",
				  &arena);
	assert_true(event.count == 3 && event.last_time == 3000 && event.first_time == TIME_NONE);
}

static int decode_event(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct event event;

	return event_decode(tree, "events[0]", arena, &event, err);
}

static void test_event_wrong_types(void **state)
{
	static const struct codec_bad table[] = {
		{ "x", "events[0]: must be an object" },
		{ "involvedObject: x", "events[0].involvedObject: must be an object" },
		{ "regarding: x", "events[0].regarding: must be an object" },
		{ "involvedObject: {name: 1}", "events[0].involvedObject.name: must be a string" },
		{ "reason: 1", "events[0].reason: must be a string" },
		{ "message: 1", "events[0].message: must be a string" },
		{ "type: 1", "events[0].type: must be a string" },
		{ "count: x", "events[0].count: must be an integer" },
		{ "deprecatedCount: x", "events[0].deprecatedCount: must be an integer" },
		{ "source: x", "events[0].source: must be an object" },
		{ "series: {count: x}", "events[0].series.count: must be an integer" },
		{ "eventTime: 1", "events[0].eventTime: must be a string" },
		{ "lastTimestamp: 1", "events[0].lastTimestamp: must be a string" },
		{ "reportingController: 1", "events[0].reportingController: must be a string" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), decode_event);
}

/* ---- Secret ---- */

static int decode_secret(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	const char *value;
	size_t size;

	return secret_decode(tree, "secret", "auth_token", arena, &value, &size, err);
}

static void test_secret(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "secret: must be an object" },
		{ "{}", "secret.data.auth_token: the Secret has no such key" },
		{ "data: {other: YQ==}", "secret.data.auth_token: the Secret has no such key" },
		{ "data: x", "secret.data: must be an object" },
		{ "data: {auth_token: 1}", "secret.data.auth_token: must be a string" },
		{ "data: {auth_token: 'topsecret!'}", "secret.data.auth_token: is not base64" },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = codec_tree("data: {auth_token: c2VjcmV0}");
	const char *value;
	size_t size;
	struct err err;

	(void)state;
	assert_int_equal(secret_decode(tree, "", "auth_token", &arena, &value, &size, &err), 0);
	assert_string_equal(value, "secret");
	assert_int_equal(size, 6);
	codec_check_bad(table, SUPPORT_COUNT(table), decode_secret);
	decode_secret("data: {auth_token: 'topsecret!'}", &arena, &err);
	assert_null(strstr(err.text, "topsecret"));
	decode_secret("data: {}", &arena, &err);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

/* ---- RayClusterAutoscaler ---- */

static int decode_autoscaler(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct autoscaler_object autoscaler;

	return autoscaler_decode(tree, "autoscaler", arena, &autoscaler, err);
}

static void test_autoscaler(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree =
		codec_tree("metadata: {name: demo, namespace: n, generation: 2}\n"
			   "spec: {paused: true, idleTimeoutSeconds: 0, upscalingMode: Default,\n"
			   "  maxGPUs: 2.5, groups: [{name: g, idleTimeoutSeconds: 9},\n"
			   "  {name: h, idleTimeoutSeconds: -1}]}\n");
	AUTO(json_done) struct cJSON *bad = codec_tree("spec: {maxGPUs: many}");
	struct autoscaler_object object;
	struct err err;

	(void)state;
	assert_int_equal(autoscaler_decode(tree, "", &arena, &object, &err), 0);
	assert_true(object.paused && object.has_idle_timeout_seconds);
	assert_true(object.idle_timeout_seconds == 0 && object.generation == 2);
	assert_true(object.has_max_gpus && object.max_gpus == 25000);
	assert_true(object.groups[0].has_idle_timeout_seconds);
	assert_true(object.groups[0].idle_timeout_seconds == 9);
	assert_false(object.groups[1].has_idle_timeout_seconds);
	assert_string_equal(
		object.problems.at[0],
		"spec.groups[1].idleTimeoutSeconds: must not be negative, is -1; it counts as not given");
	/* An invalid quota counts as 0, so that nothing is launched. */
	assert_int_equal(autoscaler_decode(bad, "", &arena, &object, &err), 0);
	assert_true(object.has_max_gpus && object.max_gpus == 0);
	assert_int_equal(object.problems.count, 1);
}

static void test_autoscaler_wrong_types(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "autoscaler: must be an object" },
		{ "spec: []", "autoscaler.spec: must be an object" },
		{ "spec: {paused: 'yes'}", "autoscaler.spec.paused: must be a boolean" },
		{ "spec: {idleTimeoutSeconds: x}", "autoscaler.spec.idleTimeoutSeconds: must be" },
		{ "spec: {upscalingMode: 1}", "autoscaler.spec.upscalingMode: must be a string" },
		{ "spec: {maxGPUs: []}", "autoscaler.spec.maxGPUs: must be a quantity" },
		{ "spec: {groups: {}}", "autoscaler.spec.groups: must be an array" },
		{ "spec: {groups: [1]}", "autoscaler.spec.groups[0]: must be an object" },
		{ "spec: {groups: [{name: 1}]}", "autoscaler.spec.groups[0].name: must be" },
		{ "spec: {groups: [{idleTimeoutSeconds: x}]}",
		  "autoscaler.spec.groups[0].idleTimeoutSeconds: must be an integer" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), decode_autoscaler);
}

/* ---- LIST ---- */

struct listed {
	struct arena *arena;
	const char *names[2];
	size_t count;
};

static void on_item(void *context, const char *text, size_t size, const char *problem)
{
	struct listed *listed = context;
	struct pod pod;
	struct err err;

	assert_int_equal(pod_decode_text(text, size, problem, listed->arena, &pod, &err), 0);
	assert_true(listed->count < SUPPORT_COUNT(listed->names));
	listed->names[listed->count++] = pod.name;
}

static int read_list(const char *text, struct listed *listed, struct list_page *page,
		     struct err *err)
{
	AUTO(list_stream_done) struct list_stream stream;

	list_stream_init(&stream, FOREIGN_OBJECT_MAX_BYTES, on_item, listed);
	list_stream_feed(&stream, text, strlen(text));
	return list_stream_end(&stream, listed->arena, page, err);
}

static int decode_list(const char *text, struct arena *arena, struct err *err)
{
	struct listed listed = { .arena = arena };
	struct list_page page;

	return read_list(text, &listed, &page, err);
}

static void test_list(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "top level: must be an object" },
		{ "{}", "items: is missing, must be an array" },
		{ "{\"items\":{}}", "items: must be an array" },
		{ "{\"items\":[],\"metadata\":\"x\"}", "metadata: must be an object" },
		{ "{\"items\":[],\"metadata\":{\"resourceVersion\":5}}",
		  "metadata.resourceVersion: must" },
		{ "{\"items\":[],\"metadata\":{\"continue\":5}}",
		  "metadata.continue: must be a string" },
		{ "{\"it\\u0065ms\":[{}]}", "items: its name has an escape" },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct listed listed = { .arena = &arena };
	struct list_page page;
	struct err err;

	(void)state;
	assert_int_equal(read_list("{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"abc\"},"
				   "\"items\":[{\"metadata\":{\"name\":\"a\"}},"
				   "{\"metadata\":{\"name\":\"b\"}}]}",
				   &listed, &page, &err),
			 0);
	assert_string_equal(page.resource_version, "9");
	assert_string_equal(page.continue_token, "abc");
	assert_int_equal(listed.count, 2);
	assert_string_equal(listed.names[1], "b");
	listed.count = 0;
	assert_int_equal(read_list("{\"metadata\":{},\"items\":null}", &listed, &page, &err), 0);
	assert_int_equal(listed.count, 0);
	assert_string_equal(page.continue_token, "");
	codec_check_bad(table, SUPPORT_COUNT(table), decode_list);
}

/* ---- WATCH and Status ---- */

static int decode_watch(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct watch_event event;

	return watch_decode(tree, arena, &event, err);
}

static void test_watch(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "top level: must be an object" },
		{ "{}", "type: is missing" },
		{ "type: 1", "type: must be a string" },
		{ "{type: NEW, object: {}}", "type: is \"NEW\", none of ADDED" },
		{ "type: ADDED", "object: is missing" },
		{ "{type: ADDED, object: []}", "object: must be an object" },
		{ "{type: ADDED, object: {metadata: 1}}", "object.metadata: must be an object" },
		{ "{type: BOOKMARK, object: {metadata: {resourceVersion: 1}}}",
		  "object.metadata.resourceVersion: must be a string" },
		{ "{type: ERROR, object: {code: x}}", "object.code: must be an integer" },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *added = codec_tree(
		"{type: MODIFIED, object: {metadata: {name: a, resourceVersion: '12'}}}");
	AUTO(json_done)
	struct cJSON *error = codec_tree(
		"{type: ERROR, object: {kind: Status, code: 410, reason: Expired, message: old, "
		"details: {retryAfterSeconds: 3}}}");
	struct watch_event event;
	struct err err;

	(void)state;
	assert_int_equal(watch_decode(added, &arena, &event, &err), 0);
	assert_int_equal(event.type, WATCH_MODIFIED);
	assert_string_equal(event.resource_version, "12");
	assert_non_null(event.object);
	assert_string_equal(event.status.reason, "");
	assert_int_equal(watch_decode(error, &arena, &event, &err), 0);
	assert_int_equal(event.type, WATCH_ERROR);
	assert_true(event.status.code == 410 && event.status.retry_after_seconds == 3);
	assert_string_equal(event.status.reason, "Expired");
	assert_string_equal(event.resource_version, "");
	codec_check_bad(table, SUPPORT_COUNT(table), decode_watch);
}

static int decode_status(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct api_status status;

	return api_status_decode(tree, "reply", arena, &status, err);
}

static void test_status(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "reply: must be an object" },
		{ "{}", "reply.kind: is missing" },
		{ "kind: Pod", "reply.kind: must be Status, is \"Pod\"" },
		{ "{kind: Status, reason: 1}", "reply.reason: must be a string" },
		{ "{kind: Status, details: 1}", "reply.details: must be an object" },
	};
	static const struct {
		int64_t code;
		enum err_kind kind;
	} kinds[] = {
		{ 401, ERR_DENIED },   { 403, ERR_DENIED },   { 404, ERR_NOT_FOUND },
		{ 409, ERR_CONFLICT }, { 422, ERR_CONFLICT }, { 410, ERR_GONE },
		{ 408, ERR_RETRY },    { 429, ERR_RETRY },    { 500, ERR_RETRY },
		{ 504, ERR_RETRY },    { 400, ERR_INPUT },    { 415, ERR_INPUT },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), decode_status);
	for (size_t i = 0; i < SUPPORT_COUNT(kinds); i++)
		assert_int_equal(api_status_kind(kinds[i].code), kinds[i].kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_node_wrong_types),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_event_wrong_types),
		cmocka_unit_test(test_secret),
		cmocka_unit_test(test_autoscaler),
		cmocka_unit_test(test_autoscaler_wrong_types),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
