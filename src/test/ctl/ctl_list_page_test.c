/* The answers of /gpu-holders and /work, over HTTP, against a scripted GCS. */
#include "ctl/report/list_page.h"

#include "base/budget.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "feature/record/ctl/start_times.h"
#include "feature/record/ctl/work_page.h"
#include "feature/record/objects/ray_work_json.h"
#include "net/https.h"
#include "net/serve.h"
#include "net/work.h"
#include "test/support/feature_alone.h"
#include "test/support/gcs_bench.h"
#include "test/support/loop_wait.h"

static const char snapshot_text[] =
	"apiVersion: rayscaler.dev/v1alpha1\n"
	"kind: Snapshot\n"
	"now: '2026-11-21T10:00:00Z'\n"
	"rayCluster: {metadata: {namespace: ray, name: demo}, spec: {enableInTreeAutoscaling: true,\n"
	"  workerGroupSpecs: [{groupName: gpu, replicas: 1, minReplicas: 0, maxReplicas: 4, template:\n"
	"  {spec: {containers: [{name: w, resources: {limits: {nvidia.com/gpu: '4'}}}]}}}]}}\n"
	"pods:\n"
	"- {metadata: {namespace: ray, name: w1, uid: u1, labels: {ray.io/cluster: demo, ray.io/node-type:\n"
	"  worker, ray.io/group: gpu}, creationTimestamp: '2026-11-21T09:00:00Z'}, spec: {containers:\n"
	"  [{name: w}]}, status: {phase: Running, conditions: [{type: Ready, status: 'True',\n"
	"  lastTransitionTime: '2026-11-21T09:00:20Z'}], containerStatuses: [{name: w, state: {running:\n"
	"  {}}}]}}\n"
	"rayState:\n"
	"  nodeStates:\n"
	"  - {nodeId: AQ==, instanceId: head, status: RUNNING, totalResources: {'node:__internal_head__': 1}}\n"
	"  - {nodeId: Ag==, instanceId: w1, rayNodeTypeName: gpu, status: RUNNING,\n"
	"    totalResources: {GPU: 4}, availableResources: {GPU: 1}}\n";

static struct options options;
static struct control control;
static struct memory_budgets memory;
static struct {
	struct https *https;
	struct serve *serve;
	struct list_pages *pages;
	struct serve_request *request;
	int asked; /* calls of the GCS for lists */
	bool mute, done;
	int code;
	char body[8192];
} bench;

static void answer_list(struct h2_stream *stream)
{
	Ray__GetAllActorInfoReply actors = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData actor = RAY__ACTOR_TABLE_DATA__INIT, *actor_list[] = { &actor };
	Ray__ActorTableData__RequiredResourcesEntry gpu =
		RAY__ACTOR_TABLE_DATA__REQUIRED_RESOURCES_ENTRY__INIT;
	Ray__ActorTableData__RequiredResourcesEntry *gpus[] = { &gpu };
	Ray__GetAllJobInfoReply jobs = RAY__GET_ALL_JOB_INFO_REPLY__INIT;
	Ray__JobTableData job = RAY__JOB_TABLE_DATA__INIT, *job_list[] = { &job };
	Ray__GetAllPlacementGroupReply groups = RAY__GET_ALL_PLACEMENT_GROUP_REPLY__INIT;

	gpu.key = (char *)"GPU";
	gpu.value = 2;
	actor.state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__ALIVE;
	actor.class_name = (char *)"Tr\"\nainer\033";
	actor.job_id = job.job_id = BYTES("\3\0\0\0");
	actor.node_id = BYTES("\2");
	actor.start_time = 1795168800000 + 1;
	actor.required_resources = gpus;
	actor.n_required_resources = 1;
	job.entrypoint = (char *)"python a.py";
	actors.actor_table_data = actor_list;
	jobs.job_info_list = job_list;
	actors.n_actor_table_data = jobs.n_job_info_list = 1;
	if (strstr(stream->path, "/GetAllActorInfo"))
		fake_gcs_answer(stream, &actors.base);
	else if (strstr(stream->path, "/GetAllJobInfo"))
		fake_gcs_answer(stream, &jobs.base);
	else if (strstr(stream->path, "/GetAllPlacementGroup"))
		fake_gcs_answer(stream, &groups.base);
	else /* tasks, as if this Ray had none */
		h2_stream_answer(stream, &(struct h2_answer){ .grpc_status = GRPC_UNIMPLEMENTED,
							      .trailers_only = true });
}

