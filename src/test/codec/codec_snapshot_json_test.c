#include "codec/objects/snapshot_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "core/model/time_zone.h"
#include "feature/device_claims/core/device_free.h"
#include "test/support/codec_support.h"

#define HEAD                                                                                       \
	"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\n"                                     \
	"now: '2026-11-20T10:00:00Z'\n"
#define LEAST HEAD "rayCluster: {metadata: {name: demo}}\n"

static int read_text(const char *text, struct arena *arena, struct err *err)
{
	struct snapshot snapshot;

	return snapshot_read(text, strlen(text), arena, &snapshot, err);
}

static struct snapshot read_good(const char *text, struct arena *arena)
{
	struct snapshot snapshot;
	struct err err;

	if (snapshot_read(text, strlen(text), arena, &snapshot, &err))
		fail_msg("%s", err.text);
	return snapshot;
}

static void test_least(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot = read_good(LEAST, &arena);

	(void)state;
	assert_true(snapshot.now == 1795168800000 && snapshot.ray_state_time == snapshot.now);
	assert_string_equal(snapshot.cluster.name, "demo");
	assert_string_equal(snapshot.cluster.namespace_, "default");
	assert_null(snapshot.ray_state);
	assert_null(snapshot.autoscaler);
	assert_null(snapshot.memory);
	assert_false(snapshot.events_known || snapshot.nodes_known || snapshot.has_gpu_budget);
	assert_null(snapshot.cluster.request);
	assert_true(snapshot.settings.idle_timeout_seconds == 60);
	assert_true(snapshot.settings.conserve_accelerators);
	assert_string_equal(snapshot.ray_problem, "");
}

/* Of other namespaces only which devices are allocated. */
static void test_claims_of_other_namespaces(void **state)
{
	static const char text[] = HEAD
		"rayCluster: {metadata: {name: demo, namespace: n}}\n"
		"resourceSlices:\n"
		"- {metadata: {name: s}, spec: {driver: d, nodeName: node, pool: {name: p, generation: 1,"
		" resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1}]}}\n"
		"resourceClaimTemplates:\n"
		"- {metadata: {name: mine, namespace: n}, spec: {spec: {devices: {requests: [{name: r,"
		" exactly: {deviceClassName: c, selectors: [{cel: {expression: my-cel}}]}}]}}}}\n"
		"- {metadata: {name: SECRET, namespace: SECRET}, spec: {spec: {devices: {requests: [{name:"
		" SECRET, exactly: {deviceClassName: SECRET, selectors: [{cel: {expression: SECRET}}]}}]}}"
		"}}\n"
		"resourceClaims:\n"
		"- {metadata: {name: free, namespace: SECRET}, spec: {devices: {requests: [{name: SECRET,"
		" exactly: {deviceClassName: SECRET}}]}}}\n"
		"- {metadata: {name: SECRET, namespace: SECRET, uid: SECRET, resourceVersion: SECRET},"
		" spec: {devices: {requests: [{name: SECRET, exactly: {deviceClassName: SECRET, selectors:"
		" [{cel: {expression: SECRET}}]}}]}}, status: {reservedFor: [{resource: pods, name: SECRET"
		"}], allocation: {devices: {results: [{request: SECRET, driver: d, pool: p, device: gpu-1}"
		"]}}}}\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf written = BUF_INIT(100000);
	struct snapshot snapshot = read_good(text, &arena);
	struct err err;

	(void)state;
	assert_int_equal(snapshot_write(&snapshot, &written, &err), 0);
	assert_null(strstr(buf_string(&written), "SECRET"));
	assert_non_null(strstr(buf_string(&written), "my-cel"));
	snapshot = read_good(buf_string(&written), &arena);
	assert_int_equal(snapshot.device_objects->template_count, 1);
	assert_int_equal(snapshot.device_objects->claim_count, 1);
	assert_string_equal(snapshot.device_objects->claims[0].results[0].device, "gpu-1");
	assert_true(device_free_find(snapshot.device_table->claims->devices, "d", "p", "gpu-1")
			    ->claimed);
}

