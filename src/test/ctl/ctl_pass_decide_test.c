/* A decision runs off the loop (ctl/pass/pass_decide.c): events while it waits and runs. */
#include "ctl/pass/pass.h"

#include <semaphore.h>

#include "base/memory.h"
#include "core/model/device.h"
#include "ctl/pass/gpu_share.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/memory_budgets.h"
#include "net/work.h"
#include "test/support/pass_bench.h"

static struct {
	sem_t gate;
	struct work_job *jobs[WORK_JOBS_MAX];
	int ticks;
	struct loop_timer *timer;
} pool;

static void wait_at_gate(void *context, const struct work_job *job)
{
	(void)context;
	(void)job;
	while (sem_wait(&pool.gate) != 0)
		;
}

static void nothing(void *context)
{
	(void)context;
}

/* No decision starts before open_pool. */
static void close_pool(void)
{
	static const struct work_functions functions = { wait_at_gate, nothing, nothing };

	seen.on_view = NULL;
	sem_init(&pool.gate, 0, 0);
	for (size_t i = 0; i < work_at_once(); i++)
		pool.jobs[i] = work_start(script.loop, &functions, NULL);
}

static void open_pool(void)
{
	for (size_t i = 0; i < work_at_once(); i++)
		sem_post(&pool.gate);
}

static bool is_deciding(void *context)
{
	(void)context;
	return !strcmp(pass_step_name(seen.pass), "Deciding");
}

static void tick(void *context)
{
	(void)context;
	if (++pool.ticks < 3)
		loop_timer_start(pool.timer, 0);
}

static bool has_ticked(void *context)
{
	(void)context;
	return pool.ticks >= 3;
}

static void start_deciding(void)
{
	seen.on_view = close_pool; /* the reply has been decoded then */
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, is_deciding, NULL, WAIT_MS));
}

static void test_the_loop_work_queue_while_a_decision_is_made(void **state)
{
	(void)state;
	set_pending_gpus(2);
	start_deciding();
	pool.ticks = 0;
	pool.timer = loop_timer_new(script.loop, tick, NULL);
	tick(NULL);
	assert_true(loop_wait_until(script.loop, has_ticked, NULL, WAIT_MS));
	loop_timer_free(pool.timer);
	assert_int_equal(seen.endings, 0);
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_true(seen.patched);
	assert_int_equal(seen.decisions, 1);
}

/* A plan for a RayCluster that is not there any more is not acted upon. */
static void test_a_change_in_the_meantime_is_decided_on(void **state)
{
	(void)state;
	set_pending_gpus(3);
	start_deciding();
	seen.cluster = "{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name':"
		       " 'demo', 'namespace': 'a', 'generation': 2}, 'spec':"
		       " {'enableInTreeAutoscaling': true, 'suspend': true, 'headGroupSpec':"
		       " {'rayStartParams': {}, 'template': {'spec': {'containers': [{'name':"
		       " 'ray-head'}]}}}, 'workerGroupSpecs': []}}";
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_int_equal(api.patches, 0);
	assert_int_equal(seen.decisions, 1);
	assert_int_equal(seen.views, 2);
}

/* The memory that the decision reads lives until its job has ended: ASan sees the rest. */
static void test_a_pass_is_freed_while_it_is_decided(void **state)
{
	(void)state;
	set_pending_gpus(2);
	start_deciding();
	pass_free(seen.pass);
	seen.pass = NULL;
	open_pool();
	assert_true(work_stop(script.loop, WAIT_MS));
	assert_int_equal(work_count(script.loop), 0);
	assert_int_equal(seen.decisions, 0);
	assert_int_equal(seen.endings, 0);
}

static bool a_job_waits(void *context)
{
	(void)context;
	return work_count(script.loop) > work_at_once();
}

#define LONG_MS (1000 * (int64_t)WAIT_MS)
#define SHAPES 40
#define MANY_SHAPES 1800 /* 0.6 MiB to read, 1.4 MiB to decide on */

