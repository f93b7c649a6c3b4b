/* Resizes against an API server that records the patches of Pods. The raylet's part: e2e. */
#include "feature/in_place_resize/ctl/resizer.h"

#include <stdlib.h>

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "test/support/feature_alone.h"
#include "test/support/kube_script.h"

#define RECORDED                                                                                   \
	"{\\\"raylet-id\\\": \\\"0102\\\", \\\"resizing-at\\\": 1795168800, "                      \
	"\\\"suggested-max-cpu\\\": null, \\\"suggested-max-memory\\\": null, "                    \
	"\\\"last-failed-at\\\": null, \\\"last-failed-reason\\\": null, \\\"wanted-cpu\\\": 6, "  \
	"\\\"wanted-memory\\\": 8589934592}"
#define RECORD_BODY                                                                                \
	"{\"metadata\": {\"uid\": \"u-w\", \"resourceVersion\": \"7\", \"annotations\": "          \
	"{\"ray.io/ippr-status\": \"" RECORDED "\"}}}"
#define RESIZE_BODY                                                                                \
	"[{\"op\": \"test\", \"path\": \"/metadata/uid\", \"value\": \"u-w\"}, "                   \
	"{\"op\": \"test\", \"path\": \"/spec/containers/0/name\", \"value\": \"w\"}, "            \
	"{\"op\": \"replace\", \"path\": \"/spec/containers/0/resources/limits/cpu\", \"value\": " \
	"\"6000m\"}, "                                                                             \
	"{\"op\": \"replace\", \"path\": \"/spec/containers/0/resources/requests/cpu\", "          \
	"\"value\": \"5000m\"}, "                                                                  \
	"{\"op\": \"replace\", \"path\": \"/spec/containers/0/resources/requests/memory\", "       \
	"\"value\": \"8589934592\"}]"
#define PATCHES_KEPT 8