static const char full[] = HEAD
	"rayCluster:\n"
	"  metadata: {name: demo, namespace: n, annotations: {rayscaler.dev/request-resources:\n"
	"    '[{\"GPU\": 1}]', kubectl.kubernetes.io/last-applied-configuration: hunter2}}\n"
	"  spec:\n"
	"    gcsFaultToleranceOptions: {redisPassword: {value: hunter2},\n"
	"      activePassiveOptions: {enable: true}}\n"
	"    headGroupSpec: {rayStartParams: {redis-password: hunter2, num-cpus: '1'}}\n"
	"    workerGroupSpecs:\n"
	"    - groupName: g\n"
	"      resources: {}\n"
	"      scaleStrategy: {workersToDelete: [], scaleGate: {a: 1}}\n"
	"      template: {spec: {containers: [{name: ray, args: [--token=hunter2], env:\n"
	"        [{name: AWS_SECRET, value: hunter2}], resources: {limits: {cpu: 500m}}}]}}\n"
	"pods:\n"
	"- metadata: {name: p1, deletionTimestamp: '2026-11-20T09:59:00Z'}\n"
	"  spec: {containers: [{name: autoscaler, command: [rayscaler], args: [park]}]}\n"
	"- metadata: {name: p2}\n"
	"  status: {phase: Pending, containerStatuses: [{name: ray, lastState: {terminated:\n"
	"    {exitCode: 1}}}]}\n"
	"rayState: {clusterResourceStateVersion: '3', nodeStates: [{nodeId: AQI=}]}\n"
	"rayStateTime: '2026-11-20T09:59:59.500Z'\n"
	"events: []\n"
	"settings: {idle-timeout-seconds: 0, mode: sidecar, packing: fewest-gpus,\n"
	"  accelerators: [neuron_cores], conserve-accelerators: false, enforce-max: now}\n"
	"autoscaler: {spec: {paused: true, schedules: [{name: office, timeZone: Europe/Berlin,\n"
	"  start: 0 8 * * mon-fri, duration: 9h30m, groups: [{name: g, minReplicas: 2}],\n"
	"  bundles: [{GPU: 1}, {resources: {GPU: 2}, label_selector: {zone: a}}, {GPU: 1}],\n"
	"  warmWorkers: [{group: g, percentOfBusy: 20}]},\n"
	"  {name: bad, start: 0 8 * * *, duration: 1h, bundles: [{GPU: one}]}]}}\n"
	"timeZones: [{name: Europe/Berlin, offsetSeconds: 3600, changes:\n"
	"  [{at: '2027-03-28T01:00:00Z', offsetSeconds: 7200}]}, {name: a, problem: b}]\n"
	"nodes: [{metadata: {name: n1}}]\n"
	"otherPods: [{metadata: {name: other}}]\n"
	"deviceTable: {devices: [{resource: example.com/card, kind: NPU}]}\n"
	"gpuBudget: 7.5\n"
	"gpuBudgetOf: max-gpus-total 9\n"
	"memory: {rayletGone: [{key: p, since: '2026-11-20T10:00:00Z'}, rubbish]}\n";

static void check_schedules(const struct snapshot *snapshot)
{
	const struct autoscaler_schedule *schedule = snapshot->autoscaler->schedules;

	assert_int_equal(snapshot->autoscaler->schedule_count, 2);
	assert_string_equal(schedule->start, "0 8 * * mon-fri");
	assert_int_equal(schedule->cron.hours, 1 << 8);
	assert_int_equal(schedule->duration_ms, 34200000);
	assert_false(schedule->invalid);
	assert_int_equal(schedule->groups[0].min_replicas, 2);
	assert_int_equal(schedule->bundles->count, 2);
	assert_int_equal(schedule->bundles->requests[0].count, 2);
	assert_string_equal(schedule->bundles->requests[1].request.selectors->constraints->key,
			    "zone");
	assert_string_equal(schedule->warm_workers[0].group, "g");
	assert_int_equal(schedule->warm_workers[0].percent_of_busy, 20);
	assert_true(schedule[1].has_bundles);
	assert_null(schedule[1].bundles);
	assert_string_equal(schedule[1].bundles_text, "[{\"GPU\":\"one\"}]");
	assert_string_equal(snapshot->autoscaler->problems.at[0],
			    "autoscaler.spec.schedules[1].bundles: [0].GPU: must be a number, is a "
			    "string; it must be a list of bundles like [{GPU: 1}]");
	assert_int_equal(snapshot->time_zone_count, 2);
	assert_string_equal(snapshot->time_zones[0].name, schedule->time_zone);
	assert_null(snapshot->time_zones[0].problem);
	assert_int_equal(snapshot->time_zones[0].changes[0].offset_seconds, 7200);
	assert_string_equal(snapshot->time_zones[1].problem, "b");
}

