/* feature/repair/ctl against an API server with Pods and DrainRequests. */
#include "feature/repair/ctl/drainer.h"

#include "codec/objects/pod_json.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics_text.h"
#include "ctl/shared/control.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "ctl/watch/nodes.h"
#include "feature/repair/core/repair.h"
#include "kube/kube_informer.h"
#include "test/support/feature_alone.h"
#include "test/support/kube_script.h"
#include "test/support/metrics_lines.h"

#define LIST_OF(items) "{'metadata':{'resourceVersion':'9'},'items':[" items "]}"
#define POD(name, node, phase)                                                                     \
	"{'metadata':{'namespace':'a','name':'" name                                               \
	"','resourceVersion':'1','labels':{'ray.io/cluster':'demo','ray.io/node-type':'worker',"   \
	"'ray.io/group':'g'}},'spec':{'nodeName':'" node                                           \
	"','containers':[{'name':'w'}]},'status':{'phase':'" phase "'}}"
#define REQUEST(name, node, conditions)                                                            \
	"{'metadata':{'namespace':'nvsentinel','name':'" name                                      \
	"','uid':'u','resourceVersion':'3','creationTimestamp':'2026-11-20T10:00:00Z'},'spec':{"   \
	"'nodeName':'" node "','reason':'double bit error'},'status':{'conditions':[" conditions   \
	"]}}"
#define OF_PODS(name, node, members)                                                               \
	"{'metadata':{'namespace':'nvsentinel','name':'" name                                      \
	"','uid':'u','resourceVersion':'3'},'spec':{'nodeName':'" node "','podsToDrain':{" members \
	"}}}"
#define NODE                                                                                       \
	"{'metadata':{'name':'n1'},'status':{'conditions':[{'type':'SysLogsXIDError','status':"    \
	"'True','message':'Xid 79','lastTransitionTime':'2026-11-20T10:00:00Z'}]}}"
#define NODE_SINCE (1795168800 * MS_PER_SECOND) /* 2026-11-20T10:00:00Z */
#define OTHER                                                                                      \
	"{'type':'Seen','status':'True','lastTransitionTime':'2026-11-20T10:00:00Z','reason':'R'," \
	"'message':'m'}"
#define PATCH(name)                                                                                \
	"PATCH /apis/nvsentinel.nvidia.com/v1alpha1/namespaces/nvsentinel/drainrequests/" name

static struct kube_script script;
static struct options options;
static struct control control;
static struct arena arena;
static void *drainer;
static const char *pods, *requests;
static int status;
static char sent[2048]; /* the body of the last patch */
static _Atomic int patches;
static int woken;
static bool other_is_woken;

static bool wake(void *context, const char *namespace_, const char *name)
{
	(void)context;
	assert_string_equal(namespace_, "a");
	assert_string_equal(name, other_is_woken ? "other" : "demo");
	woken++;
	return true;
}

static const char *answer(const char *path)
{
	if (strncmp(path, "/api/v1?", 8) == 0)
		return "{'resources':[{'name':'pods'}]}";
	if (strstr(path, "/pods"))
		return pods;
	if (strstr(path, "/rayclusters"))
		return LIST_OF("{'metadata':{'namespace':'a','name':'demo'},'spec':{}}");
	if (strstr(path, "/nodes"))
		return LIST_OF(NODE);
	if (strstr(path, "/drainrequests"))
		return requests;
	return "{'resources':[{'name':'nodes'},{'name':'drainrequests'},{'name':'rayclusters'}]}";
}

static void serve(struct exchange *exchange, void *context)
{
	AUTO(memory_free_string) char *text = NULL;

	(void)context;
	if (strcmp(exchange->method, "PATCH") == 0) {
		snprintf(sent, sizeof(sent), "%s", exchange->body);
		patches++;
		exchange_answer(exchange, status, "", "{}");
		return;
	}
	if (strstr(exchange->path, "watch=true")) {
		exchange_open_stream(exchange);
		exchange_hold(exchange);
		return;
	}
	text = script_text(answer(exchange->path));
	exchange_answer(exchange, 200, "", text);
}

