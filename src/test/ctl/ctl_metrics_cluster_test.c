/* The series of a RayCluster: from a snapshot and its plan to the exposition, their end, and their
 * cost. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/report/summary.h"
#include "ctl/features.h"
#include "ctl/pass/act.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics.h"
#include "ctl/report/metrics_cluster.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "net/loop.h"
#include "test/support/metrics_lines.h"
#include "test/support/support.h"

struct fixture {
	struct options options;
	struct control control;
	struct metrics *metrics;
	struct features *features;
	struct buf text;
	struct arena arena;
	struct snapshot snapshot;
	const struct plan *plan;
	const struct summary *summary;
	bool view_stale;
};

#define HEAD                                                                                       \
	"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: '2026-11-20T10:00:00Z'\n"        \
	"rayCluster:\n"                                                                            \
	"  apiVersion: ray.io/v1\n"                                                                \
	"  metadata: {namespace: team, name: demo}\n"                                              \
	"  spec:\n"
#define SPEC                                                                                       \
	"    headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers:\n"     \
	"      [{name: h, resources: {limits: {memory: 2Gi}}}]}}}\n"                               \
	"    workerGroupSpecs:\n"                                                                  \
	"    - {groupName: gpu, replicas: 3, minReplicas: 1, maxReplicas: 5, template: {spec:\n"   \
	"        {containers: [{name: w, resources: {limits: {cpu: 2, memory: 1Gi,\n"              \
	"        nvidia.com/gpu: 2}}}]}}}\n"
#define POD(name)                                                                                  \
	"- metadata: {namespace: team, name: " name ", labels: {ray.io/cluster: demo,\n"           \
	"    ray.io/node-type: worker, ray.io/group: gpu},\n"                                      \
	"    creationTimestamp: '2026-11-20T09:50:00Z'}\n"                                         \
	"  spec: {containers: [{name: w}], nodeName: n}\n"                                         \
	"  status: {phase: Running, containerStatuses: [{name: w, state: {running:\n"              \
	"    {startedAt: '2026-11-20T09:51:00Z'}}}]}\n"
#define HEAD_NODE                                                                                  \
	"  - {nodeId: AQE=, instanceId: demo-head, rayNodeTypeName: headgroup, status: RUNNING,\n" \
	"     totalResources: {'node:__internal_head__': 1, 'node:10.0.0.1': 1, memory: 1024}}\n"
#define BUSY_NODE                                                                                  \
	"  - {nodeId: AQI=, instanceId: busy, rayNodeTypeName: gpu, status: RUNNING,\n"            \
	"     totalResources: {CPU: 2, GPU: 2, memory: 1024,\n"                                    \
	"       GPU_group_0_0123456789abcdef0123456789abcdef0123: 1},\n"                           \
	"     availableResources: {CPU: 2, GPU: 0.5, memory: 1024}}\n"
#define IDLE_NODE                                                                                  \
	"  - {nodeId: AQM=, instanceId: idle, rayNodeTypeName: gpu, status: IDLE,\n"               \
	"     idleDurationMs: '5000', totalResources: {CPU: 2, GPU: 2, memory: 1024},\n"           \
	"     availableResources: {CPU: 2, GPU: 2, memory: 1024}}\n"
#define DEMAND                                                                                     \
	"  pendingResourceRequests:\n"                                                             \
	"  - {request: {resourcesBundle: {GPU: 2}}, count: '4'}\n"                                 \
	"  - {request: {resourcesBundle: {TPU: 1}}, count: '7'}\n"

static const char working[] = HEAD "    enableInTreeAutoscaling: true\n" SPEC "pods:\n" POD("busy")
	POD("idle") "rayState:\n  clusterSessionName: session_1\n  nodeStates:\n" HEAD_NODE
		BUSY_NODE IDLE_NODE DEMAND;
static const char unreachable[] = HEAD "    enableInTreeAutoscaling: true\n" SPEC
				       "pods:\n" POD("busy") POD("idle");
static const char stale[] = HEAD
	"    enableInTreeAutoscaling: true\n" SPEC
	"pods:\n" POD("busy") "viewProblem: 'Pods: the watch is broken'\n"
			      "rayState:\n  nodeStates:\n" HEAD_NODE BUSY_NODE;
static const char hands_off[] = HEAD "    enableInTreeAutoscaling: false\n" SPEC;

static int setup(void **state)
{
	struct fixture *fixture = memory_alloc(sizeof(*fixture));

	fixture->metrics = metrics_new(0);
	options_init(&fixture->options);
	fixture->control.options = &fixture->options;
	fixture->control.loop = loop_new();
	fixture->features = features_new(&fixture->control, features_listed);
	buf_init(&fixture->text, 1 << 20);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	metrics_free(fixture->metrics);
	features_free(fixture->features);
	loop_free(fixture->control.loop);
	options_done(&fixture->options);
	buf_done(&fixture->text);
	arena_done(&fixture->arena);
	memory_free(fixture);
	return 0;
}

static void decided(struct fixture *fixture, const char *text, int64_t monotonic_ms)
{
	struct pass_decision decision = { .snapshot = &fixture->snapshot };
	struct err err;

	arena_done(&fixture->arena);
	if (snapshot_read(text, strlen(text), &fixture->arena, &fixture->snapshot, &err))
		fail_msg("%s", err.text);
	fixture->plan = decide(&fixture->snapshot, &fixture->arena);
	fixture->summary = summary_of(&fixture->snapshot, fixture->plan, &fixture->arena);
	decision.plan = fixture->plan;
	decision.summary = fixture->summary;
	decision.monotonic_ms = monotonic_ms;
	metrics_decided(fixture->metrics, &decision);
	features_decided(fixture->features, &decision);
}

static void ended(struct fixture *fixture, bool patched, int64_t monotonic_ms)
{
	struct act_scaled_list scaled;
	struct metrics_pass pass = { .seconds = 0.05,
				     .monotonic_ms = monotonic_ms,
				     .failed = !fixture->snapshot.ray_state };

	act_scaled(fixture->plan, &fixture->arena, &scaled);
	if (patched)
		pass.scaled = &scaled;
	metrics_pass_ended(fixture->metrics, "team", "demo", &pass);
}

static void expose(struct fixture *fixture)
{
	const struct metrics_now now = { .view_stale = fixture->view_stale,
					 .features = fixture->features };

	buf_clear(&fixture->text);
	metrics_write(fixture->metrics, &now, &fixture->text);
}

#define DEMO "namespace=\"team\",raycluster=\"demo\""
#define SESSION "SessionName=\"session_1\""

static void test_of_ray(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, working, 1000);
	expose(fixture);
	metrics_expect_line(&fixture->text, "autoscaler_active_nodes{" DEMO
					    ",NodeType=\"headgroup\"," SESSION "} 1");
	metrics_expect_line(&fixture->text,
			    "autoscaler_active_nodes{" DEMO ",NodeType=\"gpu\"," SESSION "} 2");
	metrics_expect_line(&fixture->text,
			    "autoscaler_pending_nodes{" DEMO ",NodeType=\"gpu\"," SESSION "} 1");
	metrics_expect_line(&fixture->text, "autoscaler_recently_failed_nodes{" DEMO
					    ",NodeType=\"gpu\"," SESSION "} 0");
	metrics_expect_line(&fixture->text,
			    "autoscaler_running_workers_nodes{" DEMO "," SESSION "} 2");
	metrics_expect_line(&fixture->text, "autoscaler_cluster_resources{" DEMO
					    ",resource=\"GPU\"," SESSION "} 4");
	metrics_expect_line(&fixture->text, "autoscaler_cluster_resources{" DEMO
					    ",resource=\"memory\"," SESSION "} 3072");
	metrics_expect_line(&fixture->text, "autoscaler_pending_resources{" DEMO
					    ",resource=\"GPU\"," SESSION "} 2");
	/* One series for each node or placement group would be without bounds. */
	assert_null(strstr(buf_string(&fixture->text), "node:10"));
	assert_null(strstr(buf_string(&fixture->text), "GPU_group_"));
}