static void on_call(struct h2_server *server, struct h2_stream *stream)
{
	if (strstr(stream->path, "/GetClusterId")) {
		fake_gcs_handle(server, stream);
		return;
	}
	bench.asked++;
	if (!bench.mute)
		answer_list(stream);
}

static void handle(void *context, const char *path, struct serve_request *request)
{
	(void)context;
	(void)path;
	assert_true(serve_may_wait(request));
	bench.request = request;
}

static void on_done(void *context, const struct https_response *response, const struct err *err)
{
	(void)context;
	bench.done = true;
	bench.code = err ? 0 : response->status;
	(void)snprintf(bench.body, sizeof(bench.body), "%s", err ? err->text : response->body);
}

static bool has_request(void *context)
{
	(void)context;
	return bench.request != NULL;
}

static bool is_done(void *context)
{
	(void)context;
	return bench.done;
}

static bool is_asked(void *context)
{
	(void)context;
	return bench.asked == RAY_LISTS;
}

static struct start_times *times;

static int setup_kind(const struct list_page_kind *kind)
{
	const struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	memset(&bench, 0, sizeof(bench));
	gcs_bench_open();
	gcs_bench.gcs.server.handler = on_call;
	options = (struct options){ .gcs_timeout_seconds = 5 };
	memory_budgets_init(&memory, &options, (size_t)256 << 20);
	memory.root->measure = NULL; /* without the heap of this test */
	control =
		(struct control){ .loop = gcs_bench.loop, .options = &options, .memory = &memory };
	bench.pages = list_pages_new(kind, times, &control);
	bench.https = https_new(control.loop, "test/1");
	bench.serve = serve_new(control.loop, "127.0.0.1:0", &limits, handle, NULL, &err);
	assert_non_null(bench.serve);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return setup_kind(&gpu_use_page);
}

