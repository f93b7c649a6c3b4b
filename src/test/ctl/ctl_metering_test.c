/* GPU time in the status of a RayClusterAutoscaler, over writes and a kill. */
#include "feature/cost/core/metering.h"
#include "feature/cost/ctl/cost.h"
#include "test/support/autoscaler_scene.h"

static const struct feature *const table[] = { &cost_feature, NULL };
static const time_ms made_at = 1795168800000;

/* A worker with two GPUs, of which half is used; the monotonic clock is that of the decisions. */
static struct pass_decision *metered(void)
{
	struct pass_decision *made = decision_on(
		"spec: {enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: 1, template: {spec: "
		"{containers: [{name: w, resources: {limits: {cpu: 1, nvidia.com/gpu: 2}}}]}}}]}}, "
		"pods: [{metadata: {namespace: a, name: w1, creationTimestamp: "
		"'2026-11-20T09:00:00Z', labels: {ray.io/cluster: demo, ray.io/node-type: worker, "
		"ray.io/group: g}}, spec: {nodeName: n, containers: [{name: w}]}, status: {phase: "
		"Running}}], rayState: {nodeStates: [{nodeId: AQE=, instanceId: h, status: RUNNING, "
		"totalResources: {'node:__internal_head__': 1}}, {nodeId: AQI=, instanceId: w1, "
		"status: RUNNING, totalResources: {GPU: 2}, availableResources: {GPU: 1}}]");

	made->monotonic_ms = later_ms;
	return made;
}

static void meter(void)
{
	struct pass_decision *made = metered();

	features_decided(control.features, made);
	autoscaler_objects_decided(objects, made);
}

static int64_t shown_seconds(void)
{
	const struct metrics_cluster cluster = { .of = { "a", "demo", "a/demo" } };
	const void *self;
	const struct feature_metric *metric = features_metric(control.features, 0, &self);
	AUTO(buf_done) struct buf text;
	struct metrics_family family = { .buf = &text, .row = &metric->row };
	const char *used;

	buf_init(&text, 4096);
	metric->write(self, &cluster, &family);
	used = strstr(buf_string(&text), "state=\"used\"} ");
	assert_non_null(used);
	return strtoll(strchr(used, ' '), NULL, 10);
}

static bool stores(void *context)
{
	const struct autoscaler_object *object =
		autoscaler_objects_get(objects, "a", "demo", &arena);

	(void)context;
	meter();
	return object && object->status && object->status->parts.metering &&
	       object->status->parts.metering->until == made_at + later_ms;
}

/* Five minutes of passes every 5 s of the decisions' clock: one write, which has the sums; then the
 * process is killed between two writes. */
static void test_gpu_time_is_stored_with_other_writes(void **state)
{
	int patches;

	(void)state;
	start();
	control.features = features_new(&control, table);
	assert_true(loop_wait_until(script.loop, stores, NULL, WAIT_MS));
	patches = count_of(&store.patches);
	for (later_ms = 5000; later_ms < 240000; later_ms += 5000) {
		meter();
		(void)loop_wait_until(script.loop, is_false, NULL, 2);
	}
	assert_int_equal(count_of(&store.patches), patches);
	assert_int_equal(shown_seconds(), 0);
	later_ms = 300000;
	assert_true(loop_wait_until(script.loop, stores, NULL, WAIT_MS));
	assert_int_equal(count_of(&store.patches), patches + 1);
	meter();
	assert_int_equal(shown_seconds(), 300);
	later_ms += 60000; /* counted, not written */
	meter();
	features_free(control.features);
	control.features = features_new(&control, table);
	autoscaler_objects_forget(objects, "a", "demo");
	later_ms += 60000;
	meter();
	assert_int_equal(shown_seconds(), 300);
	later_ms += 240000;
	assert_true(loop_wait_until(script.loop, stores, NULL, WAIT_MS));
	meter();
	assert_int_equal(shown_seconds(), 660);
	features_free(control.features);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gpu_time_is_stored_with_other_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