static void check_full(const struct snapshot *snapshot)
{
	assert_int_equal(snapshot->cluster.request->bundles->count, 1);
	assert_false(snapshot->cluster.active_passive_head);
	assert_true(snapshot->cluster.active_passive_options);
	assert_true(snapshot->cluster.groups[0].has_resources);
	assert_true(snapshot->cluster.groups[0].has_workers_to_delete);
	assert_string_equal(snapshot->cluster.groups[0].scale_gate, "{\"a\":1}");
	assert_int_equal(snapshot->pod_count, 2);
	assert_true(snapshot->pods[0]->deleting);
	assert_string_equal(snapshot->pods[0]->spec.containers[0].args.at[0], "park");
	assert_true(container_has_run(&snapshot->pods[1]->container_statuses[0]));
	assert_true(snapshot->ray_state->version == 3);
	assert_string_equal(snapshot->ray_state->nodes[0].id, "0102");
	assert_true(snapshot->ray_state_time == 1795168799500);
	assert_true(snapshot->events_known && snapshot->nodes_known);
	assert_true(snapshot->event_count == 0 && snapshot->node_count == 1);
	assert_int_equal(snapshot->other_pod_count, 1);
	assert_true(snapshot->settings.idle_timeout_seconds == 0);
	assert_int_equal(snapshot->settings.mode, MODE_SIDECAR);
	assert_int_equal(snapshot->settings.packing, PACKING_FEWEST_GPUS);
	assert_int_equal(snapshot->settings.enforce_max, ENFORCE_MAX_NOW);
	assert_false(snapshot->settings.conserve_accelerators);
	assert_string_equal(snapshot->settings.accelerators.at[0], "neuron_cores");
	assert_true(snapshot->autoscaler->paused);
	check_schedules(snapshot);
	assert_true(snapshot->has_gpu_budget && snapshot->gpu_budget == 75000);
	assert_string_equal(snapshot->gpu_budget_of, "max-gpus-total 9");
	assert_int_equal(device_table_own(snapshot->device_table).count, 1);
	assert_int_equal(device_find(snapshot->device_table, "example.com/card")->kind, DEVICE_NPU);
	assert_int_equal(snapshot->memory->marks.count, 1);
	assert_int_equal(snapshot->memory->marks.at[0].kind, MARK_RAYLET_GONE);
}

static void test_full(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot = read_good(full, &arena);

	(void)state;
	check_full(&snapshot);
}