static struct kube_informer *watch(const struct kube_type *type)
{
	return kube_informer_new(script.client, &(struct kube_informer_options){ .type = type });
}

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	patches = woken = 0;
	other_is_woken = false;
	status = 200;
	pods = LIST_OF("");
	script_start(&script, serve, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	options.settings.repair_drain_requests = true;
	control = (struct control){
		.loop = script.loop, .kube = script.client, .options = &options, .wake = wake
	};
	drainer = alone_begin(&repair_feature, &control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	alone_end();
	nodes_free(control.nodes);
	kube_informer_free(control.pods);
	kube_informer_free(control.ray_clusters);
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

static bool is_read(void *context)
{
	(void)context;
	return control_synced(&control);
}

/* The Pods are read before the DrainRequests. */
static void start(void)
{
	control.pods = watch(&kube_type_pod);
	control.ray_clusters = watch(&kube_type_ray_cluster);
	assert_true(loop_wait_until(script.loop, is_read, NULL, WAIT_MS));
	repair_feature.start(drainer);
}

static bool has_patched(void *context)
{
	return patches >= *(const int *)context;
}

static void await_patches(int count)
{
	assert_true(loop_wait_until(script.loop, has_patched, &count, WAIT_MS));
	assert_int_equal(patches, count);
}

static bool has_woken(void *context)
{
	(void)context;
	return woken > 0;
}

static void test_an_empty_node_completes_its_request(void **state)
{
	(void)state;
	pods = LIST_OF(POD("w-1", "n1", "Running") "," POD("w-2", "n2", "Failed"));
	requests = LIST_OF(REQUEST("d1", "n1", "") "," REQUEST("d2", "n2", OTHER));
	start();
	await_patches(1);
	assert_int_equal(server_count(script.server, PATCH("d1")), 0);
	assert_int_equal(server_count(script.server, PATCH("d2/status")), 1);
	assert_non_null(strstr(sent, "\"resourceVersion\": \"3\""));
	assert_non_null(strstr(sent, "\"type\": \"Seen\""));
	assert_non_null(strstr(sent, "\"type\": \"DrainComplete\", \"status\": \"True\""));
}

static void test_a_complete_request_is_left_alone(void **state)
{
	(void)state;
	requests =
		LIST_OF(REQUEST("d1", "n1", "{'type':'DrainComplete','status':'True'}") "," REQUEST(
			"d2", "n2", ""));
	start();
	await_patches(1);
	assert_int_equal(server_count(script.server, PATCH("d1")), 0);
}

/* With podsToDrain the others do not count; a Pod that is elsewhere now, or has ended, is drained. */
static void test_a_request_of_pods_waits_for_these_alone(void **state)
{
	(void)state;
	pods = LIST_OF(POD("w-1", "n1", "Running") "," POD("w-2", "n2", "Running") "," POD(
		"w-3", "", "Pending"));
	requests = LIST_OF(OF_PODS("d1", "n1", "'a':['w-1','w-9']") "," OF_PODS(
		"d2", "n1", "'b':['w-1'],'a':['w-2']") "," OF_PODS("d3", "n1",
								   "") "," REQUEST("d4", "", ""));
	start();
	await_patches(2);
	assert_int_equal(server_count(script.server, PATCH("d2/status")), 1);
	assert_int_equal(server_count(script.server, PATCH("d3/status")), 1);
}

/* Two of one Node, of which each asks for a Pod. */
static void test_all_requests_of_a_node_are_in_the_snapshot(void **state)
{
	const struct pod pod = { .name = "w-1", .spec = { .node_name = "n1" } };
	const struct pod *list[] = { &pod };
	const struct ray_cluster cluster = { .namespace_ = "a", .name = "demo" };
	struct snapshot snapshot = { .pods = list, .pod_count = 1 };

	(void)state;
	pods = LIST_OF(POD("w-1", "n1", "Running") "," POD("w-2", "n1", "Running"));
	requests =
		LIST_OF(OF_PODS("d1", "n1", "'a':['w-1']") "," OF_PODS("d2", "n1", "'a':['w-2']"));
	start();
	assert_true(loop_wait_until(script.loop, has_woken, NULL, WAIT_MS));
	repair_feature.observe(drainer, &cluster, &arena, &snapshot);
	assert_int_equal(snapshot.drain_request_count, 2);
	assert_true(snapshot.drain_requests[0].has_pods);
	assert_string_equal(snapshot.drain_requests[0].pods[0].namespace_, "a");
	assert_string_equal(snapshot.drain_requests[0].pods[0].names.at[0], "w-1");
}

static void test_its_clusters_decide_with_it(void **state)
{
	const struct pod pod = { .name = "w-1", .spec = { .node_name = "n1" } };
	const struct pod *list[] = { &pod, &pod };
	const struct ray_cluster cluster = { .namespace_ = "a", .name = "demo" };
	struct snapshot snapshot = { .pods = list, .pod_count = 2 };

	(void)state;
	pods = LIST_OF(POD("w-1", "n1", "Running"));
	requests = LIST_OF(REQUEST("d1", "n1", "") "," REQUEST("d3", "n3", ""));
	start();
	assert_true(loop_wait_until(script.loop, has_woken, NULL, WAIT_MS));
	await_patches(1); /* of d3 */
	repair_feature.observe(drainer, &cluster, &arena, &snapshot);
	assert_int_equal(snapshot.drain_request_count, 1);
	assert_string_equal(snapshot.drain_requests[0].name, "d1");
	assert_string_equal(snapshot.drain_requests[0].reason, "double bit error");
}

/* One of them is for the Node of another. */
static void test_a_refusal_does_not_keep_others_waiting(void **state)
{
	(void)state;
	status = 403;
	requests = LIST_OF(
		REQUEST("d1", "n1", "") "," REQUEST("d2", "n1", "") "," REQUEST("d3", "n2", ""));
	start();
	await_patches(3);
	assert_int_equal(server_count(script.server, PATCH("d1/status")), 1);
	assert_int_equal(server_count(script.server, PATCH("d2/status")), 1);
	assert_int_equal(server_count(script.server, PATCH("d3/status")), 1);
}

/* A decision on a RayCluster that may empty a Node by its own limit. */
static void decide_on(const char *cluster, const char *node, time_ms since)
{
	struct repair_node one = {
		.node = node, .state = REPAIR_STATE_WAITS, .since = since, .asks = true
	};
	struct plan_repair repair = { .nodes = { .at = &one, .count = 1 } };
	struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = cluster } };
	const struct plan plan = { .repair = &repair };

	repair_feature.decided(drainer,
			       &(struct pass_decision){ .plan = &plan, .snapshot = &snapshot });
}