static void test_of_the_cluster(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, working, 1000);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_clusters{state=\"managed\"} 1");
	metrics_expect_line(&fixture->text, "rayscaler_group_replicas{" DEMO ",group=\"gpu\"} 3");
	metrics_expect_line(&fixture->text,
			    "rayscaler_group_target_replicas{" DEMO ",group=\"gpu\"} 5");
	metrics_expect_line(&fixture->text,
			    "rayscaler_group_min_replicas{" DEMO ",group=\"gpu\"} 1");
	metrics_expect_line(&fixture->text,
			    "rayscaler_group_max_replicas{" DEMO ",group=\"gpu\"} 5");
	metrics_expect_line(&fixture->text, "rayscaler_gpus_wanted{" DEMO ",group=\"gpu\"} 10");
	metrics_expect_line(&fixture->text, "rayscaler_gpus_running{" DEMO ",group=\"gpu\"} 4");
	metrics_expect_line(&fixture->text, "rayscaler_gpus_idle{" DEMO ",group=\"gpu\"} 2");
	metrics_expect_line(&fixture->text, "rayscaler_gpus_wasted{" DEMO ",group=\"gpu\"} 2.5000");
	metrics_expect_line(&fixture->text, "rayscaler_gpus_pending{" DEMO "} 8");
	metrics_expect_line(&fixture->text,
			    "rayscaler_unfulfillable_demand{" DEMO ",reason=\"NoGroupFits\"} 7");
	metrics_expect_line(&fixture->text, "rayscaler_safe_to_scale_down{" DEMO "} 1");
	metrics_expect_line(&fixture->text, "rayscaler_condition{" DEMO ",type=\"ScalingActive\","
					    "reason=\"DemandRead\"} 1");
	metrics_expect_line(&fixture->text,
			    "rayscaler_last_decision_timestamp_seconds{" DEMO "} 1795168800");
	metrics_expect_line(&fixture->text, "rayscaler_skipped_scale_events_total{direction=\"up\","
					    "reason=\"NoGroupFits\"} 1");
}

