/* One pass against a scripted GCS and a scripted API server: the requests in their order, and that
 * nothing is removed without a positive, fresh fact. */
#include "codec/objects/snapshot_json.h"
#include "codec/objects/summary_json.h"
#include "ctl/pass/gpu_share.h"
#include "ctl/shared/memory_budgets.h"
#include "net/work.h"
#include "test/support/pass_bench.h"

static void test_demand_is_one_patch(void **state)
{
	(void)state;
	set_pending_gpus(2);
	run_pass(NULL);
	assert_int_equal(api.patches, 1);
	assert_true(seen.patched);
	assert_int_equal(seen.decisions, 1);
	assert_non_null(strstr(
		api.bodies[0],
		"\"op\": \"test\", \"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 0"));
	assert_non_null(strstr(
		api.bodies[0],
		"\"op\": \"add\", \"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 2"));
	assert_non_null(strstr(seen.memory, "launches"));
}

static void test_nothing_to_do_sends_nothing(void **state)
{
	(void)state;
	run_pass(NULL);
	assert_int_equal(api.patches + api.gets + api.lists, 0);
	assert_int_equal(seen.decisions, 1);
	assert_true(seen.ray_reached);
	assert_string_equal(seen.memory, "{}");
}

/* The drain and the patch are one pass: waiting for the raylet to end loses to the operator. */
static void test_accepted_drain_is_patched_in_the_same_pass(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0],
			       "\"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 0"));
	assert_non_null(strstr(api.bodies[0], "workersToDelete\", \"value\": [\"demo-worker\"]"));
}

/* Others use up the memory between the decision that drains and the one that patches. */
static void use_up_memory(void)
{
	if (ray.drains == 1)
		(void)budget_take(control.memory->root, (size_t)1 << 40);
}

static void test_accepted_drain_is_patched_without_memory(void **state)
{
	struct memory_budgets memory;

	(void)state;
	pass_bench_idle_worker();
	memory_budgets_init(&memory, &options, (size_t)200 << 20);
	control.memory = &memory;
	seen.on_view = use_up_memory;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 1);
	pass_free(steal(&seen.pass));
	budget_release(memory.root, memory.root->used_bytes);
	memory_budgets_done(&memory);
	control.memory = NULL;
	seen.on_view = NULL;
}

static void test_rejected_drain_keeps_the_worker(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.accept = false;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 0);
}

static void test_failed_drain_keeps_the_worker(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.fail_drain = true;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 0);
}

static void test_drain_without_answer_keeps_the_worker(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.mute_drain = true;
	run_pass(NULL);
	assert_int_equal(api.patches, 0);
}

static void test_silent_gcs_is_no_idle_cluster(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.mute_state = true;
	run_pass(NULL);
	assert_false(seen.ray_reached);
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 0);
}

static void test_stale_caches_remove_nothing(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	seen.stale = "the watch is broken";
	run_pass(NULL);
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 0);
}

static void test_stale_caches_still_scale_up(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	set_pending_gpus(3);
	seen.stale = "the watch is broken";
	run_pass(NULL);
	assert_true(seen.ray_reached);
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0],
			       "\"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 3"));
	assert_null(strstr(api.bodies[0], "workersToDelete"));
}

static void break_the_watch(const char *path)
{
	if (strstr(path, "/DrainNode"))
		seen.stale = "the watch is broken";
}

/* Ray has accepted the drain, so the Pod is deleted: KubeRay would replace it otherwise. */
static void test_caches_stale_after_an_accepted_drain(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.before = break_the_watch;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "workersToDelete\", \"value\": [\"demo-worker\"]"));
}

/* A drained raylet ends in a moment, and the next pass would not know the cause: its Pod would be
 * kept until raylet-gone-seconds. So the patch is tried again in this pass. */
static void test_a_patch_after_an_accepted_drain_is_tried_again(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	api.statuses[0] = 503;
	api.cluster = CLUSTER("1");
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.gets, 1);
	assert_int_equal(api.patches, 2);
	assert_non_null(strstr(api.bodies[1], "workersToDelete\", \"value\": [\"demo-worker\"]"));
	assert_true(seen.patched);
}

/* Without a drain there is always a next pass. */
static void test_a_patch_that_fails_is_left_to_the_next_pass(void **state)
{
	(void)state;
	set_pending_gpus(3);
	api.statuses[0] = 503;
	run_pass(NULL);
	assert_int_equal(api.patches, 1);
	assert_int_equal(api.gets, 0);
}

