#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"
#include "cli/shared/commands.h"
#include "cli/shared/file.h"
#include "codec/objects/plan_text.h"
#include "test/support/cli_run.h"
#include "test/support/support.h"

#define ARGUMENTS_MAX 8

static const char snapshot[] = "apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\n"
			       "now: '2026-11-20T10:00:00Z'\n"
			       "rayCluster: {metadata: {name: demo}, spec: {workerGroupSpecs:\n"
			       "  [{groupName: g, maxReplicas: 4}]}}\n";

/* Runs "plan ARGUMENTS" with its output kept off the terminal. */
static struct cli_result run(const char *arguments)
{
	static struct cli_result result;
	AUTO(memory_free_string) char *copy = memory_strdup(arguments);
	const char *words[ARGUMENTS_MAX + 2] = { "plan" };
	char *rest = copy, *word;
	size_t count = 1;

	while ((word = strsep(&rest, " ")))
		if (*word != '\0')
			words[count++] = word;
	cli_run_words(cli_plan, words, &result);
	return result;
}

/* A file with this text under a name that fits into an argument. */
static const char *write_file(const char *text)
{
	static char path[] = "/tmp/rayscaler-plan-test-XXXXXX";
	int fd;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static struct cli_result run_on(const char *text, const char *flags)
{
	const char *path = write_file(text);
	struct cli_result result;
	char arguments[200];

	snprintf(arguments, sizeof(arguments), "-f %s %s", path, flags);
	result = run(arguments);
	unlink(path);
	return result;
}

static void test_usage(void **state)
{
	static const struct {
		const char *arguments, *error;
	} table[] = {
		{ "", "-f FILE is required" },
		{ "-f", "-f takes a value" },
		{ "--file", "--file takes a value" },
		{ "-f a -o", "-o takes a value" },
		{ "-f a -o xml", "-o takes text or json, not xml" },
		{ "-f a b", "\"b\" is not a flag; remove it" },
		{ "-f a --debugging", "unknown flag --debugging" },
		{ "-x", "unknown flag -x" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		struct cli_result result = run(table[i].arguments);

		assert_int_equal(result.status, 2);
		assert_string_equal(result.output, "");
		assert_non_null(strstr(result.errors, table[i].error));
		assert_non_null(strstr(result.errors, "rayscaler plan: "));
	}
	assert_int_equal(run("--help").status, 0);
	assert_non_null(strstr(run("-h").output, "usage: rayscaler plan -f FILE"));
}

static void test_bad_input(void **state)
{
	static const struct {
		const char *text, *error;
	} table[] = {
		{ "", "is empty; it must have a Snapshot" },
		{ "# none\n", "the text is empty; it must have a document" },
		{ "a: [", "line 2, column 1: " },
		{ "{}", "apiVersion: is missing" },
		{ "kind: Snapshot\napiVersion: rayscaler.dev/v1alpha1\nnow: 5\n", "now: must be" },
	};
	struct cli_result result;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		result = run_on(table[i].text, "");
		assert_int_equal(result.status, 1);
		assert_string_equal(result.output, "");
		/* One line: program, file, problem. */
		assert_ptr_equal(strstr(result.errors, "rayscaler plan: /tmp/rayscaler-plan-test-"),
				 result.errors);
		assert_non_null(strstr(result.errors, table[i].error));
		assert_ptr_equal(strchr(result.errors, '\n'),
				 result.errors + strlen(result.errors) - 1);
	}
	result = run("-f /nonexistent/file");
	assert_int_equal(result.status, 1);
	assert_string_equal(result.errors, "rayscaler plan: /nonexistent/file: does not exist; "
					   "name a file with a Snapshot, as \"rayscaler snapshot "
					   "CLUSTER -o FILE\" writes it\n");
}

static void test_plan(void **state)
{
	struct cli_result text, json, debug, again;

	(void)state;
	text = run_on(snapshot, "");
	assert_int_equal(text.status, 0);
	assert_string_equal(text.errors, "");
	assert_ptr_equal(strstr(text.output, "RayCluster default/demo\n"), text.output);
	assert_non_null(strstr(text.output, "AutoscalingDisabled"));
	json = run_on(snapshot, "-o json");
	assert_int_equal(json.status, 0);
	assert_ptr_equal(strstr(json.output, "{\n  \"apiVersion\": \"rayscaler.dev/v1alpha1\",\n"),
			 json.output);
	assert_null(strstr(json.output, "placements"));
	again = run_on(snapshot, "--output=json");
	assert_string_equal(json.output, again.output);
	debug = run_on(snapshot, "-ojson --debug");
	assert_non_null(strstr(debug.output, "\"placements\": []"));
}

static void test_standard_input(void **state)
{
	const char *path = write_file(snapshot);
	int saved = dup(0);
	struct cli_result result;

	(void)state;
	assert_non_null(freopen(path, "re", stdin));
	result = run("-f - -o json");
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.output, "\"name\": \"demo\""));
	result = run("-f -"); /* at its end now */
	assert_int_equal(result.status, 1);
	assert_string_equal(result.errors, "rayscaler plan: standard input: is empty; it must have "
					   "a Snapshot, as \"rayscaler snapshot CLUSTER -o FILE\" "
					   "writes it\n");
	dup2(saved, 0);
	close(saved);
	unlink(path);
}

