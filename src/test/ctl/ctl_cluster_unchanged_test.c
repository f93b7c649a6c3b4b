/* ctl/cluster while its cluster rests: Ray is read each second and nothing is decided, until something
 * changes or a worker has been idle for too long. And after idle termination has suspended it. */
#include "ctl/cluster.h"

#include "ctl/queue/scan_pace.h"
#include "ctl/queue/work_queue.h"
#include "ctl/report/metrics.h"
#include "ctl/watch/events.h"
#include "kube/kube_informer.h"
#include "test/support/control_wait.h"
#include "test/support/pass_bench.h"

#define REPORT_MS 5000
#define LIST_OF(items) "{'metadata': {'resourceVersion': '9'}, 'items': [" items "]}"

#define IDLE_TIMEOUT_S 3
#define SECOND_LATER_MS 50
#define SCAN_MS 1000
#define PASS_MS 200 /* at most, of the virtual clock */
#define HEAD_POD_AT(port)                                                                          \
	"{'metadata': {'name': 'demo-head', 'namespace': 'a', 'labels': {'ray.io/cluster':"        \
	" 'demo', 'ray.io/node-type': 'head', 'ray.io/group': 'headgroup'}}, 'spec':"              \
	" {'containers': [{'name': 'ray-head', 'ports': [{'name': 'gcs-server',"                   \
	" 'containerPort': " #port "}]}]}, 'status': " RUNNING "}"

#define SUSPENDED(annotation)                                                                      \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 1, 'annotations': {'rayscaler.dev/" annotation           \
	"': '2026-01-01T01:00:00Z'}}, 'spec': {'suspend': true, 'enableInTreeAutoscaling': true,"  \
	" 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec': {'containers': [{'name':"   \
	" 'ray-head'}]}}}, 'workerGroupSpecs': [" GROUP("1") "]}}"

static struct cluster_map map;
static struct cluster *cluster;
static struct scan_pace pace;
static const char *pod_list, *cluster_list;
static char *activity[] = { (char *)"Busy workers on node." };
static struct {
	_Atomic int patches;
	int64_t idle_since_ms; /* of the worker: Ray counts from there; 0: it is not idle */
	int64_t drained_ms;    /* when its drain was asked for */
	unsigned drains;
	unsigned reports;
} at;

static void answer_api(struct exchange *exchange, void *context)
{
	char *body = NULL;

	(void)context;
	if (strcmp(exchange->path, "/apis/ray.io/v1") == 0)
		body = script_text("{'resources': [{'name': 'rayclusters'}]}");
	else if (strstr(exchange->path, "/rayclusters?limit"))
		body = script_text(cluster_list);
	else if (strstr(exchange->path, "/pods?limit"))
		body = script_text(pod_list);
	else if (strcmp(exchange->method, "PATCH") == 0 && ++at.patches)
		body = script_text(CLUSTER("0"));
	if (!body && strstr(exchange->path, "watch=true"))
		exchange_open_stream(exchange);
	if (body)
		exchange_answer(exchange, 200, "", body);
	else
		exchange_hold(exchange);
	memory_free(body);
}

static void before_answer(const char *path)
{
	at.reports += strstr(path, "ReportAutoscalingState") != NULL;
	at.drains += strstr(path, "DrainNode") != NULL;
	if (strstr(path, "DrainNode") && at.drained_ms == 0)
		at.drained_ms = loop_boot_ms();
	cluster_state.cluster_resource_state_version++;
	if (at.idle_since_ms > 0)
		ray_nodes[1].idle_duration_ms = loop_boot_ms() - at.idle_since_ms;
	ray_nodes[2].idle_duration_ms = ray_nodes[1].idle_duration_ms - SECOND_LATER_MS;
}

static bool has_read(void *context)
{
	return ray.reads >= *(const unsigned *)context;
}

static bool has_decided(void *context)
{
	return control_decisions(&control) >= *(const unsigned *)context;
}

static bool has_reported(void *context)
{
	return at.reports >= *(const unsigned *)context;
}

static bool has_patched(void *context)
{
	(void)context;
	return at.patches > 0;
}

static void make_informers(void)
{
	struct kube_informer_options informer = { .type = &kube_type_ray_cluster };

	control.ray_clusters = kube_informer_new(script.client, &informer);
	informer.type = &kube_type_pod;
	control.pods = kube_informer_new(script.client, &informer);
	control.events = events_new(&control);
	assert_true(loop_wait_until(script.loop, control_is_synced, &control, WAIT_MS));
}