/* 422: another writer set replicas to 1 meanwhile; the decision uses the fresh object. */
static void test_conflict_reads_afresh_and_decides_again(void **state)
{
	(void)state;
	set_pending_gpus(3);
	api.statuses[0] = 422;
	api.cluster = CLUSTER("1");
	run_pass(NULL);
	assert_int_equal(api.patches, 2);
	assert_int_equal(api.gets, 1);
	assert_non_null(strstr(
		api.bodies[1],
		"\"op\": \"test\", \"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 1"));
	assert_non_null(strstr(api.bodies[1],
			       "\"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 3"));
	assert_true(seen.patched);
}

/* A part that shares GPUs: the terms are those of the test, and calls are counted. */
static struct sharing {
	int64_t granted;
	int decided, sent, answered;
	bool was_refused, again;
} sharing;

static const struct pool_terms *terms(void *self, const struct gpu_share_objects *objects,
				      struct arena *arena)
{
	struct pool_terms *ret = ARENA_NEW(arena, struct pool_terms);
	struct pool_grant *grant = ARENA_NEW(arena, struct pool_grant);

	(void)self;
	*grant = (struct pool_grant){ .group = objects->cluster->groups[0].name,
				      .replicas = sharing.granted,
				      .reason = REASON_WAITS_FOR_POOL,
				      .message = "waits" };
	*ret = (struct pool_terms){ .grants = grant, .grant_count = 1 };
	return ret;
}

static bool share_decided(void *self, const struct gpu_share_objects *objects,
			  const struct plan *plan, bool knows_demand, time_ms now_ms)
{
	(void)self;
	(void)objects;
	(void)now_ms;
	assert_true(knows_demand);
	assert_int_equal(plan->asks.count, 1);
	assert_int_equal(plan->asks.at[0].count, 5);
	sharing.decided++;
	if (sharing.again)
		sharing.granted++;
	return sharing.again;
}

static bool fits(void *self, const struct gpu_share_objects *objects, const struct plan *plan)
{
	(void)self;
	(void)objects;
	(void)plan;
	return true;
}

static void sent(void *self, const struct gpu_share_objects *objects, const struct plan *plan)
{
	(void)self;
	(void)objects;
	(void)plan;
	sharing.sent++;
}

static void answered(void *self, const char *namespace_, const char *name, const struct err *err,
		     int64_t generation)
{
	(void)self;
	(void)namespace_;
	(void)name;
	sharing.answered++;
	sharing.was_refused = err != NULL;
	(void)generation;
}

static const struct gpu_share_hooks sharing_hooks = {
	.terms = terms, .decided = share_decided, .fits = fits, .sent = sent, .answered = answered
};
static const struct gpu_share share = { &sharing_hooks, NULL };

/* 5 are asked for, 2 granted: they are launched, reserved while the patch is in flight, and the answer
 * is passed on. */
static void test_a_grant_bounds_the_patch(void **state)
{
	(void)state;
	sharing = (struct sharing){ .granted = 2 };
	control.gpu_share = &share;
	set_pending_gpus(5);
	api.cluster = CLUSTER("2");
	run_pass(NULL);
	control.gpu_share = NULL;
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0],
			       "\"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 2"));
	assert_int_equal(sharing.decided, 1);
	assert_int_equal(sharing.sent, 1);
	assert_int_equal(sharing.answered, 1);
	assert_false(sharing.was_refused);
}

/* Workers that are granted at once are launched by the same pass. */
static void test_a_grant_that_comes_with_the_ask(void **state)
{
	(void)state;
	sharing = (struct sharing){ .granted = 2, .again = true };
	control.gpu_share = &share;
	set_pending_gpus(5);
	api.cluster = CLUSTER("3");
	run_pass(NULL);
	control.gpu_share = NULL;
	assert_non_null(strstr(api.bodies[0],
			       "\"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 3"));
	assert_int_equal(sharing.decided, 1);
}

static void test_a_refused_patch_is_passed_on(void **state)
{
	(void)state;
	sharing = (struct sharing){ .granted = 2 };
	control.gpu_share = &share;
	set_pending_gpus(5);
	api.statuses[0] = 403;
	run_pass(NULL);
	control.gpu_share = NULL;
	assert_int_equal(api.patches, 1);
	assert_int_equal(sharing.answered, 1);
	assert_true(sharing.was_refused);
}

static void test_endless_conflict_gives_up(void **state)
{
	(void)state;
	set_pending_gpus(1);
	for (size_t i = 0; i < PATCHES_MAX; i++)
		api.statuses[i] = 409;
	run_pass(NULL);
	assert_int_equal(api.patches, 3);
	assert_int_equal(seen.err.kind, ERR_CONFLICT);
	/* The launches that did not happen are not remembered. */
	assert_string_equal(seen.memory, "");
}