/* Unknown facts have no values. */
static void test_unreachable(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, working, 1000);
	ended(fixture, false, 1050);
	decided(fixture, unreachable, 2000);
	ended(fixture, false, 2050);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_safe_to_scale_down{" DEMO "} 0");
	metrics_expect_line(&fixture->text, "rayscaler_condition{" DEMO ",type=\"ScalingActive\","
					    "reason=\"DemandUnavailable\"} 0");
	metrics_expect_line(&fixture->text, "rayscaler_group_replicas{" DEMO ",group=\"gpu\"} 3");
	metrics_expect_line(&fixture->text,
			    "autoscaler_update_loop_exceptions_total{" DEMO "," SESSION "} 1");
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"none\",reason=\"DemandRead\"} 1");
	metrics_expect_line(&fixture->text, "rayscaler_decisions_total{direction=\"none\","
					    "reason=\"DemandUnavailable\"} 1");
	assert_null(strstr(buf_string(&fixture->text), "\nrayscaler_gpus_running"));
	assert_null(strstr(buf_string(&fixture->text), "\nautoscaler_active_nodes"));
	assert_null(strstr(buf_string(&fixture->text), "\nrayscaler_gpus_pending"));
}

/* Also where no idle worker is there to be kept. */
static void test_stale_view(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, working, 1000);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_safe_to_scale_down{" DEMO "} 1");
	decided(fixture, stale, 2000);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_safe_to_scale_down{" DEMO "} 0");
	metrics_expect_line(&fixture->text, "rayscaler_condition{" DEMO ",type=\"ScalingActive\","
					    "reason=\"ViewStale\"} 0");
	/* No pass has seen it yet. */
	decided(fixture, working, 3000);
	fixture->view_stale = true;
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_safe_to_scale_down{" DEMO "} 0");
	fixture->view_stale = false;
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_safe_to_scale_down{" DEMO "} 1");
}

static void test_hands_off(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, hands_off, 1000);
	ended(fixture, false, 1050);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_clusters{state=\"managed\"} 0");
	metrics_expect_line(&fixture->text, "rayscaler_clusters{state=\"hands_off\"} 1");
	metrics_expect_line(&fixture->text, "rayscaler_condition{" DEMO ",type=\"ScalingActive\","
					    "reason=\"AutoscalingDisabled\"} 0");
	assert_null(strstr(buf_string(&fixture->text), "\nautoscaler_"));
	assert_null(strstr(buf_string(&fixture->text), "\nrayscaler_group_"));
}