static int setup_with(void **state, const char *clusters, const char *workers)
{
	static char pods[2048];

	memset((void *)&at, 0, sizeof(at));
	pace = (struct scan_pace){ .reads_per_second = 0 };
	pass_bench_setup(state);
	(void)snprintf(pods, sizeof(pods), LIST_OF(HEAD_POD_AT(% d) ",%s"),
		       gcs_bench.gcs.server.port, workers);
	pod_list = pods;
	cluster_list = clusters;
	api.all = answer_api;
	ray.before = before_answer;
	set_idle_worker();
	ray_nodes[1].idle_duration_ms = 0;
	ray_nodes[1].status = RAY__NODE_STATUS__RUNNING;
	ray_nodes[1].n_available_resources = 1;
	options.settings.idle_timeout_seconds = IDLE_TIMEOUT_S;
	options.scan_interval_seconds = 1;
	control.queue = work_queue_new(script.loop);
	control.pace = &pace;
	control.metrics = metrics_new(0);
	make_informers();
	map = clusters_new();
	cluster = cluster_make(&map, &control, "a", "demo");
	return 0;
}

/* The worker has its GPU in use. */
static int setup_cluster(void **state)
{
	return setup_with(state, LIST_OF(CLUSTER("1")), WORKER_POD);
}

static int setup_paced(void **state)
{
	(void)setup_cluster(state);
	pace.reads_per_second = 200;
	return 0;
}

/* One of two replicas has no Pod: the cluster is awake, and Nodes and Events matter. */
static int setup_missing(void **state)
{
	(void)setup_with(state, LIST_OF(CLUSTER("2")), WORKER_POD);
	pace.reads_per_second = 200;
	return 0;
}

static int setup_two_workers(void **state)
{
	(void)setup_with(state, LIST_OF(CLUSTER("2")), WORKER_POD "," SECOND_POD);
	set_second_worker();
	return 0;
}

static int setup_ending(void **state)
{
	return setup_with(state, LIST_OF(SUSPENDED("suspended-by-idle-termination")), WORKER_POD);
}

static int setup_suspended(void **state)
{
	return setup_with(state, LIST_OF(SUSPENDED("note")), WORKER_POD);
}

static int teardown_cluster(void **state)
{
	cluster_map_done(&map);
	assert_true(work_stop(script.loop, WAIT_MS)); /* decisions read what the caches hold */
	assert_int_equal(pace.clusters[SCAN_AWAKE] + pace.clusters[SCAN_ASLEEP], 0);
	work_queue_free(control.queue);
	metrics_free(control.metrics);
	events_free(control.events);
	kube_informer_free(control.ray_clusters);
	kube_informer_free(control.pods);
	return pass_bench_teardown(state);
}

static void until(bool (*predicate)(void *context), unsigned count)
{
	assert_true(loop_wait_until(script.loop, predicate, &count, WAIT_MS));
}

/* The second report is sooner, at a time of the cluster's own; then each follows after
 * REPORT_MS. */
static void at_rest_only_the_report_wants_a_decision(void **state)
{
	unsigned reads;

	(void)state;
	until(has_reported, 1);
	assert_int_equal(control_decisions(&control), 1);
	until(has_reported, 2);
	assert_int_equal(control_decisions(&control), 2);
	assert_in_range(ray.reads, 2, 7);
	reads = ray.reads;
	until(has_reported, 3);
	assert_int_equal(control_decisions(&control), 3);
	assert_in_range(ray.reads - reads, 5, 6);
}

static void what_ray_says_anew_is_decided_at_once(void **state)
{
	unsigned reads;

	(void)state;
	until(has_read, 2);
	assert_int_equal(control_decisions(&control), 1);
	ray_nodes[1].n_node_activity = 1;
	ray_nodes[1].node_activity = activity;
	reads = ray.reads + 1;
	until(has_decided, 2);
	assert_int_equal(ray.reads, reads);
}

static void what_wakes_the_cluster_is_decided_at_once(void **state)
{
	unsigned reads;

	(void)state;
	until(has_read, 2);
	assert_int_equal(control_decisions(&control), 1);
	reads = ray.reads + 1;
	cluster_wake(cluster);
	until(has_decided, 2);
	assert_int_equal(ray.reads, reads);
}