static void test_file_ceiling(void **state)
{
	const char *path = write_file("0123456789");
	AUTO(buf_done) struct buf buf;
	struct err err;

	(void)state;
	buf_init(&buf, 9);
	assert_int_equal(file_read(path, "text", &buf, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text, "has more than 9 bytes; name a file with text");
	buf_done(&buf);
	buf_init(&buf, 10);
	assert_int_equal(file_read(path, "text", &buf, &err), 0);
	assert_string_equal(buf_string(&buf), "0123456789");
	unlink(path);
}

/* ---- the text form ---- */

static const struct bundle_entry bundle[] = { { "CPU", 1, 10000 }, { "GPU", 0.5, 5000 } };
static const struct ray_request requests[] = {
	{ .bundle = bundle, .bundle_count = 2 }, { .bundle = bundle, .bundle_count = 1 },
	{ .bundle = bundle, .bundle_count = 1 }, { .bundle = bundle, .bundle_count = 1 },
	{ .bundle = bundle, .bundle_count = 1 },
};
static const struct ray_gang gang = { .requests = requests, .request_count = 5 };
static const struct ray_gang other = { .requests = requests, .request_count = 1 };

static struct plan *make_plan(struct arena *arena)
{
	static const struct plan_schedule office = { .name = "office" };
	static const struct memory_backoff backoff = { .until = 1795168800000,
						       .seconds = 20,
						       .cause = REASON_QUOTA_GATE,
						       .message = "no quota" };
	struct plan *plan = ARENA_NEW(arena, struct plan);
	struct plan_group *group = VEC_ADD(arena, &plan->groups);

	plan->cluster_namespace = "n";
	plan->cluster_name = "evil\x1b[2J";
	plan->requeue_after_seconds = 3;
	*group = (struct plan_group){ .name = "gpu", .replicas = 1, .backoff = &backoff };
	group->reason = REASON_SCALE_DOWN_IDLE;
	group->message = "1 worker";
	VEC_PUSH(arena, &group->terminate,
		 ((struct plan_termination){ "w1", "9f", TERMINATE_DRAIN, REASON_IDLE, "61 s" }));
	VEC_PUSH(arena, &plan->groups,
		 ((struct plan_group){ .name = "a-longer-name", .message = "" }));
	VEC_PUSH(arena, &plan->workers,
		 ((struct plan_worker){ "w1", "gpu", WORKER_IDLE, REASON_IDLE, "61 s" }));
	VEC_PUSH(arena, &plan->infeasible,
		 ((struct plan_demand){ .kind = DEMAND_GANG,
					.gang = &gang,
					.count = 1,
					.reason = REASON_GANG_TOO_LARGE,
					.message = "" }));
	VEC_PUSH(arena, &plan->unserved,
		 ((struct plan_demand){ .kind = DEMAND_CONSTRAINT,
					.source = SOURCE_SCHEDULE,
					.schedule = &office,
					.request = &requests[0],
					.count = 2,
					.reason = REASON_MAX_REPLICAS,
					.message = "m" }));
	for (int i = 0; i < 4; i++)
		VEC_PUSH(arena, &plan->unserved,
			 ((struct plan_demand){ .kind = DEMAND_GANG,
						.gang = i < 3 ? &gang : &other,
						.count = 1,
						.reason = REASON_MAX_REPLICAS,
						.message = i < 2 ? "m" : "n" }));
	VEC_PUSH(arena, &plan->conditions,
		 ((struct plan_condition){ "ScalingActive", "True", REASON_DEMAND_READ, "ok" }));
	return plan;
}

static void test_text(void **state)
{
	static const char wanted[] =
		"RayCluster n/evil?[2J\n"
		"\n"
		"GROUP          REPLICAS    TARGET    LAUNCH  WHY\n"
		"gpu                   1         0         0  ScaleDownIdle: 1 worker\n"
		"  drain w1: Idle: 61 s\n"
		"  back-off of 20 s until 2026-11-20T10:00:00Z: QuotaGate: no quota\n"
		"a-longer-name         0         0         0  no change\n"
		"\n"
		"WORKER  GROUP  STATE     WHY\n"
		"w1      gpu    Idle      Idle: 61 s\n"
		"\n"
		"INFEASIBLE  no group could ever serve this\n"
		"  1 x gang (ray) 5 bundles {CPU: 1, GPU: 0.5} {CPU: 1} {CPU: 1} {CPU: 1} ...: "
		"GangTooLarge\n"
		"\n"
		"UNSERVED  could be served, but not now\n"
		"  2 x constraint (schedule office) {CPU: 1, GPU: 0.5}: MaxReplicas: m\n"
		"  2 x gang (ray) 5 bundles {CPU: 1, GPU: 0.5} {CPU: 1} {CPU: 1} {CPU: 1} ...: "
		"MaxReplicas: m\n"
		"  1 x gang (ray) 5 bundles {CPU: 1, GPU: 0.5} {CPU: 1} {CPU: 1} {CPU: 1} ...: "
		"MaxReplicas: n\n"
		"  1 x gang (ray) 1 bundle {CPU: 1, GPU: 0.5}: MaxReplicas: n\n"
		"\n"
		"PATCH  nothing to send\n"
		"\n"
		"CONDITIONS\n"
		"  ScalingActive=True DemandRead: ok\n"
		"\n"
		"next look in 3 s\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	struct err err;

	(void)state;
	buf_init(&buf, 1 << 20);
	assert_int_equal(plan_text_write(make_plan(&arena), false, &buf, &err), 0);
	assert_string_equal(buf_string(&buf), wanted);
}

static void test_text_patch_and_placements(void **state)
{
	static const char *const names[] = { "w1", "w2" };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	struct plan *plan = make_plan(&arena);
	struct plan_placement *placement = VEC_ADD(&arena, &plan->placements);
	struct err err;

	(void)state;
	buf_init(&buf, 1 << 20);
	VEC_PUSH(&arena, &plan->patch,
		 ((struct patch_op){ "test", "/a", PATCH_VALUE_STRING, 0, "g", { NULL, 0 } }));
	VEC_PUSH(&arena, &plan->patch,
		 ((struct patch_op){ "add", "/b", PATCH_VALUE_INTEGER, 7, NULL, { NULL, 0 } }));
	VEC_PUSH(&arena, &plan->patch,
		 ((struct patch_op){ "add", "/c", PATCH_VALUE_STRINGS, 0, NULL, { names, 2 } }));
	VEC_PUSH(
		&arena, &plan->patch,
		((struct patch_op){ "add", "/d", PATCH_VALUE_EMPTY_OBJECT, 0, NULL, { NULL, 0 } }));
	placement->worker = "w1";
	placement->constraint_phase = true;
	VEC_PUSH(&arena, &placement->placed,
		 ((struct plan_placed){ DEMAND_CONSTRAINT, SOURCE_RAY, NULL, 3, &requests[1], 2 }));
	assert_int_equal(plan_text_write(plan, true, &buf, &err), 0);
	assert_non_null(strstr(buf_string(&buf), "PATCH\n  test /a = g\n  add  /b = 7\n"
						 "  add  /c = [w1, w2]\n  add  /d = {}\n"));
	assert_non_null(strstr(buf_string(&buf),
			       "PLACEMENTS\n  w1 (constraint): 2 x constraint[3] {CPU: 1}\n"));
	buf_done(&buf);
	buf_init(&buf, 50);
	assert_int_equal(plan_text_write(plan, true, &buf, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_bad_input),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_standard_input),
		cmocka_unit_test(test_file_ceiling),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_patch_and_placements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