/* Also of a cluster that is not scaled, which a schedule may resume. */
static void test_schedules(void **state)
{
	static const char text[] = HEAD
		"    enableInTreeAutoscaling: false\n" SPEC "autoscaler:\n"
		"  metadata: {namespace: team, name: demo}\n"
		"  spec:\n    schedules:\n"
		"    - {name: office, start: '0 9 * * *', duration: 2h, bundles: [{GPU: 1}]}\n"
		"    - {name: night, start: '30 22 * * *', duration: 2h, bundles: [{GPU: 1}]}\n"
		"    - {name: night, start: '0 9 * * *', duration: 2h, bundles: [{GPU: 1}]}\n"
		"    - {name: zone, timeZone: Mars/Phobos, start: '0 9 * * *', duration: 2h,\n"
		"       bundles: [{GPU: 1}]}\n";
	struct fixture *fixture = *state;

	decided(fixture, text, 1000);
	expose(fixture);
	metrics_expect_line(&fixture->text,
			    "rayscaler_schedule_active{" DEMO ",schedule=\"office\"} 1");
	metrics_expect_line(&fixture->text,
			    "rayscaler_schedule_active{" DEMO ",schedule=\"night\"} 0");
	metrics_expect_line(&fixture->text, "rayscaler_schedule_next_change_timestamp_seconds{" DEMO
					    ",schedule=\"office\"} 1795172400");
	metrics_expect_line(&fixture->text, "rayscaler_schedule_next_change_timestamp_seconds{" DEMO
					    ",schedule=\"night\"} 1795213800");
	assert_null(strstr(buf_string(&fixture->text), "schedule=\"night\"} 1\n"));
	assert_null(strstr(buf_string(&fixture->text), "schedule=\"zone\""));
}

/* Demand seen at 1.0 s, patched at 1.25 s, all Pods there at 3.25 s. */
static void test_times(void **state)
{
	struct fixture *fixture = *state;
	static const char raised[] = HEAD
		"    enableInTreeAutoscaling: true\n"
		"    headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec:\n"
		"      {containers: [{name: h}]}}}\n"
		"    workerGroupSpecs:\n"
		"    - {groupName: gpu, replicas: 5, minReplicas: 1, maxReplicas: 5,\n"
		"       template: {spec: {containers: [{name: w, resources: {limits:\n"
		"       {cpu: 2, nvidia.com/gpu: 2}}}]}}}\n"
		"pods:\n" POD("busy") POD("idle") POD("c") POD("d");
	char all[sizeof(raised) + sizeof(POD("e"))];

	decided(fixture, working, 1000);
	ended(fixture, true, 1250);
	decided(fixture, raised, 2000);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_demand_to_patch_seconds_sum 0.25");
	metrics_expect_line(&fixture->text, "rayscaler_demand_to_patch_seconds_count 1");
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"up\",reason=\"ScaleUpDemand\"} 1");
	metrics_expect_line(&fixture->text,
			    "autoscaler_started_nodes_total{" DEMO "," SESSION "} 2");
	metrics_expect_line(&fixture->text, "rayscaler_patch_to_pod_seconds_count 0");
	(void)snprintf(all, sizeof(all), "%s%s", raised, POD("e"));
	decided(fixture, all, 3250);
	decided(fixture, all, 4250);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_patch_to_pod_seconds_sum 2");
	metrics_expect_line(&fixture->text, "rayscaler_patch_to_pod_seconds_count 1");
}

/* A refused patch is tried again: the time is measured from when the need was first seen. */
static void test_refused_patch(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, working, 1000);
	ended(fixture, false, 1250);
	decided(fixture, working, 2000);
	ended(fixture, true, 2500);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_demand_to_patch_seconds_sum 1.5");
}

#define KIND_COUNTER(name) metrics_expect_sample(&fixture->text, name)
#define KIND_HISTOGRAM(name) KIND_COUNTER(name)
#define KIND_GAUGE(name) ((void)0)

static void test_every_counter_begins_with_the_cluster(void **state)
{
	static const struct price_row row = { .gpu_model = "", .micros_per_gpu_hour = 3600000 };
	static const struct price_table prices = { "EUR", &row, 1 };
	struct fixture *fixture = *state;
	const struct feature_metric *metric;
	const void *self;

	fixture->options.price_table = &prices;
	fixture->options.settings.in_place_resize = true;
	decided(fixture, working, 1000);
	expose(fixture);
#define X(kind, identifier, name, ...) KIND_##kind(name);
	METRICS_RAY_TABLE(X)
	METRICS_CLUSTER_TABLE(X)
#undef X
	for (size_t i = 0; (metric = features_metric(fixture->features, i, &self)); i++)
		if (metric->write && metric->row.kind == METRICS_COUNTER)
			metrics_expect_sample(&fixture->text, metric->row.name);
}

/* The series of a controller begin with 0 and show the sums of the object; those of a sidecar grow by
 * themselves. */