static void test_refused_patch_is_an_error(void **state)
{
	(void)state;
	set_pending_gpus(1);
	api.statuses[0] = 403;
	run_pass(NULL);
	assert_int_equal(api.patches, 1);
	assert_int_equal(seen.err.kind, ERR_DENIED);
	assert_false(seen.patched);
}

#define UNNEEDED                                                                                   \
	"{'launches': [{'group': 'gpu', 'replicas': 1, 'baseReplicas': 1, 'unjoined': 1,"          \
	" 'unneeded': 1, 'unneededSince': '2026-01-01T00:00:00Z'}]}"

/* An unneeded launch is cancelled after its Pod was read again. */
static void test_unneeded_launch_is_cancelled(void **state)
{
	(void)state;
	seen.cluster = api.cluster = CLUSTER("1");
	seen.pods = api.pods = LIST(HEAD_POD "," PENDING_POD);
	run_pass(UNNEEDED);
	assert_int_equal(api.lists, 1);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "demo-worker"));
}

/* The cache has Pending, the API server a running container: the worker may be busy by now. */
static void test_launch_that_has_started_stays(void **state)
{
	(void)state;
	seen.cluster = api.cluster = CLUSTER("1");
	seen.pods = LIST(HEAD_POD "," PENDING_POD);
	api.pods = LIST(HEAD_POD "," POD("demo-worker", "worker", "gpu", JUST_STARTED));
	run_pass(UNNEEDED);
	assert_int_equal(api.lists, 1);
	assert_int_equal(api.patches, 0);
}

#define VERSIONED(name, type, version, status)                                                     \
	"{'metadata': {'name': '" name "', 'namespace': 'a', 'resourceVersion': '" version         \
	"', 'labels': {'ray.io/cluster': 'demo', 'ray.io/node-type': '" type                       \
	"', 'ray.io/group': 'gpu'}}, 'spec': {'containers': [{'name': 'ray-worker'}]},"            \
	" 'status': " status "}"
#define CACHED_HEAD VERSIONED("demo-head", "head", "3", RUNNING)
#define CACHED_WORKER VERSIONED("demo-worker", "worker", "4", "{'phase': 'Pending'}")
#define PAGE(token, pods)                                                                          \
	"{'kind': 'PodList', 'metadata': {'resourceVersion': '9', 'continue': '" token             \
	"'}, 'items': [" pods "]}"

static const char *second_page; /* of the list of Pods */

static const char *page_of(const char *path)
{
	assert_non_null(strstr(path, "limit=500"));
	assert_non_null(strstr(path, "labelSelector=ray.io%2Fcluster%3Ddemo"));
	return strstr(path, "continue=x%2F1") ? second_page : PAGE("x/1", CACHED_HEAD);
}

static void verify_pages(const char *second)
{
	seen.cluster = api.cluster = CLUSTER("1");
	seen.pods = LIST(CACHED_HEAD "," CACHED_WORKER);
	api.on_list = page_of;
	second_page = second;
	run_pass(UNNEEDED);
	assert_int_equal(api.lists, 2);
	assert_int_equal(seen.err.kind, ERR_NONE);
}

/* The Pod that the second page has in the version of the cache is that of the cache. */
static void test_pods_are_verified_in_pages(void **state)
{
	(void)state;
	verify_pages(PAGE("", CACHED_WORKER));
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "demo-worker"));
}

static void test_a_newer_version_of_the_second_page_counts(void **state)
{
	(void)state;
	verify_pages(PAGE("", VERSIONED("demo-worker", "worker", "5", JUST_STARTED)));
	assert_int_equal(api.patches, 0);
}

static void test_an_unreadable_pod_is_busy(void **state)
{
	(void)state;
	verify_pages(PAGE("", "{'metadata': {'name': 'demo-worker', 'namespace': 'a', 'labels': "
			      "{'ray.io/cluster': 'demo', 'ray.io/node-type': 'worker', "
			      "'ray.io/group': 'gpu'}}, 'spec': 3}"));
	assert_int_equal(api.patches, 0);
}

/* Which one is to be deleted is unknown then. */
static void test_a_pod_without_a_name_ends_the_pass(void **state)
{
	(void)state;
	seen.cluster = api.cluster = CLUSTER("1");
	seen.pods = LIST(CACHED_HEAD "," CACHED_WORKER);
	api.pods = LIST(CACHED_HEAD ", {'metadata': {}}");
	run_pass(UNNEEDED);
	assert_int_equal(api.patches, 0);
	assert_non_null(strstr(seen.err.text, "list of Pods: metadata.name is missing"));
}

