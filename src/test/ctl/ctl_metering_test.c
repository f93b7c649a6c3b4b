/* GPU time in the status of a RayClusterAutoscaler, over writes and a kill. */
#include "core/report/metering.h"
#include "ctl/report/metrics.h"
#include "test/support/autoscaler_scene.h"

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

	metrics_decided(control.metrics, made);
	autoscaler_objects_decided(objects, made);
}

static int64_t shown_seconds(void)
{
	const struct metering *metering = metrics_metering(control.metrics, "a", "demo");

	return metering_seconds_shown(metering, &metering->groups[0], METERING_USED);
}

static bool stores(void *context)
{
	const struct autoscaler_object *object = autoscaler_objects_get(objects, "a", "demo");

	(void)context;
	meter();
	return object && object->status.metering &&
	       object->status.metering->until == made_at + later_ms;
}

/* Five minutes of passes every 5 s of the decisions' clock: one write, which has the sums; then the
 * process is killed between two writes. */
static void test_gpu_time_is_stored_with_other_writes(void **state)
{
	int patches;

	(void)state;
	start();
	control.metrics = metrics_new(0);
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
	metrics_free(control.metrics);
	control.metrics = metrics_new(0);
	autoscaler_objects_forget(objects, "a", "demo");
	later_ms += 60000;
	meter();
	assert_int_equal(shown_seconds(), 300);
	later_ms += 240000;
	assert_true(loop_wait_until(script.loop, stores, NULL, WAIT_MS));
	meter();
	assert_int_equal(shown_seconds(), 660);
	metrics_free(control.metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gpu_time_is_stored_with_other_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
