/* The writer of protections against an API server that records the patches of Pods. */
#include "feature/protect_busy_pods/ctl/protector.h"

#include <stdlib.h>

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/protect_busy_pods/model/protect_busy_pods.h"
#include "test/support/feature_alone.h"
#include "test/support/kube_script.h"

#define SET_BODY                                                                                   \
	"{\"metadata\": {\"uid\": \"u-w0\", \"resourceVersion\": \"%d\", \"annotations\": "        \
	"{\"karpenter.sh/do-not-disrupt\": \"true\", "                                             \
	"\"cluster-autoscaler.kubernetes.io/safe-to-evict\": \"false\", "                          \
	"\"rayscaler.dev/protected\": \"2026-11-20T10:00:00Z karpenter.sh/do-not-disrupt "         \
	"cluster-autoscaler.kubernetes.io/safe-to-evict\"}}}"

/* Of the server; under the lock. */
static struct {
	pthread_mutex_t lock;
	int code;           /* of each answer */
	const char *answer; /* its body */
	int patches, others;
	char path[4096], body[4096];
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct kube_script script;
static struct options options;
static struct control control;
static struct arena arena;
static void *protector;

static void patch_pod(struct exchange *exchange, void *context)
{
	int code;
	const char *answer;

	(void)context;
	pthread_mutex_lock(&server.lock);
	if (!strcmp(exchange->method, "PATCH") &&
	    !strncmp(exchange->path, "/api/v1/namespaces/a/pods/", 26)) {
		server.patches++;
		(void)snprintf(server.path, sizeof(server.path), "%s", exchange->path);
		(void)snprintf(server.body, sizeof(server.body), "%s", exchange->body);
	} else {
		server.others++;
	}
	code = server.code;
	answer = server.answer;
	pthread_mutex_unlock(&server.lock);
	exchange_answer(exchange, code, "", answer);
}

static int patches(void)
{
	int count;

	pthread_mutex_lock(&server.lock);
	count = server.patches;
	pthread_mutex_unlock(&server.lock);
	return count;
}

static void answer_with(int code, const char *answer)
{
	pthread_mutex_lock(&server.lock);
	server.code = code;
	server.answer = answer;
	pthread_mutex_unlock(&server.lock);
}

static int setup(void **state)
{
	(void)state;
	answer_with(200, "{}");
	server.patches = server.others = 0;
	server.path[0] = server.body[0] = '\0';
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	script_start(&script, patch_pod, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	protector = alone_begin(&protect_busy_pods_feature, &control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(server.others, 0);
	alone_end();
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

static const char *pod_text(int index, int version, const char *annotations)
{
	return arena_printf(&arena,
			    "{metadata: {namespace: a, name: w%d, uid: u-w%d, resourceVersion: "
			    "'%d', annotations: {%s}, labels: {ray.io/cluster: demo, "
			    "ray.io/node-type: worker, ray.io/group: g}}, spec: {nodeName: n, "
			    "containers: [{name: w}]}, status: {phase: Running}}",
			    index, index, version, annotations);
}

/* A decision on this number of workers, all of them in use, or idle for a long time. */
static struct pass_decision *decision(int count, int version, bool busy, const char *annotations)
{
	const char *pods = "", *nodes = "";
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);
	struct pass_decision *made = ARENA_NEW(&arena, struct pass_decision);
	const char *text;
	struct err err;

	for (int i = 0; i < count; i++) {
		pods = arena_printf(&arena, "%s%s%s", pods, i > 0 ? ", " : "",
				    pod_text(i, version, annotations));
		nodes = arena_printf(&arena,
				     "%s, {nodeId: AQ%c%c, instanceId: w%d, status: %s, "
				     "idleDurationMs: '%d', totalResources: {GPU: 2}}",
				     nodes, 'A' + i / 26, 'A' + i % 26, i,
				     busy ? "RUNNING" : "IDLE", busy ? 0 : 90000);
	}
	text = arena_printf(
		&arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '2026-11-20T10:00:00Z', "
		"settings: {protect-busy-pods: true}, rayCluster: {metadata: {namespace: a, name: "
		"demo}, spec: {enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: "
		"{containers: [{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: %d, "
		"minReplicas: %d, template: {spec: {containers: [{name: w}]}}}]}}, pods: [%s], "
		"rayState: {nodeStates: [{nodeId: AQEB, instanceId: h, status: IDLE, idleDurationMs: "
		"'900000', totalResources: {'node:__internal_head__': 1}}%s]}}",
		count, count, pods, nodes);
	if (snapshot_read(text, strlen(text), &arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	made->snapshot = snapshot;
	made->plan = decide(snapshot, &arena);
	made->now = snapshot->now;
	return made;
}

static void decided(int count, int version, bool busy, const char *annotations)
{
	protect_busy_pods_feature.decided(protector, decision(count, version, busy, annotations));
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

static int64_t shown_pods(void)
{
	const struct metrics_cluster cluster = { .of = { "a", "demo", "a/demo" } };
	const struct feature_metric *metric = protect_busy_pods_feature.metrics;
	AUTO(buf_done) struct buf text;
	struct metrics_family family = { .buf = &text, .row = &metric->row };
	const char *value;

	buf_init(&text, 4096);
	metric->write(protector, &cluster, &family);
	value = strstr(buf_string(&text), "} ");
	return value ? strtoll(value + 2, NULL, 10) : -1;
}

#define OURS                                                                                       \
	"karpenter.sh/do-not-disrupt: 'true', rayscaler.dev/protected: '2026-11-20T09:00:00Z "     \
	"karpenter.sh/do-not-disrupt'"

/* The patch of a Pod, once; the Pod's own version comes back, or another writer's. */
static void test_one_patch_for_a_change(void **state)
{
	(void)state;
	assert_int_equal(shown_pods(), -1);
	decided(1, 7, true, "");
	await_patches(1);
	assert_string_equal(server.path, "/api/v1/namespaces/a/pods/w0?fieldManager=rayscaler");
	assert_string_equal(server.body, arena_printf(&arena, SET_BODY, 7));
	/* The cache still has the old version. */
	for (int i = 0; i < 5; i++) {
		decided(1, 7, true, "");
		rest(60);
	}
	assert_int_equal(patches(), 1);
	assert_int_equal(shown_pods(), 0);
	decided(1, 8, true, OURS);
	rest(200);
	assert_int_equal(patches(), 1);
	assert_int_equal(shown_pods(), 1);
	decided(1, 9, false, OURS);
	await_patches(2);
	assert_string_equal(server.body,
			    "{\"metadata\": {\"uid\": \"u-w0\", \"resourceVersion\": \"9\", "
			    "\"annotations\": {\"karpenter.sh/do-not-disrupt\": null, "
			    "\"rayscaler.dev/protected\": null}}}");
}

/* A writer that removes our annotations each time, and a Pod that always conflicts: two requests. */
static void test_two_requests_in_a_minute(void **state)
{
	int version = 1;

	(void)state;
	for (; version < 10; version++) {
		decided(1, version, true, "");
		rest(120);
	}
	assert_int_equal(patches(), PROTECTOR_WRITES_MAX);
	features_forget(alone, "a", "demo");
	answer_with(409, "{\"kind\": \"Status\", \"message\": \"the object has been modified\"}");
	for (; version < 20; version++) {
		decided(1, version, true, "");
		rest(120);
	}
	assert_int_equal(patches(), 2 * PROTECTOR_WRITES_MAX);
}

/* Many Pods at once: the burst, and then so many in a second; all of them in the end. */
static void test_budget_of_the_fleet(void **state)
{
	int64_t begin_ms = loop_monotonic_ms(script.loop), took_ms;

	(void)state;
	decided(35, 1, true, "");
	await_patches(PROTECTOR_FLEET_PER_SECOND);
	for (int left = 20; left > 0 && patches() < 35; left--) {
		rest(100);
		took_ms = loop_monotonic_ms(script.loop) - begin_ms;
		assert_in_range(patches(), 0,
				PROTECTOR_FLEET_PER_SECOND * (1 + took_ms / 1000 + 1));
	}
	await_patches(35);
	assert_true(loop_monotonic_ms(script.loop) - begin_ms >= 2400);
}

#define FORBIDDEN                                                                                  \
	"{\"kind\": \"Status\", \"code\": 403, \"message\": \"pods \\\"w0\\\" is forbidden\"}"

#define CURE                                                                                       \
	"Pods in use cannot be protected: install the chart with protectBusyPods.allowPatch=true"

/* One request in a minute for the cluster, and a condition with the cure in front. */
static void test_forbidden(void **state)
{
	struct ray_cluster cluster = { .namespace_ = "a", .name = "demo" };
	struct extra_condition condition;

	(void)state;
	answer_with(403, FORBIDDEN);
	assert_false(protect_busy_pods_feature.condition(protector, &cluster, &arena, &condition));
	decided(1, 1, true, "");
	await_patches(1);
	for (int version = 2; version < 8; version++) {
		decided(20, version, true, "");
		rest(100);
	}
	assert_int_equal(patches(), 1);
	assert_true(protect_busy_pods_feature.condition(protector, &cluster, &arena, &condition));
	assert_string_equal(condition.type, "PodPatchForbidden");
	assert_true(condition.is_true);
	assert_int_equal(strncmp(condition.message, CURE, strlen(CURE)), 0);
	assert_non_null(strstr(condition.message, "patch pods a/w0: 403"));
	/* There is nothing to write any more. */
	decided(1, 9, false, "");
	assert_false(protect_busy_pods_feature.condition(protector, &cluster, &arena, &condition));
}

/* The right ended together with the setting: the message has the command that cleans up. */
static void test_forbidden_removal(void **state)
{
	struct ray_cluster cluster = { .namespace_ = "a", .name = "demo" };
	struct extra_condition condition;

	(void)state;
	answer_with(403, FORBIDDEN);
	decided(1, 1, false, OURS);
	await_patches(1);
	assert_true(protect_busy_pods_feature.condition(protector, &cluster, &arena, &condition));
	assert_non_null(strstr(condition.message,
			       "remove its annotations yourself: rayscaler unprotect -n a --yes"));
}

/* A change that a later decision does not want, of a cluster that is deleted, or of a Pod with another
 * uid is not sent. */
static void test_changes_that_are_not_wanted_any_more(void **state)
{
	(void)state;
	decided(1, 1, true, "");
	decided(1, 1, false, "");
	rest(300);
	assert_int_equal(patches(), 0);
	decided(3, 1, true, "");
	features_forget(alone, "a", "demo");
	rest(300);
	assert_int_equal(patches(), 0);
	features_forget(alone, "a", "demo");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_patch_for_a_change), TEST(test_two_requests_in_a_minute),
		TEST(test_budget_of_the_fleet),    TEST(test_forbidden),
		TEST(test_forbidden_removal),      TEST(test_changes_that_are_not_wanted_any_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
