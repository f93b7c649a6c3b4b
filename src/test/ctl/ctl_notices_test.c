/* ctl/report/notices against an API server that answers 429 with Retry-After. */
#include "ctl/report/notices.h"

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/options.h"
#include "test/support/kube_script.h"

#define REST_MS 1000 /* Retry-After: 1 */

static struct kube_script script;
static struct options options;
static struct control control;
static struct notices *notices;
static struct arena arena;
static _Atomic int events;

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
	if (atomic_fetch_add(&events, 1) == 0)
		exchange_answer(exchange, 429, "Retry-After: 1\r\n", "{}");
	else
		exchange_answer(exchange, 201, "", "{}");
}

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	events = 0;
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	notices = notices_new(&control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	notices_free(notices);
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

/* A pass over the RayCluster that launches a worker. */
static void scale_up(const char *namespace_)
{
	const char *text = arena_printf(
		&arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '2026-11-20T10:00:00Z', "
		"rayCluster: {metadata: {namespace: %s, name: demo}, spec: "
		"{enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: 0, minReplicas: 1, "
		"template: {spec: {containers: [{name: w, resources: {limits: {cpu: 1}}}]}}}]}}}",
		namespace_);
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);
	struct pass_decision decision = { .snapshot = snapshot };
	const char *key = arena_printf(&arena, "%s/demo", namespace_);
	struct err err;

	if (snapshot_read(text, strlen(text), &arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	decision.plan = decide(snapshot, &arena);
	decision.now = snapshot->now;
	notices_decided(notices, key, &decision);
	notices_accepted(notices, key);
}

static bool has_answered(void *context)
{
	return events >= *(const int *)context && kube_client_pending(script.client) == 0;
}

static bool scales_and_has_answered(void *context)
{
	scale_up("b");
	return has_answered(context);
}

static void test_retry_after_counts_for_all(void **state)
{
	int64_t told_ms;
	int one = 1, two = 2;

	(void)state;
	scale_up("a");
	assert_true(loop_wait_until(script.loop, has_answered, &one, WAIT_MS));
	told_ms = loop_monotonic_ms(script.loop);
	assert_true(loop_wait_until(script.loop, scales_and_has_answered, &two, WAIT_MS));
	assert_true(loop_monotonic_ms(script.loop) - told_ms >= REST_MS - 50);
	assert_int_equal(server_count(script.server, "POST /api/v1/namespaces/b/events"), 1);
}

/* A namespace whose quota of Events is used up stops the Events of its own clusters only. */
static void test_a_denial_counts_for_its_cluster(void **state)
{
	int two = 2, three = 3;

	(void)state;
	scale_up("full");
	events = 1; /* the answer 429 of the other test is not for this one */
	assert_true(loop_wait_until(script.loop, has_answered, &two, WAIT_MS));
	scale_up("b");
	assert_true(loop_wait_until(script.loop, has_answered, &three, WAIT_MS));
	assert_int_equal(server_count(script.server, "POST /api/v1/namespaces/b/events"), 1);
	scale_up("full"); /* not asked for again */
	assert_int_equal(kube_client_pending(script.client), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_retry_after_counts_for_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_denial_counts_for_its_cluster, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