static size_t grants_of(const char *cluster)
{
	const struct ray_cluster of = { .namespace_ = "a", .name = cluster };
	struct snapshot snapshot = { .pods = NULL };

	repair_feature.observe(drainer, &of, &arena, &snapshot);
	assert_true(snapshot.repair_grants_known);
	return snapshot.repair_grants.count;
}

static void test_one_node_of_all_ray_clusters_is_granted(void **state)
{
	(void)state;
	requests = LIST_OF("");
	start();
	decide_on("other", "n2", 2000);
	decide_on("demo", "n1", 1000);
	assert_int_equal(grants_of("demo"), 0);
	assert_true(loop_wait_until(script.loop, has_woken, NULL, WAIT_MS));
	assert_int_equal(grants_of("demo"), 1);
	assert_int_equal(grants_of("other"), 0);
	features_forget(alone, "a", "demo"); /* the RayCluster is deleted */
	other_is_woken = true;
	woken = 0;
	assert_true(loop_wait_until(script.loop, has_woken, NULL, WAIT_MS));
	assert_int_equal(grants_of("other"), 1);
}

/* The hint of --repair-conditions, which `start` logs. */
static void test_a_misspelt_condition_is_hinted_at(void **state)
{
	char hint[NEAREST_HINT_SIZE];

	(void)state;
	assert_string_equal(repair_condition_hint("SysLogXIDError", hint),
			    "; did you mean SysLogsXIDError?");
	assert_string_equal(repair_condition_hint("xidcriticalerror=True", hint),
			    "; did you mean XidCriticalError?");
	assert_string_equal(repair_condition_hint("SysLogsXIDError", hint), "");
	assert_string_equal(repair_condition_hint("Ready=Unknown", hint), "");
	assert_string_equal(repair_condition_hint("KernelDeadlock", hint), "");
	assert_string_equal(repair_condition_hint("", hint), "");
}