static void demand_shapes(size_t count)
{
	static Ray__ResourceRequestByCount pendings[MANY_SHAPES], *all[MANY_SHAPES];
	static Ray__ResourceRequest requests[MANY_SHAPES];
	static Ray__ResourceRequest__ResourcesBundleEntry entries[MANY_SHAPES],
		*bundles[MANY_SHAPES];

	for (size_t i = 0; i < count; i++) {
		ray__resource_request__resources_bundle_entry__init(&entries[i]);
		ray__resource_request__init(&requests[i]);
		ray__resource_request_by_count__init(&pendings[i]);
		entries[i].key = (char *)"CPU";
		entries[i].value = 0.01 * (double)(i + 1);
		bundles[i] = &entries[i];
		requests[i].resources_bundle = &bundles[i];
		requests[i].n_resources_bundle = 1;
		pendings[i].request = &requests[i];
		pendings[i].count = 1;
		all[i] = &pendings[i];
	}
	cluster_state.pending_resource_requests = all;
	cluster_state.n_pending_resource_requests = count;
}

/* The job owns the bytes of the reply and the values decoded from them. */
static void test_a_pass_is_freed_while_its_reply_is_decoded(void **state)
{
	(void)state;
	demand_shapes(MANY_SHAPES); /* a small reply takes no thread */
	close_pool();
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, a_job_waits, NULL, WAIT_MS));
	assert_string_equal(pass_step_name(seen.pass), "Reading");
	pass_free(seen.pass);
	seen.pass = NULL;
	assert_int_equal(work_count(script.loop), work_at_once());
	open_pool();
	assert_true(work_stop(script.loop, WAIT_MS));
	assert_int_equal(seen.endings, 0);
}

/* Enough different bundles for a question after the budget, which is used up before it starts. */
static void test_an_expensive_decision_changes_nothing(void **state)
{
	(void)state;
	demand_shapes(SHAPES);
	run_pass(NULL);
	assert_false(seen.undecided);
	assert_int_equal(seen.undecided_ms, 0);
	assert_true(seen.patched);
	seen.endings = 0;
	options.decision_cpu_budget_ms = -1;
	run_pass("{'templates': []}");
	assert_true(seen.undecided);
	assert_int_equal(seen.undecided_ms, 8000); /* for the status */
	assert_int_equal(seen.cpu_factor, 2);
	assert_false(seen.patched);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(seen.active, "undecided, nothing is changed"));
}

/* It is begun again with the whole budget, and the next one is slow from the start; a short one ends that. */
static void test_a_long_decision_is_made_as_a_slow_job(void **state)
{
	(void)state;
	demand_shapes(SHAPES);
	seen.quick_ms = -1; /* the first question for the budget ends it */
	run_pass(NULL);
	assert_false(seen.undecided);
	assert_true(seen.patched);
	assert_int_equal(seen.decisions, 1);
	assert_int_equal(seen.views, 2);
	assert_int_equal(seen.cost, PASS_SLOW);
	seen.endings = 0;
	run_pass("{'templates': []}");
	assert_int_equal(seen.views, 3);
	assert_int_equal(seen.cost, PASS_SLOW);
	seen.endings = 0;
	seen.quick_ms = LONG_MS;
	run_pass("{'templates': []}");
	assert_int_equal(seen.cost, PASS_QUICK);
}

static void test_a_small_decision_is_made_on_the_loop(void **state)
{
	(void)state;
	set_pending_gpus(2);
	seen.small_ms = LONG_MS;
	seen.on_view = close_pool;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_int_equal(work_count(script.loop), work_at_once());
	assert_true(seen.patched);
	assert_int_equal(seen.decisions, 1);
	assert_int_equal(seen.cost, PASS_SMALL);
	open_pool();
}

/* The view has the devices of all tenants, and this cluster claims none. */
static void test_devices_of_others_take_no_thread(void **state)
{
	struct device_view *view = device_view_new(NULL);
	struct device_view *const *before = control.devices;

	(void)state;
	(void)arena_alloc(&view->arena, 1 << 20);
	view->table = device_table_builtin();
	control.devices = &view;
	set_pending_gpus(2);
	seen.small_ms = LONG_MS;
	seen.on_view = close_pool;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_int_equal(work_count(script.loop), work_at_once());
	assert_true(seen.patched);
	assert_int_equal(seen.cost, PASS_SMALL);
	open_pool();
	pass_free(steal(&seen.pass));
	control.devices = before;
	device_view_drop(view);
}

static const struct pool_terms *no_terms(void *self UNUSED,
					 const struct gpu_share_objects *objects UNUSED,
					 struct arena *arena UNUSED)
{
	return NULL;
}

static bool grant_more(void *self UNUSED, const struct gpu_share_objects *objects UNUSED,
		       const struct plan *plan UNUSED, bool knows_demand UNUSED, time_ms now UNUSED)
{
	return true;
}