static bool drain_is_asked(void *context)
{
	(void)context;
	return ray.drains > 0;
}

static bool patch_is_sent(void *context)
{
	(void)context;
	return api.patches > 0;
}

static bool state_is_asked(void *context)
{
	(void)context;
	return gcs_bench.gcs.path[0] != '\0';
}

/* The RayCluster is deleted during the pass: no callback, no leak (the sanitizer watches). */
static void test_free_in_every_step(void **state)
{
	(void)state;
	start_pass(NULL);
	pass_free(steal(&seen.pass));

	pass_bench_idle_worker();
	ray.mute_state = true;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, state_is_asked, NULL, WAIT_MS));
	assert_string_equal(pass_step_name(seen.pass), "Reading");
	pass_free(steal(&seen.pass));

	ray.mute_state = false;
	ray.mute_drain = true;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, drain_is_asked, NULL, WAIT_MS));
	assert_string_equal(pass_step_name(seen.pass), "Draining");
	pass_free(steal(&seen.pass));

	ray.mute_drain = false;
	api.statuses[0] = -1;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, patch_is_sent, NULL, WAIT_MS));
	assert_string_equal(pass_step_name(seen.pass), "Patching");
	pass_free(steal(&seen.pass));
	assert_int_equal(seen.endings, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_bench_setup, pass_bench_teardown)

static struct {
	struct buf body;
	struct pass_decision decision;
	_Atomic bool is_freed; /* the pass */
	bool written;
} held;

/* As a page of net/serve, on a thread: after the pass and the objects of the caches were dropped. */
static void write_held(void *context, const struct work_job *job)
{
	(void)context;
	(void)job;
	while (!held.is_freed)
		;
	(void)snapshot_write(held.decision.snapshot, &held.body, NULL);
	summary_write_answer(held.decision.snapshot, held.decision.plan, held.decision.summary,
			     &held.body);
}

static void drop_held(void *context)
{
	(void)context;
	held.written = true;
	pass_drop(held.decision.pass);
}

static void hold_decision(void)
{
	static const struct work_functions functions = { write_held, drop_held, drop_held };

	held.decision = seen.decision;
	assert_ptr_equal(pass_hold(held.decision.pass), seen.pass);
	work_start_slow(script.loop, &functions, NULL, 0);
}

static bool is_written(void *context)
{
	(void)context;
	return held.written;
}

static void test_a_held_decision_outlives_its_pass(void **state)
{
	(void)state;
	buf_init(&held.body, 1 << 20);
	seen.on_decided = hold_decision;
	run_pass(NULL);
	pass_free(steal(&seen.pass));
	held.is_freed = true;
	assert_true(loop_wait_until(script.loop, is_written, NULL, 10000));
	assert_false(held.body.overflowed);
	assert_non_null(strstr(held.body.data, "\"kind\": \"Plan\""));
	buf_done(&held.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_demand_is_one_patch),
		TEST(test_a_held_decision_outlives_its_pass),
		TEST(test_nothing_to_do_sends_nothing),
		TEST(test_accepted_drain_is_patched_in_the_same_pass),
		TEST(test_accepted_drain_is_patched_without_memory),
		TEST(test_rejected_drain_keeps_the_worker),
		TEST(test_failed_drain_keeps_the_worker),
		TEST(test_drain_without_answer_keeps_the_worker),
		TEST(test_silent_gcs_is_no_idle_cluster),
		TEST(test_stale_caches_remove_nothing),
		TEST(test_stale_caches_still_scale_up),
		TEST(test_caches_stale_after_an_accepted_drain),
		TEST(test_a_patch_after_an_accepted_drain_is_tried_again),
		TEST(test_a_patch_that_fails_is_left_to_the_next_pass),
		TEST(test_conflict_reads_afresh_and_decides_again),
		TEST(test_a_grant_bounds_the_patch),
		TEST(test_a_grant_that_comes_with_the_ask),
		TEST(test_a_refused_patch_is_passed_on),
		TEST(test_endless_conflict_gives_up),
		TEST(test_refused_patch_is_an_error),
		TEST(test_unneeded_launch_is_cancelled),
		TEST(test_launch_that_has_started_stays),
		TEST(test_pods_are_verified_in_pages),
		TEST(test_a_newer_version_of_the_second_page_counts),
		TEST(test_an_unreadable_pod_is_busy),
		TEST(test_a_pod_without_a_name_ends_the_pass),
		TEST(test_free_in_every_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