/* ---- failed workers ---- */

/* `members`: of the status of the Pod. */
static struct pod worker(const char *name, const char *node, const char *members)
{
	AUTO(memory_free_string)
	char *text = script_text(arena_printf(
		&arena,
		"{'metadata':{'namespace':'a','name':'%s','labels':{'ray.io/cluster':'demo',"
		"'ray.io/node-type':'worker','ray.io/group':'g'}},'spec':{'nodeName':'%s',"
		"'containers':[{'name':'ray','resources':{'limits':{'nvidia.com/gpu':'2'}}}]},'status':{%s}}",
		name, node, members));
	struct pod pod;
	struct err err;

	assert_int_equal(pod_decode_text(text, strlen(text), NULL, &arena, &pod, &err), 0);
	return pod;
}

#define FAILED                                                                                     \
	"'phase':'Failed','containerStatuses':[{'name':'ray','state':{'terminated':{'exitCode':1," \
	"'finishedAt':'2026-11-20T10:00:40Z'}}}]"

static void fail_worker(const char *name, const char *node, const char *status_after)
{
	const struct pod old = worker(name, node, "'phase':'Running'");
	const struct pod new = worker(name, node, status_after);

	repair_feature.pod_changed(drainer, &old, &new);
}

static struct snapshot observed(void)
{
	const struct ray_cluster of = { .namespace_ = "a", .name = "demo" };
	struct snapshot snapshot = { .pods = NULL };

	repair_feature.observe(drainer, &of, &arena, &snapshot);
	return snapshot;
}

/* w-drained is drained by the last decision. */
static void decide_on_drained(void)
{
	struct plan_worker drained = { .pod = "w-drained", .state = WORKER_DRAINING };
	struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = "demo" } };
	const struct plan plan = { .workers = { .at = &drained, .count = 1 } };

	repair_feature.decided(drainer,
			       &(struct pass_decision){ .plan = &plan, .snapshot = &snapshot });
}

static void test_failed_workers_are_in_the_snapshot(void **state)
{
	struct snapshot snapshot;

	(void)state;
	requests = LIST_OF("");
	start();
	decide_on_drained();
	fail_worker("w-drained", "n1", FAILED);
	fail_worker("w-evicted", "n1",
		    FAILED ",'conditions':[{'type':'DisruptionTarget','status':'True'}]");
	fail_worker("w-1", "n1", "'phase':'Running','message':'m'");
	fail_worker("w-1", "", FAILED);
	assert_int_equal(observed().worker_failure_count, 0);
	fail_worker("w-1", "n1", FAILED);
	fail_worker("w-1", "n1", FAILED);
	snapshot = observed();
	assert_int_equal(snapshot.worker_failure_count, 1);
	assert_string_equal(snapshot.worker_failures[0].group, "g");
	assert_string_equal(snapshot.worker_failures[0].pod, "w-1");
	assert_string_equal(snapshot.worker_failures[0].node, "n1");
	assert_int_equal(snapshot.worker_failures[0].at, NODE_SINCE + 40000);
	assert_non_null(strstr(snapshot.worker_failures[0].message, "exit code 1"));
}

/* A controller that has just started has their Pods alone. */
static void test_failures_before_a_restart_are_read_from_pods(void **state)
{
	const struct pod list[] = {
		worker("w-1", "n1", FAILED),
		worker("w-2", "n2", "'phase':'Failed','reason':'UnexpectedAdmissionError'"),
		worker("w-drained", "n1", FAILED),
	};
	const struct pod *all[] = { &list[0], &list[1], &list[2] };
	struct plan_worker drained = { .pod = "w-drained", .state = WORKER_DRAINING };
	struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = "demo" },
				     .pods = all,
				     .pod_count = 3 };
	const struct plan plan = { .workers = { .at = &drained, .count = 1 } };
	const struct pass_decision decision = { .plan = &plan, .snapshot = &snapshot };

	(void)state;
	requests = LIST_OF("");
	start();
	repair_feature.decided(drainer, &decision);
	assert_int_equal(observed().worker_failure_count, 1); /* w-2 has no time */
	assert_string_equal(observed().worker_failures[0].pod, "w-1");
	assert_int_equal(observed().worker_failures[0].at, NODE_SINCE + 40000);
	all[0] = &list[1];
	all[1] = &list[0];
	plan.workers.at[0].pod = "w-1";
	repair_feature.decided(drainer, &decision); /* the watch has the later ones */
	assert_int_equal(observed().worker_failure_count, 1);
}