/* The patch is one that adds nothing to what is shared. */
static bool fits(void *self UNUSED, const struct gpu_share_objects *objects UNUSED,
		 const struct plan *plan UNUSED)
{
	return true;
}

static void sent(void *self UNUSED, const struct gpu_share_objects *objects UNUSED,
		 const struct plan *plan UNUSED)
{
}

static void answered(void *self UNUSED, const char *namespace_ UNUSED, const char *name UNUSED,
		     const struct err *err UNUSED, int64_t generation UNUSED)
{
}

static void test_a_small_decision_with_new_grants_is_made_on_the_loop(void **state)
{
	static const struct gpu_share_hooks hooks = { .terms = no_terms,
						      .decided = grant_more,
						      .fits = fits,
						      .sent = sent,
						      .answered = answered };
	static const struct gpu_share share = { &hooks, NULL };

	(void)state;
	set_pending_gpus(2);
	control.gpu_share = &share;
	seen.small_ms = LONG_MS;
	seen.on_view = close_pool;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	control.gpu_share = NULL;
	assert_int_equal(work_count(script.loop), work_at_once());
	assert_true(seen.patched);
	assert_int_equal(seen.decisions, 1);
	assert_int_equal(seen.views, 2);
	open_pool();
}

/* All places of slow jobs are taken until open_pool. */
static void take_slow_places(void)
{
	static const struct work_functions functions = { wait_at_gate, nothing, nothing };

	sem_init(&pool.gate, 0, 0);
	for (size_t i = 0; i < work_slow_at_once(); i++)
		(void)work_start_slow(script.loop, &functions, NULL, 0);
}

/* It is begun again as a quick job, and so is the next one of its cluster. */
static void test_a_small_decision_that_takes_long_leaves_the_loop(void **state)
{
	(void)state;
	demand_shapes(SHAPES);
	take_slow_places();
	seen.small_ms = -1; /* the first question for the budget ends it */
	run_pass(NULL);
	assert_false(seen.undecided);
	assert_true(seen.patched);
	assert_int_equal(seen.decisions, 1);
	assert_int_equal(seen.views, 2);
	assert_int_equal(seen.cost, PASS_QUICK);
	seen.endings = 0;
	run_pass("{'templates': []}");
	assert_int_equal(seen.views, 3);
	open_pool();
}

static void expect_a_thread(void)
{
	assert_true(loop_wait_until(script.loop, a_job_waits, NULL, WAIT_MS));
	assert_true(is_deciding(NULL));
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
}

/* Few Pods and requests, and much in one of its objects: its list may be in any field. */
static void test_a_cluster_with_a_large_object_is_decided_on_a_thread(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

	(void)state;
	set_pending_gpus(2);
	buf_add_string(&text, "{'kind': 'PodList', 'metadata': {}, 'items': [" HEAD_POD
			      ",{'metadata': {'name': 'w', 'namespace': 'a', 'annotations': {"
			      "'note': '");
	for (int i = 0; i < 200000; i++)
		buf_add_char(&text, 'a');
	buf_add_string(&text, "'}}}]}");
	seen.pods = buf_string(&text);
	seen.small_ms = LONG_MS;
	seen.cost = PASS_SMALL;
	seen.on_view = close_pool;
	start_pass(NULL);
	expect_a_thread();
	assert_true(seen.patched);
}

static void close_at_second_view(void)
{
	if (seen.views == 2)
		close_pool();
}

/* A page of Pods to verify is decoded beside the loop; the pass may be freed meanwhile. */
static void verify_large_page(struct buf *text)
{
	seen.cluster = api.cluster =
		"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"
		" 'namespace': 'a', 'generation': 1}, 'spec': {'enableInTreeAutoscaling': true,"
		" 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec': {'containers':"
		" [{'name': 'ray-head'}]}}}, 'workerGroupSpecs': [" GROUP("1") "]}}";
	seen.pods = LIST(HEAD_POD "," PENDING_POD);
	buf_add_string(text, "{'kind': 'PodList', 'metadata': {}, 'items': [" HEAD_POD
			     "," PENDING_POD "], 'note': '");
	for (int i = 0; i < 40000; i++)
		buf_add_char(text, 'a');
	buf_add_string(text, "'}");
	api.pods = buf_string(text);
	seen.on_view = close_at_second_view;
	start_pass("{'launches': [{'group': 'gpu', 'replicas': 1, 'baseReplicas': 1, 'unjoined': 1,"
		   " 'unneeded': 1, 'unneededSince': '2026-01-01T00:00:00Z'}]}");
	assert_true(loop_wait_until(script.loop, a_job_waits, NULL, WAIT_MS));
	assert_string_equal(pass_step_name(seen.pass), "Verifying");
}

