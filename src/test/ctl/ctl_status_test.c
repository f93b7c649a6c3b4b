/* ctl/report/status: its paths, and its answers. */
#include "ctl/report/status.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/report/summary.h"
#include "ctl/features.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/options.h"
#include "net/https.h"
#include "net/serve.h"
#include "net/work.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

struct bench {
	struct options options;
	struct control control;
	struct https *https;
	struct serve *serve;
	struct arena arena; /* of the decisions */
	const char *known;  /* "namespace/name" of the one cluster */
	int wakes;
	int code;
	char body[8192];
	bool done;
};

static bool wake(void *context, const char *namespace_, const char *name)
{
	struct bench *bench = context;
	char key[128];

	bench->wakes++;
	(void)snprintf(key, sizeof(key), "%s/%s", namespace_, name);
	return !strcmp(key, bench->known);
}

static void handle(void *context, const char *path, struct serve_request *request)
{
	status_ask(((struct bench *)context)->control.status, path, true, request);
}

static int setup(void **state)
{
	struct bench *bench = memory_alloc(sizeof(*bench));
	const struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	bench->known = "team/demo";
	options_init(&bench->options);
	bench->control.options = &bench->options;
	bench->control.loop = loop_new();
	bench->control.metrics = metrics_new(0);
	bench->control.features = features_new(&bench->control, features_listed);
	bench->control.wake = wake;
	bench->control.wake_context = bench;
	bench->control.status = status_new(&bench->control);
	bench->https = https_new(bench->control.loop, "test/1");
	bench->serve = serve_new(bench->control.loop, "127.0.0.1:0", &limits, handle, bench, &err);
	assert_non_null(bench->serve);
	*state = bench;
	return 0;
}

static int teardown(void **state)
{
	struct bench *bench = *state;

	assert_true(work_stop(bench->control.loop, 10000));
	arena_done(&bench->arena);
	https_free(bench->https);
	serve_free(bench->serve);
	status_free(bench->control.status);
	features_free(bench->control.features);
	metrics_free(bench->control.metrics);
	loop_free(bench->control.loop);
	options_done(&bench->options);
	memory_free(bench);
	return 0;
}

static void on_done(void *context, const struct https_response *response, const struct err *err)
{
	struct bench *bench = context;

	assert_null(err);
	bench->code = response->status;
	(void)snprintf(bench->body, sizeof(bench->body), "%s", response->body);
	bench->done = true;
}

static bool is_done(void *context)
{
	return ((struct bench *)context)->done;
}

static void start(struct bench *bench, const char *path)
{
	char url[256];
	const struct https_call call = { .method = "GET",
					 .url = url,
					 .allow_plain = true,
					 .connect_ms = 10000,
					 .first_byte_ms = 10000,
					 .total_ms = 10000,
					 .ceiling_bytes = 1 << 20,
					 .on_done = on_done,
					 .context = bench };

	bench->done = false;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", serve_port(bench->serve), path);
	https_start(bench->https, &call);
}

static int ask(struct bench *bench, const char *path)
{
	start(bench, path);
	assert_true(loop_wait_until(bench->control.loop, is_done, bench, 10000));
	return bench->code;
}

static void expect_in_body(const struct bench *bench, const char *text)
{
	if (!strstr(bench->body, text))
		fail_msg("\"%s\" is not in \"%s\"", text, bench->body);
}

static void decide_one(struct bench *bench, const char *name)
{
	struct arena *arena = &bench->arena; /* a thread may read it */
	struct snapshot *snapshot = ARENA_NEW(arena, struct snapshot);
	struct pass_decision decision = { .snapshot = snapshot };
	struct err err;
	const char *text = arena_printf(
		arena,
		"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\n"
		"now: '2026-11-20T10:00:00Z'\n"
		"rayCluster: {metadata: {namespace: team, name: %s}, spec: {\n"
		"  enableInTreeAutoscaling: true, headGroupSpec: {rayStartParams:\n"
		"  {redis-password: hunter2}, template: {spec: {containers: [{name: h,\n"
		"  env: [{name: PASSWORD, value: hunter2}]}]}}}}}\n",
		name);

	if (snapshot_read(text, strlen(text), arena, snapshot, &err))
		fail_msg("%s", err.text);
	decision.now = snapshot->now;
	decision.plan = decide(snapshot, arena);
	decision.summary = summary_of(snapshot, decision.plan, arena);
	metrics_decided(bench->control.metrics, &decision);
	status_decided(bench->control.status, &decision);
}

static bool is_woken(void *context)
{
	return ((struct bench *)context)->wakes > 0;
}

/* Asks for a page that the next decision answers. */
static int ask_decision(struct bench *bench, const char *path)
{
	bench->wakes = 0;
	start(bench, path);
	assert_true(loop_wait_until(bench->control.loop, is_woken, bench, 10000));
	decide_one(bench, "other");
	assert_false(loop_wait_until(bench->control.loop, is_done, bench, 50));
	decide_one(bench, "demo");
	assert_true(loop_wait_until(bench->control.loop, is_done, bench, 10000));
	return bench->code;
}

static void test_all(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask(bench, "/status"), 200);
	expect_in_body(bench, "\"leader\": true");
	expect_in_body(bench, "\"clusters\": []");
	decide_one(bench, "demo");
	assert_int_equal(ask(bench, "/status"), 200);
	expect_in_body(bench, "\"name\": \"demo\"");
	expect_in_body(bench, "\"decidedAt\": \"2026-11-20T10:00:00Z\"");
	expect_in_body(bench, "\"type\": \"ScalingActive\", \"status\": \"False\", "
			      "\"reason\": \"DemandUnavailable\"");
}