/* The controller has seen the worker become ready. */
static int setup_work(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot;
	struct err err;

	(void)state;
	times = alone_begin(&record_feature, NULL);
	if (setup_kind(&work_page) ||
	    snapshot_read(snapshot_text, sizeof(snapshot_text) - 1, &arena, &snapshot, &err))
		return -1;
	start_times_pod_changed(times, NULL, snapshot.pods[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(work_stop(control.loop, 10000));
	list_pages_free(bench.pages);
	assert_int_equal(budget_used(memory.root), 0);
	memory_budgets_done(&memory);
	alone_end();
	times = NULL;
	https_free(bench.https);
	serve_free(bench.serve);
	gcs_bench_close();
	return 0;
}

static void start(bool reached)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char url[100];
	const struct https_call call = { .method = "GET",
					 .url = url,
					 .allow_plain = true,
					 .connect_ms = 10000,
					 .first_byte_ms = 20000,
					 .total_ms = 20000,
					 .ceiling_bytes = 1 << 20,
					 .on_done = on_done };
	struct pass_decision decision = { .gcs = gcs_bench.client };
	struct snapshot snapshot;
	struct err err;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/", serve_port(bench.serve));
	https_start(bench.https, &call);
	assert_true(loop_wait_until(control.loop, has_request, NULL, 10000));
	if (snapshot_read(snapshot_text, sizeof(snapshot_text) - 1, &arena, &snapshot, &err))
		fail_msg("%s", err.text);
	decision.snapshot = &snapshot;
	decision.plan = decide(&snapshot, &arena);
	decision.now = snapshot.now;
	decision.ray_state = reached ? snapshot.ray_state : NULL;
	snapshot.ray_problem = "10.0.0.1:6379 refuses";
	list_page_start(bench.pages, &decision, bench.request);
}

static void expect_body(const char *text)
{
	if (!strstr(bench.body, text))
		fail_msg("\"%s\" is not in \"%s\"", text, bench.body);
}

/* The decision, its snapshot and its plan are freed before the GCS answers. */
static void test_answer(void **state)
{
	(void)state;
	start(true);
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	assert_int_equal(bench.code, 200);
	expect_body("\"kind\": \"GpuHolders\"");
	expect_body("\"at\": \"2026-11-21T10:00:00Z\"");
	expect_body("\"notes\": [\"tasks are unknown: default/demo: GetTaskEvents: ");
	expect_body("\"pod\": \"w1\"");
	expect_body("\"inUse\": 3");
	expect_body("\"unnamed\": 1");
	expect_body("{\"kind\": \"actor\", \"name\": \"Tr\\\"\\nainer\\u001b\", \"job\": "
		    "\"03000000\", \"entrypoint\": \"python a.py\", \"count\": 1, \"gpus\": 2, "
		    "\"since\": \"2026-11-20T");
	assert_int_equal(bench.asked, RAY_LISTS);
}

static void test_ray_was_not_read(void **state)
{
	(void)state;
	start(false);
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	assert_int_equal(bench.code, 200);
	expect_body("\"problem\": \"10.0.0.1:6379 refuses\"");
	assert_int_equal(bench.asked, 0);
}

/* The cluster is deleted, and its client freed, while the GCS is silent. */
static void test_forgotten(void **state)
{
	(void)state;
	bench.mute = true;
	start(true);
	assert_true(loop_wait_until(control.loop, is_asked, NULL, 10000));
	list_pages_forget(bench.pages, "ray", "other");
	list_pages_forget(bench.pages, "ray", "demo");
	gcs_client_free(steal(&gcs_bench.client));
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	assert_int_equal(bench.code, 503);
	expect_body("not watched here any more");
}

/* The part of the decision that it keeps, and the lists that it decodes. */
static void test_a_page_is_charged(void **state)
{
	size_t before_lists;

	(void)state;
	bench.mute = true;
	start(true);
	assert_true(loop_wait_until(control.loop, is_asked, NULL, 10000));
	before_lists = budget_used(memory.root);
	assert_true(before_lists > 0);
	list_pages_forget(bench.pages, "ray", "demo");
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	bench.mute = bench.done = false;
	bench.request = NULL;
	start(true);
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	assert_int_equal(bench.code, 200);
	assert_true(budget_peak(memory.root) > before_lists);
}

static void test_work(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_work_page page;
	struct err err;

	(void)state;
	start(true);
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	assert_int_equal(bench.code, 200);
	expect_body("\"kind\": \"Work\"");
	expect_body("{\"list\": \"tasks\", \"problem\": \"default/demo: GetTaskEvents: ");
	expect_body("{\"kind\": \"actor\", \"job\": \"03000000\", \"node\": \"02\", "
		    "\"started\": \"2026-11-20T");
	expect_body("\"bundles\": [{\"resources\": {\"GPU\": 2}}]");
	assert_null(strstr(bench.body, "python"));
	if (ray_work_read(bench.body, strlen(bench.body), &arena, &page, &err))
		fail_msg("%s", err.text);
	assert_int_equal(page.row_count, 1);
	assert_int_equal(page.job_count, 1);
	assert_int_equal(page.source_count, RAY_LISTS);
	assert_int_equal(page.start_count, 1);
	assert_string_equal(page.starts[0].uid, "u1");
	assert_string_equal(page.starts[0].group, "gpu");
	assert_int_equal(page.starts[0].ms, 20000);
	expect_body("\"ready\": \"2026-11-21T09:00:20Z\"");
}

static void test_work_without_ray(void **state)
{
	(void)state;
	start(false);
	assert_true(loop_wait_until(control.loop, is_done, NULL, 20000));
	assert_int_equal(bench.code, 200);
	expect_body("\"problem\": \"10.0.0.1:6379 refuses\"");
}

/* The end of the program while the GCS is silent. */
static void test_end_while_waiting(void **state)
{
	(void)state;
	bench.mute = true;
	start(true);
	assert_true(loop_wait_until(control.loop, is_asked, NULL, 10000));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_answer),
		TEST(test_ray_was_not_read),
		TEST(test_forgotten),
		TEST(test_end_while_waiting),
		TEST(test_a_page_is_charged),
		cmocka_unit_test_setup_teardown(test_work, setup_work, teardown),
		cmocka_unit_test_setup_teardown(test_work_without_ray, setup_work, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