static void test_pods_are_decoded_on_a_thread(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

	(void)state;
	verify_large_page(&text);
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_int_equal(api.patches, 1);
}

/* Pods to verify: the text of their page, and those that the caches do not have. */
static void test_a_page_of_pods_is_charged(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);
	struct memory_budgets memory;
	size_t page;

	(void)state;
	memory_budgets_init(&memory, &options, (size_t)1000 << 20);
	memory.root->measure = NULL; /* without the heap of this test */
	control.memory = &memory;
	verify_large_page(&text);
	page = budget_used(memory.root);
	assert_true(page > text.size);
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_true(budget_peak(memory.root) > page);
	pass_free(steal(&seen.pass));
	control.memory = NULL;
	memory_budgets_done(&memory);
}

static const char *large_cluster(struct arena *arena)
{
	char *note = arena_alloc(arena, 100001);

	memset(note, 'a', 100000);
	return arena_printf(arena,
			    "{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name':"
			    " 'demo', 'namespace': 'a', 'generation': 2, 'annotations': {'note':"
			    " '%s'}}, 'spec': {'enableInTreeAutoscaling': true, 'headGroupSpec':"
			    " {'rayStartParams': {}, 'template': {'spec': {'containers': [{'name':"
			    " 'ray-head'}]}}}, 'workerGroupSpecs': []}}",
			    note);
}

static bool is_patching(void *context)
{
	return !strcmp(pass_step_name(seen.pass), "Patching") && a_job_waits(context);
}

/* The large RayCluster that the API server answers a patch with. */
static void test_an_answer_is_decoded_on_a_thread(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	set_pending_gpus(2);
	api.cluster = large_cluster(&arena);
	seen.on_decided = close_pool;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, is_patching, NULL, WAIT_MS));
	assert_int_equal(api.patches, 1);
	assert_int_equal(seen.endings, 0);
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_true(seen.patched);
	assert_int_equal(seen.generation, 2);
}

static void test_a_pass_is_freed_while_pods_are_decoded(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

	(void)state;
	verify_large_page(&text);
	pass_free(seen.pass);
	seen.pass = NULL;
	open_pool();
	assert_true(work_stop(script.loop, WAIT_MS));
	assert_int_equal(seen.endings, 0);
}

/* Its decisions were small until its last one. */
static void test_a_cluster_that_has_grown_is_decided_on_a_thread(void **state)
{
	(void)state;
	demand_shapes(MANY_SHAPES);
	seen.small_ms = LONG_MS;
	seen.cost = PASS_SMALL;
	seen.on_view = close_pool;
	start_pass(NULL);
	expect_a_thread();
}

static void close_pool_later(void)
{
	seen.on_view = close_pool;
}

/* After a drain. */
static void test_the_second_decision_of_a_pass_takes_a_thread(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	seen.small_ms = LONG_MS;
	seen.on_view = close_pool_later;
	start_pass(NULL);
	expect_a_thread();
	assert_int_equal(seen.views, 2);
}

/* All places of slow jobs are taken: quick decisions run, slow ones wait. */
static void test_slow_decisions_do_not_delay_quick_ones(void **state)
{
	(void)state;
	set_pending_gpus(2);
	take_slow_places();
	seen.cost = PASS_QUICK;
	run_pass(NULL);
	assert_true(seen.patched);
	seen.endings = 0;
	seen.cost = PASS_SLOW;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, is_deciding, NULL, WAIT_MS));
	assert_int_equal(work_count(script.loop), work_slow_at_once() + 1);
	assert_int_equal(seen.endings, 0);
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
}

static bool a_place_is_waited_for(void *context)
{
	(void)context;
	return is_deciding(NULL) && work_count(script.loop) > work_slow_at_once() + 1;
}

/* One whose budget has grown takes no place of slow jobs: it needs none, and where another one runs already,
 * it waits for one with the usual budget. */
