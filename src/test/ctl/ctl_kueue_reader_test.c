/* Reads of Workloads against an API server with a list of answers. */
#include "feature/queue/ctl/kueue_reader.h"

#include <malloc.h>

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "net/work.h"
#include "test/support/feature_alone.h"
#include "test/support/kube_script.h"

#define PAGE "?labelSelector=kueue.x-k8s.io%2Fjob-uid%3Du-1&limit=50"
#define PATH "GET /apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads" PAGE
#define WAITING                                                                                    \
	"{'metadata': {'name': 'new', 'generation': 1}, 'spec': {'podSets': [{'name': 'g', "       \
	"'count': 1}]}, 'status': {'conditions': [{'type': 'QuotaReserved', 'status': 'False', "   \
	"'message': 'no quota'}]}}"
#define ENDED                                                                                      \
	"{'metadata': {'name': 'old'}, 'status': {'conditions': [{'type': 'Finished', 'status': "  \
	"'True'}]}}"

static struct kube_script script;
static struct options options;
static struct control control;
static struct arena arena;
static void *reader;
static int woken;

static bool wake(void *context, const char *namespace_, const char *name)
{
	(void)context;
	assert_string_equal(namespace_, "a");
	assert_string_equal(name, "demo");
	woken++;
	return true;
}

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	woken = 0;
	script_start(&script, script_request, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control = (struct control){
		.loop = script.loop, .kube = script.client, .options = &options, .wake = wake
	};
	reader = alone_begin(&kueue_feature, &control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	alone_end();
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

static void answers(const struct step *steps, size_t count)
{
	script.steps = steps;
	script.step_count = count;
}

/* A Pod with this gate, or none; the generation is the number of replicas. */
static void decided(int replicas, const char *gate)
{
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);
	struct pass_decision made = { .snapshot = snapshot };
	const char *text = arena_printf(
		&arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '2026-11-20T10:00:00Z', "
		"rayCluster: {metadata: {namespace: a, name: demo, uid: u-1, generation: %d}, spec: "
		"{enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: %d, template: {spec: "
		"{containers: [{name: w, resources: {limits: {cpu: 1}}}]}}}]}}, pods: [{metadata: {namespace: a, name: w, labels: "
		"{ray.io/cluster: demo, ray.io/node-type: worker, ray.io/group: g}}, spec: "
		"{containers: [{name: w}], schedulingGates: [%s]}, status: {phase: Pending}}], "
		"rayState: {nodeStates: [{nodeId: AQEB, instanceId: h, status: RUNNING, "
		"totalResources: {'node:__internal_head__': 1}}]}}",
		replicas, replicas, gate);
	struct err err;

	if (snapshot_read(text, strlen(text), &arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	made.plan = decide(snapshot, &arena);
	made.now = snapshot->now;
	kueue_feature.decided(reader, &made);
}

static void awaited(int replicas)
{
	decided(replicas, "{name: kueue.x-k8s.io/elastic-job}");
}

static const struct kueue_workload *observed(void)
{
	const struct ray_cluster cluster = { .namespace_ = "a", .name = "demo", .uid = "u-1" };
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);

	kueue_feature.observe(reader, &cluster, &arena, snapshot);
	return snapshot->kueue;
}

static bool is_idle(void *context)
{
	return script.step >= *(const size_t *)context && kube_client_pending(script.client) == 0 &&
	       work_count(script.loop) == 0;
}

static void await(size_t requests)
{
	if (!loop_wait_until(script.loop, is_idle, &requests, WAIT_MS))
		fail_msg("%zu requests", (size_t)script.step);
	assert_int_equal(script.step, requests);
	assert_false(script.surprised);
}

static void test_only_while_a_pod_waits(void **state)
{
	static const struct step steps[] = {
		{ .expect = PATH, .text = "{'items': [" WAITING "]}" },
	};

	(void)state;
	answers(steps, 1);
	decided(1, "");
	decided(1, "{name: kueue.x-k8s.io/admission}");
	await(0);
	awaited(1);
	assert_null(observed());
	await(1);
	assert_int_equal(woken, 1);
	assert_string_equal(observed()->name, "new");
	assert_string_equal(observed()->message, "no quota");
	/* Not again within KUEUE_READER_FIRST_MS. */
	awaited(1);
	await(1);
	decided(1, "");
	assert_null(observed());
}

static bool is_decoded_beside(void *context)
{
	(void)context;
	return work_count(script.loop) > 0;
}

/* A Workload has the templates of a tenant, and may have 1.5 MiB. */
static void test_a_page_is_not_decoded_on_the_loop(void **state)
{
	static const struct step steps[] = {
		{ .expect = PATH, .text = "{'items': [" WAITING "]}" },
		{ .expect = PATH, .text = "{'items': [" WAITING "]}" },
	};

	(void)state;
	answers(steps, 2);
	awaited(1);
	assert_true(loop_wait_until(script.loop, is_decoded_beside, NULL, WAIT_MS));
	assert_null(observed());
	await(1);
	assert_string_equal(observed()->name, "new");
	/* The cluster is deleted meanwhile. */
	awaited(2);
	assert_true(loop_wait_until(script.loop, is_decoded_beside, NULL, WAIT_MS));
	features_forget(alone, "a", "demo");
	await(2);
	assert_null(observed());
}

static void test_again_when_the_counts_change(void **state)
{
	static const struct step steps[] = {
		{ .expect = PATH, .text = "{'items': [" WAITING "]}" },
		{ .expect = PATH, .text = "{'items': []}" },
	};

	(void)state;
	answers(steps, 2);
	awaited(1);
	await(1);
	awaited(2);
	await(2);
	assert_int_equal(woken, 2);
	assert_string_equal(observed()->name, "");
}

static void test_pages(void **state)
{
	static const struct step steps[] = {
		{ .expect = PATH,
		  .text = "{'metadata': {'continue': 'p/2'}, 'items': [" ENDED "]}" },
		{ .expect = PATH "&continue=p%2F2", .text = "{'items': [" WAITING "]}" },
	};

	(void)state;
	answers(steps, 2);
	awaited(1);
	await(2);
	assert_string_equal(observed()->name, "new");
}

static void check_problem(const struct step *step, const char *part)
{
	answers(step, 1);
	awaited(1);
	await(1);
	if (!strstr(observed()->problem, part))
		fail_msg("%s", observed()->problem);
	/* Not at once again, whatever the counts are. */
	awaited(2);
	awaited(3);
	await(1);
}

static void test_forbidden(void **state)
{
	static const struct step step = { .expect = PATH, .status = 403 };

	(void)state;
	check_problem(&step, "kueue.readWorkloads=true");
}

static void test_a_body_that_is_no_list(void **state)
{
	static const struct step step = { .text = "[1, 2]" };

	(void)state;
	answers(&step, 1);
	awaited(1);
	await(1);
	assert_non_null(strstr(observed()->problem, "must be an object"));
}

static void test_a_cluster_that_is_deleted(void **state)
{
	static const struct step step = { .kind = STEP_HOLD };

	(void)state;
	answers(&step, 1);
	awaited(1);
	features_forget(alone, "a", "demo");
	assert_null(observed());
	assert_int_equal(kube_client_pending(script.client), 0);
}

/* Without the log of the server. */
static size_t memory_in_use(void)
{
	size_t bytes = memory_heap_bytes();

	for (size_t i = 0; i < script.server->logged; i++)
		bytes -= malloc_usable_size(script.server->log[i]);
	return bytes;
}

static bool is_as_before(void *context)
{
	return memory_in_use() <= *(const size_t *)context;
}

/* A Workload is read, and its RayCluster is deleted, again and again. */
static void test_memory_after_many_rounds(void **state)
{
	enum { ROUNDS = KUEUE_READER_FLEET_PER_SECOND };
	static struct step steps[ROUNDS];
	size_t before = 0;

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++)
		steps[i] = (struct step){ .text = "{'items': [" ENDED ", " WAITING "]}" };
	answers(steps, ROUNDS);
	for (size_t i = 0; i < ROUNDS; i++) {
		awaited(1);
		await(i + 1);
		assert_string_equal(observed()->name, "new");
		if (i % 2)
			features_forget(alone, "a", "demo");
		else
			decided(1, "");
		assert_null(observed());
		arena_done(&arena);
		if (i == 3)
			before = memory_in_use();
	}
	assert_true(loop_wait_until(script.loop, is_as_before, &before, WAIT_MS));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_while_a_pod_waits),
		TEST(test_a_page_is_not_decoded_on_the_loop),
		TEST(test_again_when_the_counts_change),
		TEST(test_pages),
		TEST(test_forbidden),
		TEST(test_a_body_that_is_no_list),
		TEST(test_a_cluster_that_is_deleted),
		TEST(test_memory_after_many_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
