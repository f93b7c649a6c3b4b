/* ctl/report/event_recorder against an API server that answers 429 with Retry-After. */
#include "ctl/report/event_recorder.h"

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/options.h"
#include "test/support/kube_script.h"
#include "test/support/log_capture.h"

static struct kube_script script;
static struct options options;
static struct control control;
static struct event_recorder *recorder;
static struct arena arena;
static _Atomic int events, copies; /* copies: of these, on RayClusterAutoscalers */
static const char *autoscaler_uid; /* NULL: there is no such object */
static _Atomic int refusals;       /* so many of the next Events get 429 */

static void answer(struct exchange *exchange, void *context)
{
	(void)context;
	if (strstr(exchange->path, "/namespaces/full/")) {
		events++;
		exchange_answer(exchange, 403, "",
				"{\"kind\": \"Status\", \"reason\": \"Forbidden\", \"message\": "
				"\"events is forbidden: exceeded quota: events\"}");
		return;
	}
	events++;
	if (strstr(exchange->body, "\"kind\": \"RayClusterAutoscaler\"") &&
	    strstr(exchange->body, "\"uid\": \"u-2\""))
		copies++;
	if (refusals > 0) {
		refusals--;
		exchange_answer(exchange, 429, "Retry-After: 60\r\n", "{}");
	} else {
		exchange_answer(exchange, 201, "", "{}");
	}
}

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	events = copies = refusals = 0;
	autoscaler_uid = NULL;
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	recorder = event_recorder_new(&control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	event_recorder_free(recorder);
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

/* A pass over a RayCluster that launches a worker. */
static void scale_up_named(const char *namespace_, const char *name)
{
	const char *autoscaler =
		autoscaler_uid ? arena_printf(&arena,
					      "autoscaler: {metadata: {namespace: %s, name: %s, "
					      "uid: '%s'}},",
					      namespace_, name, autoscaler_uid) :
				 "";
	const char *text = arena_printf(
		&arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '2026-11-20T10:00:00Z', "
		"%s rayCluster: {metadata: {namespace: %s, name: %s}, spec: "
		"{enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: 0, minReplicas: 1, "
		"template: {spec: {containers: [{name: w, resources: {limits: {cpu: 1}}}]}}}]}}}",
		autoscaler, namespace_, name);
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);
	struct pass_decision decision = { .snapshot = snapshot };
	struct err err;

	if (snapshot_read(text, strlen(text), &arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	decision.plan = decide(snapshot, &arena);
	decision.now = snapshot->now;
	event_recorder_decided(recorder, &decision);
	event_recorder_patched(recorder, namespace_, name);
}

static void scale_up(const char *namespace_)
{
	scale_up_named(namespace_, "demo");
}

static bool has_answered(void *context)
{
	return events >= *(const int *)context && kube_client_pending(script.client) == 0;
}

static void expect_events(int count)
{
	if (!loop_wait_until(script.loop, has_answered, &count, WAIT_MS))
		fail_msg("%d Events instead of %d", events, count);
	assert_int_equal(events, count);
}

/* Two clusters of one namespace get 429: both wait, and no other does. */
static void test_retry_after_counts_for_its_cluster(void **state)
{
	(void)state;
	refusals = 2;
	scale_up("a");
	expect_events(1);
	scale_up_named("a", "second");
	expect_events(2);
	scale_up("b");
	expect_events(3);
	scale_up("a");
	scale_up_named("a", "second");
	assert_int_equal(kube_client_pending(script.client), 0);
}

/* The API server itself is overloaded. */
static void test_retry_after_of_two_namespaces_counts_for_all(void **state)
{
	(void)state;
	refusals = 2;
	scale_up("a");
	expect_events(1);
	scale_up("b");
	expect_events(2);
	scale_up("c");
	assert_int_equal(kube_client_pending(script.client), 0);
}

/* A namespace whose quota of Events is used up stops the Events of its own clusters only. */
static void test_a_denial_counts_for_its_cluster(void **state)
{
	(void)state;
	CAPTURE_LOG(scale_up("full"); expect_events(1));
	/* So the line counts for its namespace (net/log_limit.h). */
	assert_non_null(strstr(output, "\"cluster\":\"full/demo\",\"error\""));
	scale_up("b");
	expect_events(2);
	assert_int_equal(server_count(script.server, "POST /api/v1/namespaces/b/events"), 1);
	scale_up("full"); /* not asked for again */
	assert_int_equal(kube_client_pending(script.client), 0);
}

/* kubectl describe finds the Event under both objects. */
static void test_the_autoscaler_has_the_same_event(void **state)
{
	(void)state;
	autoscaler_uid = "u-2";
	scale_up("a");
	expect_events(2);
	assert_int_equal(copies, 1);
	/* The other object of a cluster that has only one. */
	autoscaler_uid = NULL;
	scale_up("b");
	expect_events(3);
	assert_int_equal(copies, 1);
}

/* Of many at once the Events of RayClusters are sent first. */
static void test_a_flood_drops_the_copies(void **state)
{
	const int copies_max = EVENT_RECORDER_UNDER_WAY / 4;

	(void)state;
	autoscaler_uid = "u-2";
	for (int i = 0; i < EVENT_RECORDER_UNDER_WAY - copies_max; i++)
		scale_up_named("a", arena_printf(&arena, "demo-%d", i));
	expect_events(EVENT_RECORDER_UNDER_WAY);
	assert_int_equal(copies, copies_max);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_retry_after_counts_for_its_cluster, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_retry_after_of_two_namespaces_counts_for_all,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_autoscaler_has_the_same_event, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_flood_drops_the_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_denial_counts_for_its_cluster, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