/* Written, it is the same snapshot, without possible secrets; written again, the same bytes. */
static void test_write(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot = read_good(full, &arena), again;
	AUTO(buf_done) struct buf first, second, small;
	struct err err;

	(void)state;
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	buf_init(&small, 100);
	assert_int_equal(snapshot_write(&snapshot, &first, &err), 0);
	assert_null(strstr(buf_string(&first), "hunter2"));
	assert_non_null(strstr(buf_string(&first), "AWS_SECRET"));
	again = read_good(buf_string(&first), &arena);
	check_full(&again);
	assert_int_equal(snapshot_write(&again, &second, &err), 0);
	assert_string_equal(buf_string(&first), buf_string(&second));
	assert_int_equal(snapshot_write(&snapshot, &small, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

static void test_json_and_null(void **state)
{
	static const char text[] =
		"{\"apiVersion\": \"rayscaler.dev/v1alpha1\", \"kind\": \"Snapshot\", \"now\": "
		"\"2026-11-20T10:00:00Z\", \"rayCluster\": {\"metadata\": {\"name\": \"d\"}}, "
		"\"rayState\": null, \"rayStateTime\": null, \"pods\": null, \"events\": null, "
		"\"nodes\": null, \"autoscaler\": null, \"memory\": null, \"gpuBudget\": null, "
		"\"settings\": null, \"deviceTable\": null, \"otherPods\": null}";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot = read_good(text, &arena);

	(void)state;
	assert_null(snapshot.ray_state);
	assert_false(snapshot.events_known || snapshot.nodes_known || snapshot.has_gpu_budget);
	assert_null(snapshot.memory);
}

static const struct codec_bad bad_texts[] = {
	{ "", "the text is empty" },
	{ "- a", "top level: must be a Snapshot, is an array" },
	{ "{}", "apiVersion: is missing; write " },
	{ "apiVersion: v1", "apiVersion: must be rayscaler.dev/v1alpha1, is \"v1\"" },
	{ "apiVersion: 1", "apiVersion: must be a string, is a number; put it in quotes" },
	{ "apiVersion: rayscaler.dev/v1alpha1", "kind: is missing" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: Plan", "kind: must be Snapshot, is" },
	{ LEAST "podz: []", "podz: is not a member of a Snapshot" },
	{ LEAST "Pods: []", "Pods: is not a member of a Snapshot" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nrayCluster: {}",
	  "now: is missing, must be a string" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: 5", "now: must be a s" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: null",
	  "now: must be a string, is null" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: today",
	  "now: \"today\" is not an RFC 3339 time" },
	{ HEAD, "rayCluster: is missing, must be an object" },
	{ HEAD "rayCluster: null", "rayCluster: must be an object, is null" },
	{ HEAD "rayCluster: []", "rayCluster: must be an object, is an array" },
	{ HEAD "rayCluster: {}", "rayCluster.metadata.name: is missing" },
	{ HEAD "rayCluster: {metadata: {name: d}, spec: {workerGroupSpecs: [{maxReplicas: "
	       "'5'}]}}",
	  "rayCluster.spec.workerGroupSpecs[0].maxReplicas: must be an integer, is a "
	  "string" },
	{ LEAST "pods: {}", "pods: must be an array" },
	{ LEAST "pods: [{}]", "pods[0].metadata.name: is missing" },
	{ LEAST "pods: [{metadata: {name: a}}, {metadata: {name: 5}}]",
	  "pods[1].metadata.name: must be a string" },
	{ LEAST "rayState: []", "rayState: must be an object" },
	{ LEAST "rayState: {nodeStates: [{status: []}]}", "rayState.nodeStates[0].status: " },
	{ LEAST "rayStateTime: 5", "rayStateTime: must be a string" },
	{ LEAST "rayStateTime: soon", "rayStateTime: \"soon\" is not an RFC 3339" },
	{ LEAST "events: {}", "events: must be an array" },
	{ LEAST "events: [1]", "events[0]: must be an object" },
	{ LEAST "settings: []", "settings: must be an object" },
	{ LEAST "settings: {idleTimeoutSeconds: 5}",
	  "settings.idleTimeoutSeconds: is not a setting; the settings are the long flags of \"rayscaler "
	  "run\"; did you mean idle-timeout-seconds?" },
	{ LEAST "settings: {idle-timeout-seconds: '5'}",
	  "settings.idle-timeout-seconds: must be an integer, is a string" },
	{ LEAST "settings: {idle-timeout-seconds: null}",
	  "settings.idle-timeout-seconds: must be an integer, is null" },
	{ LEAST "settings: {idle-timeout-seconds: -1}",
	  "settings.idle-timeout-seconds: must be 0 to 31536000 seconds, is -1" },
	{ LEAST "settings: {state-max-age-seconds: 0}",
	  "settings.state-max-age-seconds: must be 1 to" },
	{ LEAST "settings: {mode: 1}", "settings.mode: must be a string" },
	{ LEAST "settings: {mode: both}",
	  "settings.mode: must be one of controller|sidecar, is \"both\"" },
	{ LEAST "settings: {conserve-accelerators: 'true'}",
	  "settings.conserve-accelerators: must be a boolean" },
	{ LEAST "settings: {accelerators: TPU}", "settings.accelerators: must be an array" },
	{ LEAST "settings: {accelerators: [1]}", "settings.accelerators[0]: must be" },
	{ LEAST "autoscaler: 1", "autoscaler: must be an object" },
	{ LEAST "autoscaler: {spec: {paused: 1}}", "autoscaler.spec.paused: must be a" },
	{ LEAST "timeZones: [{name: a, offsetSeconds: 100000}]",
	  "timeZones[0]: has a change without a later time" },
	{ LEAST "timeZones: [{name: a, changes: [{at: x}]}]",
	  "timeZones[0]: has a change without a later time" },
	{ LEAST "timeZones: [{name: b}, {name: a, changes: [{at: '2026-01-01T00:00:00Z'},"
		" {at: '2026-01-01T00:00:00Z'}]}]",
	  "timeZones[1]: has a change without a later time" },
	{ LEAST "nodes: {}", "nodes: must be an array" },
	{ LEAST "nodes: [{metadata: {}}]", "nodes[0].metadata.name: is missing" },
	{ LEAST "otherPods: [1]", "otherPods[0]: must be an object" },
	{ LEAST "deviceTable: []", "deviceTable: must be an object, is an array" },
	{ LEAST "gpuBudget: '8'", "gpuBudget: must be a number, is a string" },
	{ LEAST "gpuBudget: -1", "gpuBudget: an amount is negative; it must be 0 or more" },
	{ LEAST "gpuBudget: .nan", "gpuBudget: an amount is NaN" },
	{ LEAST "memory: x", "memory: must be an object, is a string" },
	{ LEAST "now: '2026-11-20T10:00:00Z'", "line 5, column 1: this member is there twice" },
	{ LEAST "pods: [{metadata: {name: a, name: b}}]", "line 5, column 29: this member" },
	{ LEAST "---\na: 1", "line 5, column 1: a second document" },
	{ "{\"apiVersion\": \"a\", \"apiVersion\": \"b\"}", "apiVersion: is there twice" },
};

static void test_bad(void **state)
{
	(void)state;
	codec_check_bad(bad_texts, SUPPORT_COUNT(bad_texts), read_text);
}

/* Every setting of the table is taken in the file, and an unknown one is not. */
static void test_all_settings(void **state)
{
	size_t count;
	const struct settings_row *rows = settings_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		char text[500], value[100];
		struct err err;

		switch (rows[i].kind) {
		case SETTINGS_INTEGER:
			snprintf(value, sizeof(value), "%lld", (long long)rows[i].maximum);
			break;
		case SETTINGS_BOOLEAN:
			snprintf(value, sizeof(value), "false");
			break;
		case SETTINGS_CHOICE:
			snprintf(value, sizeof(value), "%s", strrchr(rows[i].unit, '|') + 1);
			break;
		case SETTINGS_LIST:
			snprintf(value, sizeof(value), "[a, b]");
			break;
		default:
			fail_msg("%s has a kind of options", rows[i].name);
		}
		snprintf(text, sizeof(text), LEAST "settings: {%s: %s}", rows[i].name, value);
		if (read_text(text, &arena, &err))
			fail_msg("%s", err.text);
		snprintf(text, sizeof(text), LEAST "settings: {%s: {}}", rows[i].name);
		assert_int_equal(read_text(text, &arena, &err), -1);
		snprintf(text, sizeof(text), "settings.%s: must be", rows[i].name);
		assert_int_equal(strncmp(err.text, text, strlen(text)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_claims_of_other_namespaces),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_json_and_null),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_all_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