/* Ray's replies differ only in the idle duration, which still ends at the timeout. */
static void an_idle_worker_goes_in_time(void **state)
{
	int64_t idle_ms;

	(void)state;
	at.idle_since_ms = loop_boot_ms();
	ray_nodes[1].status = RAY__NODE_STATUS__IDLE;
	ray_nodes[1].n_available_resources = 2;
	until(has_patched, 0);
	idle_ms = at.drained_ms - at.idle_since_ms;
	assert_in_range(idle_ms, IDLE_TIMEOUT_S * 1000, REPORT_MS - 1);
	assert_in_range(control_decisions(&control), 2,
			4); /* the first, the one that drained, the one that patched */
}

/* Its worker has work, and nothing changes. */
static void an_awake_cluster_is_read_more_often(void **state)
{
	int64_t begin_ms;
	unsigned reads;

	(void)state;
	until(has_decided, 1);
	assert_int_equal(pace.clusters[SCAN_AWAKE], 1);
	begin_ms = loop_boot_ms();
	reads = ray.reads + 8;
	until(has_read, reads);
	assert_in_range(loop_boot_ms() - begin_ms, 650, 3000);
	assert_int_equal(control_decisions(&control), 1);
}

/* Ray is read ten times a second, Nodes and Events once. */
static void a_missing_worker_is_decided_once_a_scan_interval(void **state)
{
	unsigned reads;

	(void)state;
	until(has_decided, 1);
	reads = ray.reads + 20;
	until(has_read, reads);
	assert_int_equal(pace.clusters[SCAN_AWAKE], 1);
	assert_in_range(control_decisions(&control), 2, 6);
}

/* The second one has been idle for SECOND_LATER_MS less. If Ray is read between the two ends, which one start of 20
 * brings, both are drained one scan interval later. */
static void idle_ends_close_together_are_one_patch(void **state)
{
	(void)state;
	at.idle_since_ms = loop_boot_ms();
	for (int i = 1; i <= 2; i++) {
		ray_nodes[i].status = RAY__NODE_STATUS__IDLE;
		ray_nodes[i].n_available_resources = 2;
	}
	until(has_patched, 0);
	assert_int_equal(at.drains, 2);
	assert_in_range(loop_boot_ms() - at.idle_since_ms, IDLE_TIMEOUT_S * 1000 + SECOND_LATER_MS,
			IDLE_TIMEOUT_S * 1000 + SECOND_LATER_MS + SCAN_MS + PASS_MS);
}

/* Its head lives on, and demand arrives: Ray is read four times in a second. */
static void a_suspended_cluster_is_asked_while_its_head_lives(void **state)
{
	int64_t begin_ms = loop_boot_ms();

	(void)state;
	until(has_read, 5);
	assert_in_range(loop_boot_ms() - begin_ms, 900, 3000);
	assert_int_equal(at.patches, 0);
	set_pending_gpus(1);
	until(has_patched, 0);
}

/* By another client: its Ray is not read. */
static void a_cluster_that_others_suspended_is_not_asked(void **state)
{
	unsigned decisions = 1;

	(void)state;
	until(has_decided, decisions);
	cluster_wake(cluster);
	until(has_decided, decisions + 1);
	assert_int_equal(ray.reads, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_cluster, teardown_cluster)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(at_rest_only_the_report_wants_a_decision),
		TEST(what_ray_says_anew_is_decided_at_once),
		TEST(what_wakes_the_cluster_is_decided_at_once),
		TEST(an_idle_worker_goes_in_time),
		cmocka_unit_test_setup_teardown(an_awake_cluster_is_read_more_often, setup_paced,
						teardown_cluster),
		cmocka_unit_test_setup_teardown(a_missing_worker_is_decided_once_a_scan_interval,
						setup_missing, teardown_cluster),
		cmocka_unit_test_setup_teardown(idle_ends_close_together_are_one_patch,
						setup_two_workers, teardown_cluster),
		cmocka_unit_test_setup_teardown(a_suspended_cluster_is_asked_while_its_head_lives,
						setup_ending, teardown_cluster),
		cmocka_unit_test_setup_teardown(a_cluster_that_others_suspended_is_not_asked,
						setup_suspended, teardown_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