static void test_a_grown_decision_delays_no_other(void **state)
{
	static const struct work_functions functions = { wait_at_gate, nothing, nothing };

	(void)state;
	set_pending_gpus(2);
	take_slow_places();
	seen.cpu_factor = 2;
	run_pass(NULL);
	assert_true(seen.patched);
	assert_int_equal(seen.cpu_factor, 1);
	assert_int_equal(work_count(script.loop), work_slow_at_once());
	seen.endings = 0;
	seen.cost = PASS_SLOW;
	seen.cpu_factor = 2;
	(void)work_start_long(script.loop, &functions, NULL);
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, a_place_is_waited_for, NULL, WAIT_MS));
	assert_int_equal(seen.endings, 0);
	open_pool();
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
}

/* A state that fits in the memory of a pass, and a decision that does not. */
static void test_a_decision_without_memory_changes_nothing(void **state)
{
	struct memory_budgets memory;
	const struct budget *all;

	(void)state;
	demand_shapes(MANY_SHAPES);
	memory_budgets_init(&memory, &options, (size_t)200 << 20);
	control.memory = &memory;
	all = memory.root;
	options.decision_cpu_budget_ms = 60000;
	options.max_pass_memory_mib = 1;
	run_pass(NULL);
	assert_true(seen.ray_reached);
	assert_true(seen.undecided);
	assert_false(seen.patched);
	assert_non_null(strstr(seen.active,
			       "the decision needs more than the 1 MiB of memory for one "
			       "pass (--max-pass-memory); raise that flag"));
	assert_true(all->peak_bytes <= (size_t)1 << 20);
	seen.endings = 0;
	options.max_pass_memory_mib = 80;
	run_pass("{'templates': []}");
	assert_false(seen.undecided);
	assert_true(seen.patched);
	pass_free(steal(&seen.pass));
	assert_int_equal(all->used_bytes, 0);
	memory_budgets_done(&memory);
	control.memory = NULL;
}

static struct budget *hog;

static void take_all(void)
{
	seen.on_view = NULL;
	(void)budget_take(hog, (size_t)300 << 20);
}

/* Others have all of it: the next reading decides, as it is not known that it would find as little. */
static void test_a_decision_that_others_leave_no_memory_does_not_rest(void **state)
{
	struct memory_budgets memory;

	(void)state;
	set_pending_gpus(2);
	memory_budgets_init(&memory, &options, (size_t)200 << 20);
	control.memory = &memory;
	hog = budget_children_get(&memory.passes, "hog");
	seen.on_view = take_all;
	run_pass(NULL);
	assert_non_null(strstr(seen.active, "the decision got no memory"));
	assert_false(seen.patched);
	assert_false(seen.undecided);
	assert_int_equal(seen.undecided_ms, 0);
	assert_int_equal(seen.digest, 0);
	pass_free(steal(&seen.pass));
	budget_release(hog, (size_t)300 << 20);
	budget_free(hog);
	memory_budgets_done(&memory);
	control.memory = NULL;
}

/* A test that failed left the pool closed: the end of the loop would wait for its jobs. */
static int teardown(void **state)
{
	seen.on_view = NULL;
	open_pool();
	return pass_bench_teardown(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_bench_setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_loop_work_queue_while_a_decision_is_made),
		TEST(test_a_change_in_the_meantime_is_decided_on),
		TEST(test_a_pass_is_freed_while_it_is_decided),
		TEST(test_a_pass_is_freed_while_its_reply_is_decoded),
		TEST(test_an_expensive_decision_changes_nothing),
		TEST(test_a_long_decision_is_made_as_a_slow_job),
		TEST(test_a_small_decision_is_made_on_the_loop),
		TEST(test_devices_of_others_take_no_thread),
		TEST(test_a_small_decision_with_new_grants_is_made_on_the_loop),
		TEST(test_a_small_decision_that_takes_long_leaves_the_loop),
		TEST(test_a_cluster_with_a_large_object_is_decided_on_a_thread),
		TEST(test_pods_are_decoded_on_a_thread),
		TEST(test_a_page_of_pods_is_charged),
		TEST(test_an_answer_is_decoded_on_a_thread),
		TEST(test_a_pass_is_freed_while_pods_are_decoded),
		TEST(test_a_cluster_that_has_grown_is_decided_on_a_thread),
		TEST(test_the_second_decision_of_a_pass_takes_a_thread),
		TEST(test_slow_decisions_do_not_delay_quick_ones),
		TEST(test_a_grown_decision_delays_no_other),
		TEST(test_a_decision_without_memory_changes_nothing),
		TEST(test_a_decision_that_others_leave_no_memory_does_not_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