/* A crash loop of a thousand workers keeps the last ones. */
static void test_failed_workers_are_bounded(void **state)
{
	bool last = false;
	struct snapshot snapshot;
	struct memory_budgets memory;
	struct budget *budget;
	size_t before;

	(void)state;
	requests = LIST_OF("");
	start();
	memory_budgets_init(&memory, &options, (size_t)200 << 20);
	control.memory = &memory;
	decide_on_drained();
	budget = budget_children_get(&memory.objects, "a");
	before = budget_used(budget);
	for (int i = 0; i < 100; i++)
		fail_worker(arena_printf(&arena, "w-%d", i), "n1", FAILED);
	/* Their texts are charged to the namespace, and small. */
	assert_in_range(budget_used(budget) - before, WORKER_FAILURES_MAX * 64,
			WORKER_FAILURES_MAX * 512);
	features_forget(alone, "a", "demo");
	assert_int_equal(budget_used(budget), 0);
	budget_free(budget);
	control.memory = NULL;
	memory_budgets_done(&memory);
	decide_on_drained();
	for (int i = 0; i < 100; i++)
		fail_worker(arena_printf(&arena, "w-%d", i), "n1", FAILED);
	snapshot = observed();
	assert_int_equal(snapshot.worker_failure_count, WORKER_FAILURES_MAX);
	for (size_t i = 0; i < snapshot.worker_failure_count; i++)
		last = last || strcmp(snapshot.worker_failures[i].pod, "w-99") == 0;
	assert_true(last);
}

static bool knows_nodes(void *context)
{
	(void)context;
	return nodes_known(control.nodes);
}

/* With the sign of its Node, also when no Pod is left there. */
static void test_the_event_of_a_failed_worker_has_the_sign(void **state)
{
	struct snapshot snapshot;
	struct pod failed;

	(void)state;
	requests = LIST_OF("");
	control.features = alone;
	control.nodes = nodes_new(&control);
	start();
	assert_true(loop_wait_until(script.loop, knows_nodes, NULL, WAIT_MS));
	failed = worker("w-1", "n1", FAILED);
	assert_string_equal(repair_feature.pod_note(drainer, &failed, &arena),
			    "its Node n1: condition SysLogsXIDError: Xid 79, 40 s before");
	assert_string_equal(features_pod_note(alone, &failed, &arena),
			    "; its Node n1: condition SysLogsXIDError: Xid 79, 40 s before");
	failed = worker("w-1", "n2", FAILED);
	assert_string_equal(features_pod_note(alone, &failed, &arena), "");
	decide_on_drained();
	fail_worker("w-1", "n1", FAILED);
	snapshot = observed();
	assert_int_equal(snapshot.node_count, 1);
	assert_string_equal(snapshot.nodes[0].name, "n1");
}

static const char *unread(void)
{
	const struct ray_cluster of = { .namespace_ = "a", .name = "demo" };
	struct extra_condition condition;

	if (!repair_feature.condition(drainer, &of, &arena, &condition))
		return "";
	assert_string_equal(condition.type, "RepairUnread");
	assert_true(condition.is_true);
	return condition.message;
}