/* Of the server; under the lock. */
static struct {
	pthread_mutex_t lock;
	int code; /* of each answer to a resize */
	int patches;
	char paths[PATCHES_KEPT][8192], bodies[PATCHES_KEPT][16384];
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct kube_script script;
static struct options options;
static struct control control;
static struct arena arena;
static struct gcs_client *gcs;
static void *resizer;

static void patch_pod(struct exchange *exchange, void *context)
{
	int code = 200, index;

	(void)context;
	pthread_mutex_lock(&server.lock);
	index = server.patches++ % PATCHES_KEPT;
	(void)snprintf(server.paths[index], sizeof(server.paths[0]), "%s %s", exchange->method,
		       exchange->path);
	(void)snprintf(server.bodies[index], sizeof(server.bodies[0]), "%s", exchange->body);
	if (strstr(exchange->path, "/resize"))
		code = server.code;
	pthread_mutex_unlock(&server.lock);
	exchange_answer(exchange, code, "",
			code == 200 ? "{}" :
				      "{\"kind\": \"Status\", \"message\": \"because of a test\"}");
}

static int patches(void)
{
	int count;

	pthread_mutex_lock(&server.lock);
	count = server.patches;
	pthread_mutex_unlock(&server.lock);
	return count;
}

static int setup(void **state)
{
	const struct gcs_config config = { .cluster = "a/demo", .host = "127.0.0.1", .port = 1 };

	(void)state;
	server.code = 200;
	server.patches = 0;
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	script_start(&script, patch_pod, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	options.settings.in_place_resize = true;
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	gcs = gcs_client_new(script.loop, &config);
	resizer = alone_begin(&in_place_resize_feature, &control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	alone_end();
	gcs_client_free(gcs);
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

/* A worker of 2 CPU and 4Gi, and a task that needs 5 CPU. */
static void decided(int version, const char *annotation)
{
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);
	struct pass_decision made = { .gcs = gcs };
	const char *text = arena_printf(
		&arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '2026-11-20T10:00:00Z', "
		"settings: {in-place-resize: true}, rayCluster: {metadata: {namespace: a, name: "
		"demo, annotations: {ray.io/ippr: '{\"groups\": {\"g\": {\"max-cpu\": 6, "
		"\"max-memory\": \"8Gi\", \"resize-timeout\": 300}}}'}}, spec: "
		"{enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: 1, minReplicas: 1, "
		"maxReplicas: 3, template: {spec: {containers: [{name: w, resources: {limits: {cpu: "
		"2}, requests: {cpu: 1, memory: 4Gi}}}]}}}]}}, pods: [{metadata: {namespace: a, "
		"name: w, uid: u-w, resourceVersion: '%d', annotations: {%s}, labels: "
		"{ray.io/cluster: demo, ray.io/node-type: worker, ray.io/group: g}}, spec: "
		"{nodeName: n, containers: [{name: w, resources: {limits: {cpu: 2}, requests: {cpu: "
		"1, memory: 4Gi}}}]}, status: {phase: Running}}], rayState: {nodeStates: [{nodeId: "
		"AQEB, instanceId: h, status: IDLE, idleDurationMs: '900000', totalResources: "
		"{'node:__internal_head__': 1}}, {nodeId: AQI=, instanceId: w, status: IDLE, "
		"idleDurationMs: '0', totalResources: {CPU: 2, memory: 4294967296}, "
		"availableResources: {CPU: 2, memory: 4294967296}}], pendingResourceRequests: "
		"[{request: {resourcesBundle: {CPU: 5}}, count: '1'}]}}",
		version, annotation);
	struct err err;

	if (snapshot_read(text, strlen(text), &arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	made.snapshot = snapshot;
	made.plan = decide(snapshot, &arena);
	made.now = snapshot->now;
	in_place_resize_feature.decided(resizer, &made);
}

static bool has_patches(void *context)
{
	return patches() >= *(const int *)context && kube_client_pending(script.client) == 0;
}

static void await_patches(int count)
{
	if (!loop_wait_until(script.loop, has_patches, &count, WAIT_MS))
		fail_msg("%d patches instead of %d", patches(), count);
}

static bool never(void *context)
{
	(void)context;
	return false;
}

static void rest(int64_t ms)
{
	(void)loop_wait_until(script.loop, never, NULL, ms);
}

static const char *shown(void)
{
	const struct metrics_cluster cluster = { .of = { "a", "demo", "a/demo" } };
	const struct feature_metric *metric = in_place_resize_feature.metrics;
	AUTO(buf_done) struct buf text;
	struct metrics_family family = { .buf = &text, .row = &metric->row };

	buf_init(&text, 4096);
	metric->write(resizer, &cluster, &family);
	return arena_strdup(&arena, buf_string(&text));
}

/* The record, then the resize; nothing more while the cache has the Pod from before. */
static void test_growth(void **state)
{
	(void)state;
	decided(7, "");
	await_patches(2);
	assert_string_equal(server.paths[0],
			    "PATCH /api/v1/namespaces/a/pods/w?fieldManager=rayscaler");
	assert_string_equal(server.bodies[0], RECORD_BODY);
	assert_string_equal(server.paths[1],
			    "PATCH /api/v1/namespaces/a/pods/w/resize?fieldManager=rayscaler");
	assert_string_equal(server.bodies[1], RESIZE_BODY);
	assert_non_null(strstr(shown(), "result=\"requested\"} 1"));
	for (int i = 0; i < 5; i++) {
		decided(7, "");
		rest(60);
	}
	assert_int_equal(patches(), 2);
}

/* Another process has written the record, and ended: the resize is sent. */
static void test_an_unsent_resize(void **state)
{
	(void)state;
	decided(8, arena_printf(&arena, "ray.io/ippr-status: \"%s\"", RECORDED));
	await_patches(2);
	assert_string_equal(server.bodies[1], RESIZE_BODY);
}

/* Once in a minute for the cluster, and a condition with the cure. */
static void test_forbidden(void **state)
{
	struct ray_cluster cluster = { .namespace_ = "a", .name = "demo" };
	struct extra_condition condition;

	(void)state;
	assert_false(in_place_resize_feature.condition(resizer, &cluster, &arena, &condition));
	server.code = 403;
	decided(7, "");
	await_patches(2);
	for (int version = 8; version < 12; version++) {
		decided(version, "");
		rest(60);
	}
	assert_int_equal(patches(), 2);
	assert_true(in_place_resize_feature.condition(resizer, &cluster, &arena, &condition));
	assert_string_equal(condition.type, "PodResizeRefused");
	assert_non_null(strstr(condition.message, "config.inPlaceResize=true"));
	assert_non_null(strstr(condition.message, "403"));
	features_forget(alone, "a", "demo");
	assert_false(in_place_resize_feature.condition(resizer, &cluster, &arena, &condition));
}

/* A resize that the API server refuses as invalid is recorded as failed, and demand gets new workers. */
static void test_invalid(void **state)
{
	(void)state;
	server.code = 422;
	decided(7, "");
	await_patches(3);
	assert_non_null(strstr(server.bodies[2], "\\\"resizing-at\\\": null"));
	assert_null(strstr(server.bodies[2], "\\\"last-failed-at\\\": null"));
	assert_non_null(strstr(server.bodies[2], "because of a test"));
	assert_null(strstr(server.bodies[2], "resourceVersion"));
	assert_non_null(strstr(shown(), "result=\"failed\"} 1"));
}

/* A cluster that is deleted, and a client of Ray that is not there. */
static void test_not_sent(void **state)
{
	struct gcs_client *there = gcs;

	(void)state;
	gcs = NULL;
	decided(7, "");
	gcs = there;
	rest(100);
	assert_int_equal(patches(), 0);
	decided(7, "");
	features_forget(alone, "a", "demo");
	rest(200);
	assert_in_range(patches(), 0, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_growth),  TEST(test_an_unsent_resize), TEST(test_forbidden),
		TEST(test_invalid), TEST(test_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