static void test_cluster(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask_decision(bench, "/status/team/demo"), 200);
	expect_in_body(bench, "\"kind\": \"ClusterStatus\"");
	expect_in_body(bench, "\"rayProblem\": ");
	expect_in_body(bench, "\"rayReachable\": false");
	expect_in_body(bench, "\"kind\": \"Plan\"");
}

static void test_snapshot_has_no_secrets(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask_decision(bench, "/snapshot/team/demo"), 200);
	expect_in_body(bench, "\"kind\": \"Snapshot\"");
	expect_in_body(bench, "PASSWORD");
	assert_null(strstr(bench->body, "hunter2"));
}

static void test_gpu_holders_without_ray(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask_decision(bench, "/gpu-holders/team/demo"), 200);
	expect_in_body(bench, "\"kind\": \"GpuHolders\"");
	expect_in_body(bench, "\"problem\": \"Ray was not read\"");
	expect_in_body(bench, "\"workers\": []");
}

/* A page of a feature. */
static void test_work_without_ray(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask_decision(bench, "/work/team/demo"), 200);
	expect_in_body(bench, "\"kind\": \"Work\"");
	expect_in_body(bench, "\"problem\": \"Ray was not read\"");
}

static void test_no_pass_in_time(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask(bench, "/status/team/demo"), 504);
	expect_in_body(bench, "no pass over team/demo ended within 5 s");
	decide_one(bench, "demo"); /* no request waits any more */
}

/* Of a cluster whose objects are being read, a request is answered at once. */
static void test_unread_objects(void **state)
{
	struct bench *bench = *state;

	bench->wakes = 0;
	start(bench, "/status/team/demo");
	assert_true(loop_wait_until(bench->control.loop, is_woken, bench, 10000));
	status_unread(bench->control.status, "team", "other");
	assert_false(loop_wait_until(bench->control.loop, is_done, bench, 50));
	status_unread(bench->control.status, "team", "demo");
	assert_true(loop_wait_until(bench->control.loop, is_done, bench, 10000));
	assert_int_equal(bench->code, 503);
	expect_in_body(bench, "until its large objects are read");
}

static void test_unknown(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask(bench, "/status/team/nobody"), 503);
	expect_in_body(bench, "are not complete yet");
	assert_int_equal(ask(bench, "/nothing"), 404);
	assert_int_equal(ask(bench, "/statusx/team/demo"), 404);
	expect_in_body(bench, "/snapshot, /gpu-holders, /work, each with /NAMESPACE/NAME");
}

/* The end of the program with a question that waits. */
static void test_end_while_waiting(void **state)
{
	struct bench *bench = *state;

	start(bench, "/snapshot/team/demo");
	assert_true(loop_wait_until(bench->control.loop, is_woken, bench, 10000));
	https_free(bench->https);
	bench->https = https_new(bench->control.loop, "test/1");
}

static void expect_path(const char *path, const char *page, const char *namespace_,
			const char *name)
{
	struct status_path parsed;

	if (!status_parse_path(path, &parsed))
		fail_msg("\"%s\" is not a path of a page", path);
	assert_string_equal(parsed.page, page);
	assert_string_equal(parsed.namespace_, namespace_);
	assert_string_equal(parsed.name, name);
}

static void expect_none(const char *path)
{
	struct status_path parsed;

	if (status_parse_path(path, &parsed))
		fail_msg("\"%s\" is page \"%s\"", path, parsed.page);
}

static void test_paths(void **state)
{
	static const char *const bad[] = {
		"",
		"/",
		"status",
		"/Status",
		"/status",
		"/status/",
		"/status//",
		"/status/a",
		"/status/a/",
		"/status//b",
		"/status/a/b/",
		"/status/a/b/c",
		"/status/a/B",
		"/status/a/b%2fc",
		"/status/a/..",
		"/status/../b",
		"/status/a/-b",
		"/status/a/b-",
		"/status/a/b c",
		"/status/a/b\"c",
		"/status/a/b\n",
		"/status/a/\xff",
		"/snapshot",
		"/snapshot/a",
		"/gpu-holders",
		"/gpu-holders/a/b/c",
		"/work",
		"/work/a",
	};
	char longest[600], too_long[600];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_none(bad[i]);
	expect_path("/status/team-1/a.b-c", "status", "team-1", "a.b-c");
	expect_path("/snapshot/t/1", "snapshot", "t", "1");
	expect_path("/gpu-holders/t/1", "gpu-holders", "t", "1");
	expect_path("/work/t/1", "work", "t", "1");
	(void)snprintf(longest, sizeof(longest), "/status/a/%0*d", STATUS_NAME_MAX, 0);
	expect_path(longest, "status", "a", longest + 10);
	(void)snprintf(too_long, sizeof(too_long), "/status/a/%0*d", STATUS_NAME_MAX + 1, 0);
	expect_none(too_long);
	(void)snprintf(too_long, sizeof(too_long), "/status/%0*d/a", STATUS_NAME_MAX + 1, 0);
	expect_none(too_long);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_all),
		TEST(test_cluster),
		TEST(test_snapshot_has_no_secrets),
		TEST(test_gpu_holders_without_ray),
		TEST(test_work_without_ray),
		TEST(test_no_pass_in_time),
		TEST(test_unread_objects),
		TEST(test_unknown),
		TEST(test_end_while_waiting),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