static void test_gpu_time(void **state)
{
#define SECONDS(kind) "rayscaler_gpu_seconds_total{" DEMO ",group=\"gpu\",state=\"" kind "\"} "
	static const char object[] =
		"autoscaler: {metadata: {namespace: team, name: demo}, status: "
		"{metering: {rayClusterUID: '', currency: EUR, groups: [\n"
		"  {name: gpu, usedGPUSeconds: 70, costMicros: 1500000}]}}}\n";
	static const struct price_row row = { .gpu_model = "", .micros_per_gpu_hour = 3600000 };
	static const struct price_table prices = { "EUR", &row, 1 };
	struct fixture *fixture = *state;
	AUTO(buf_done) struct buf text;

	buf_init(&text, 1 << 20);
	fixture->options.price_table = &prices;
	decided(fixture, working, 1000);
	decided(fixture, working, 11000);
	expose(fixture);
	metrics_expect_line(&fixture->text, SECONDS("used") "0");
	metrics_expect_line(&fixture->text, SECONDS("starting") "0");
	buf_printf(&text, "%s%s", working, object);
	decided(fixture, buf_string(&text), 21000);
	expose(fixture);
	metrics_expect_line(&fixture->text, SECONDS("used") "70");
	metrics_expect_line(&fixture->text, SECONDS("idle") "0");
	metrics_expect_line(&fixture->text,
			    "rayscaler_cost_total{" DEMO ",group=\"gpu\",currency=\"EUR\"} 1.5");
	buf_clear(&text);
	buf_printf(&text, "%ssettings: {mode: sidecar}\n", working);
	metrics_forget(fixture->metrics, "team", "demo");
	features_forget(fixture->features, "team", "demo");
	decided(fixture, buf_string(&text), 1000);
	decided(fixture, buf_string(&text), 11000);
	expose(fixture);
	metrics_expect_line(&fixture->text, SECONDS("used") "15");
	metrics_expect_line(&fixture->text, SECONDS("idle") "25");
#undef SECONDS
}

static void test_series_end_with_the_cluster(void **state)
{
	struct fixture *fixture = *state;

	decided(fixture, working, 1000);
	metrics_forget(fixture->metrics, "team", "other");
	expose(fixture);
	assert_non_null(strstr(buf_string(&fixture->text), "demo"));
	metrics_forget(fixture->metrics, "team", "demo");
	expose(fixture);
	assert_null(strstr(buf_string(&fixture->text), "demo"));
	metrics_expect_line(&fixture->text, "rayscaler_clusters{state=\"managed\"} 0");
}

/* The memory of a cluster as in docs/METRICS.md. */
static void test_bytes_of_a_cluster(void **state)
{
	struct fixture *fixture = *state;
	struct metrics_cluster cluster = { .session = NULL };
	size_t bytes;

	decided(fixture, working, 1000);
	metrics_cluster_keep(&cluster, fixture->summary);
	bytes = cluster.arena.used_bytes;
	print_message("summary %zu + %zu bytes\n", bytes, METRICS_CLUSTER_BYTES);
	metrics_cluster_done(&cluster);
	assert_in_range(bytes + METRICS_CLUSTER_BYTES, 500, 2048);
}

static void test_groups_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	AUTO(buf_done) struct buf text;

	buf_init(&text, 1 << 20);
	(void)buf_add_string(&text, HEAD "    enableInTreeAutoscaling: true\n"
					 "    headGroupSpec: {}\n    workerGroupSpecs:\n");
	for (int i = 0; i < METRICS_GROUPS_MAX + 10; i++)
		(void)buf_printf(&text,
				 "    - {groupName: g%d, template: {spec: {containers: [{name: w,\n"
				 "        resources: {limits: {cpu: 1}}}]}}}\n",
				 i);
	decided(fixture, buf_string(&text), 1000);
	expose(fixture);
	metrics_expect_line(&fixture->text, "rayscaler_group_replicas{" DEMO ",group=\"g255\"} 0");
	assert_null(strstr(buf_string(&fixture->text), "group=\"g256\""));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_of_ray),
		TEST(test_of_the_cluster),
		TEST(test_unreachable),
		TEST(test_stale_view),
		TEST(test_hands_off),
		TEST(test_schedules),
		TEST(test_times),
		TEST(test_refused_patch),
		TEST(test_every_counter_begins_with_the_cluster),
		TEST(test_every_counter_begins_with_the_cluster),
		TEST(test_gpu_time),
		TEST(test_series_end_with_the_cluster),
		TEST(test_bytes_of_a_cluster),
		TEST(test_groups_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