/* The published taints need no setting. */
static void test_a_setting_without_effect_is_a_condition(void **state)
{
	const struct repair_spec spec = { .deletes = true };
	const struct autoscaler_object object = { .repair = &spec };
	struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = "demo" } };
	const struct plan plan = { .repair = NULL };

	(void)state;
	options.settings.repair_drain_requests = false;
	requests = LIST_OF("");
	start(); /* without a watch of Nodes */
	assert_string_equal(unread(), "");
	options.settings.repair_deletes = true;
	assert_non_null(
		strstr(unread(), "the settings of repair have no effect: Nodes cannot be read"));
	options.settings.repair_deletes = false;
	snapshot.autoscaler = &object;
	repair_feature.decided(drainer,
			       &(struct pass_decision){ .plan = &plan, .snapshot = &snapshot });
	assert_non_null(strstr(unread(), "the settings of repair have no effect"));
	control.features = alone;
	control.nodes = nodes_new(&control);
	assert_true(loop_wait_until(script.loop, knows_nodes, NULL, WAIT_MS));
	assert_string_equal(unread(), "");
	options.settings.repair_drain_requests = true;
	assert_non_null(strstr(unread(), "--repair-drain-requests has no effect"));
}

/* It would be completed, and the Node let go, under the Pods of other namespaces. */
static void test_requests_are_not_read_with_a_namespace(void **state)
{
	(void)state;
	requests = LIST_OF(REQUEST("d1", "n1", ""));
	options.namespace_ = "a";
	start();
	assert_non_null(strstr(unread(), "--repair-drain-requests has no effect with --namespace"));
	control.features = alone;
	control.nodes = nodes_new(&control);
	assert_true(loop_wait_until(script.loop, knows_nodes, NULL, WAIT_MS));
	assert_int_equal(server_count(script.server, "GET /apis/nvsentinel.nvidia.com"), 0);
}

/* Two decisions 10 s apart: the workers on the sick Node, and the GPU time that the idle ones lose. */
static void test_workers_and_lost_gpu_time_are_counted(void **state)
{
	struct repair_node sick = { .node = "n1",
				    .state = REPAIR_STATE_BEGUN,
				    .used = { 1, 1 },
				    .gpus = { 2 * RESOURCE_UNIT, 2 * RESOURCE_UNIT } };
	const struct plan_repair repair = { .nodes = { .at = &sick, .count = 1 } };
	const struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = "demo" } };
	const struct plan plan = { .repair = &repair };
	struct pass_decision decision = { .plan = &plan, .snapshot = &snapshot };
	const struct metrics_cluster cluster = { .of = { "a", "demo", "a/demo" } };
	AUTO(buf_done) struct buf text;

	(void)state;
	requests = LIST_OF("");
	start();
	decision.monotonic_ms = 1000;
	repair_feature.decided(drainer, &decision);
	decision.monotonic_ms = 11000;
	repair_feature.decided(drainer, &decision);
	buf_init(&text, 65536);
	ARRAY_EACH(const struct feature_metric, metric, repair_feature.metrics,
		   repair_feature.metric_count) {
		struct metrics_family family = { .buf = &text, .row = &metric->row };

		metric->write(drainer, &cluster, &family);
	}
#define OF_DEMO(name, rest) name "{namespace=\"a\",raycluster=\"demo\"," rest
	metrics_expect_line(&text, OF_DEMO("rayscaler_workers_on_nodes_to_repair",
					   "state=\"Begun\",use=\"busy\"} 1"));
	metrics_expect_line(&text, OF_DEMO("rayscaler_workers_on_nodes_to_repair",
					   "state=\"Begun\",use=\"idle\"} 1"));
	metrics_expect_line(&text, OF_DEMO("rayscaler_gpu_seconds_on_nodes_to_repair_total",
					   "use=\"busy\"} 20"));
	metrics_expect_line(&text, OF_DEMO("rayscaler_gpu_seconds_on_nodes_to_repair_total",
					   "use=\"idle\"} 20"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_empty_node_completes_its_request, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_complete_request_is_left_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_request_of_pods_waits_for_these_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_all_requests_of_a_node_are_in_the_snapshot,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_its_clusters_decide_with_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_refusal_does_not_keep_others_waiting, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_one_node_of_all_ray_clusters_is_granted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_misspelt_condition_is_hinted_at, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_failed_workers_are_in_the_snapshot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_failures_before_a_restart_are_read_from_pods,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_workers_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_event_of_a_failed_worker_has_the_sign,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_setting_without_effect_is_a_condition, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_requests_are_not_read_with_a_namespace, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_workers_and_lost_gpu_time_are_counted, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
