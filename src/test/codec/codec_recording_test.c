/* The file of a recording: written, read as RayClusters, PodStarts and workload, and refusals. */
#include "feature/record/objects/recording.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/cluster_set.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/workload_file.h"
#include "codec/text/yaml.h"
#include "feature/record/objects/ray_work_json.h"
#include "test/support/support.h"

#define HEAD "apiVersion: rayscaler.dev/v1alpha1\nkind: PodStarts\ngroups:\n"

static const char cluster_text[] =
	"apiVersion: ray.io/v1\n"
	"kind: RayCluster\n"
	"metadata: {name: demo, namespace: ray, uid: u, annotations: {mine: hunter2,\n"
	"  rayscaler.dev/managed: 'true'}}\n"
	"spec:\n"
	"  enableInTreeAutoscaling: true\n"
	"  headGroupSpec: {rayStartParams: {redis-password: hunter2}, template: {spec: {containers:\n"
	"    [{name: h, args: [hunter2], env: [{name: A, value: hunter2}]}]}}}\n"
	"  workerGroupSpecs:\n"
	"  - {groupName: gpu, replicas: 3, minReplicas: 1, maxReplicas: 5, template: {spec:\n"
	"     {containers: [{name: w, resources: {limits: {nvidia.com/gpu: 1}}}]}},\n"
	"     scaleStrategy: {workersToDelete: [w1]}}\n"
	"status: {head: {podIP: 10.0.0.1}}\n";

static const struct json_limits limits = { .bytes = 65536, .depth = 32, .elements = 10000 };

static void read_object(const char *text, struct arena *arena, struct ray_cluster *ret)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	if (yaml_parse(text, strlen(text), &limits, &tree, &err) ||
	    ray_cluster_decode(tree, "", arena, ret, &err))
		fail_msg("%s", err.text);
}

static const struct resource amounts[] = { { "CPU", 10000 }, { "GPU", 5000 } };
static const struct label spot[] = { { "market", "in(spot, reserved)" } };
static const struct work_bundle bundles[] = {
	{ .resources = { amounts, 2 }, .selector = { spot, 1 } },
	{ .resources = { amounts, 1 } },
};
static const struct recorded_item all[] = {
	{ .kind = WORK_TASK,
	  .job = "raysubmit_1",
	  .submitted = 1000100,
	  .duration_ms = 61200,
	  .count = 3,
	  .bundles = bundles,
	  .bundle_count = 1 },
	{ .kind = WORK_PLACEMENT_GROUP,
	  .strategy = PLACEMENT_STRICT_SPREAD,
	  .job = "",
	  .submitted = 1002100,
	  .duration_ms = 1,
	  .count = 1,
	  .bundles = bundles,
	  .bundle_count = 2 },
};
static const int64_t ms[] = { 18000, 20500 };
static const struct pod_starts starts = { "demo", "gpu", ms, 2 };
static const char *const notes[] = { "3 tasks are missing\nkind: Evil" };

static void a_recording_is_read_back(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf file;
	struct autoscaler_object autoscaler = { .namespace_ = "ray",
						.name = "demo",
						.upscaling_mode = "",
						.has_idle_timeout_seconds = true,
						.idle_timeout_seconds = 77 };
	struct ray_cluster cluster;
	struct recording recording = { .cluster = &cluster,
				       .autoscaler = &autoscaler,
				       .starts = { &starts, 1 },
				       .process_ms = 1400,
				       .items = { .at = all, .count = 2 },
				       .until = 1010000,
				       .notes = { notes, 1 } };
	struct cluster_set *set = cluster_set_new();
	const struct cluster_setup *setups = NULL;
	struct settings settings;
	struct workload workload = { .count = 0 };
	size_t count = 0;
	struct err err;

	(void)state;
	read_object(cluster_text, &arena, &cluster);
	buf_init(&file, RECORDING_BYTES_MAX);
	if (recording_write(&recording, &arena, &file, &err) ||
	    cluster_set_add(set, file.data, file.size, &err) ||
	    cluster_set_decode(set, &arena, &setups, &count, &settings, &err) ||
	    workload_read(file.data, file.size, NULL, &arena, &workload, &err))
		fail_msg("%s\n%s", err.text, buf_string(&file));
	assert_null(strstr(buf_string(&file), "hunter2"));
	assert_non_null(strstr(buf_string(&file), "\n# 3 tasks are missing?kind: Evil\n"));
	assert_non_null(strstr(buf_string(&file), "\ncluster: ray/demo\nitems:\n"));
	assert_int_equal(count, 1);
	assert_int_equal(setups[0].cluster.groups[0].replicas, 1);
	assert_int_equal(setups[0].cluster.groups[0].workers_to_delete.count, 0);
	assert_true(setups[0].has_autoscaler);
	assert_int_equal(setups[0].autoscaler.idle_timeout_seconds, 77);
	assert_int_equal(cluster_set_starts(set).count, 1);
	assert_string_equal(cluster_set_starts(set).at[0].group, "gpu");
	assert_int_equal(cluster_set_starts(set).at[0].ms[1], 20500);
	assert_int_equal(cluster_set_process_ms(set), 1400);
	assert_int_equal(workload.count, 2);
	assert_int_equal(workload.items[0].submit_ms, 0);
	assert_int_equal(workload.items[0].duration_ms, 61200);
	assert_int_equal(workload.items[0].count, 3);
	assert_string_equal(workload.items[0].job, "raysubmit_1");
	assert_int_equal(workload.items[0].bundles[0].bundle_count, 2);
	assert_int_equal(workload.items[0].bundles[0].selector_count, 1);
	assert_int_equal(workload.items[1].submit_ms, 2000);
	assert_int_equal(workload.items[1].strategy, PLACEMENT_STRICT_SPREAD);
	assert_int_equal(workload.items[1].bundle_count, 2);
	cluster_set_free(set);
}

static void wrong_starts_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ HEAD "- {cluster: a, group: g, seconds: [-1]}\n", "groups[0].seconds[0]: -1 " },
		{ HEAD "- {cluster: a, group: g, seconds: [90000]}\n", "is more than a day" },
		{ HEAD "- {cluster: a, group: g, seconds: [x]}\n", "must be a number" },
		{ HEAD "- {cluster: a, group: g, seconds: []}\n", "must have 1 to" },
		{ HEAD "- {cluster: a, group: g}\n", "groups[0].seconds: " },
		{ HEAD "- {cluster: a, seconds: [1]}\n", "groups[0].group: " },
		{ HEAD "- {cluster: a, group: g, seconds: [1], x: 1}\n", "groups[0].x: " },
		{ "kind: PodStarts\ngroups: []\n", "apiVersion: " },
		{ HEAD "  []\nprocessSeconds: -1\n", "processSeconds: -1 " },
		{ HEAD "  []\nprocessSeconds: x\n", "processSeconds: must be a number" },
		{ HEAD "  []\nprocessSeconds: 90000\n", "is more than a day" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct cluster_set *set = cluster_set_new();
		struct err err;

		assert_int_equal(cluster_set_add(set, cases[i].text, strlen(cases[i].text), &err),
				 -1);
		if (!strstr(err.text, cases[i].error))
			fail_msg("\"%s\" is not in \"%s\"", cases[i].error, err.text);
		cluster_set_free(set);
	}
}

/* A tenant can forge what its GCS lists: what no workload can have is counted, not written. */
static void unusable_work_is_counted(void **state)
{
	static const char *const cases[] = {
		"{\"resources\": {\"gpu\": 1}}",
		"{\"resources\": {\"GPU\": 0}}",
		"{\"resources\": {\"a\\nb\": 1}}",
		"{\"resources\": {\"GPU\": 1}, \"labelSelector\": {\"a\": \"in(\"}}",
		"{\"resources\": {\"GPU\": 1}}, {\"resources\": {\"GPU\": 1}}",
		"{}",
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_work_page page;
	struct err err;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		const char *text = arena_printf(&arena,
						"{\"at\": \"2026-11-23T10:00:00Z\", \"work\": "
						"[{\"kind\": \"task\", \"bundles\": [%s]}, "
						"{\"kind\": \"task\"}]}",
						cases[i]);

		if (ray_work_read(text, strlen(text), &arena, &page, &err))
			fail_msg("%s", err.text);
		assert_int_equal(page.unusable, 1);
		assert_int_equal(page.row_count, 1);
	}
}

static void wrong_answers_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "{}", "at: is missing" },
		{ "[]", "must be an object" },
		{ "{\"at\": \"x\"}", "at: " },
		{ "{\"at\": \"2026-11-23T10:00:00Z\", \"work\": [{}]}", "work[0].kind: " },
		{ "{\"at\": \"2026-11-23T10:00:00Z\", \"work\": [{\"kind\": "
		  "\"request_resources\"}]}",
		  "work[0].kind: " },
		{ "{\"at\": \"2026-11-23T10:00:00Z\", \"lists\": [{\"list\": \"tasks\", "
		  "\"missing\": -1}]}",
		  "lists[0].missing: must not be negative" },
		{ "{\"at\": \"2026-11-23T10:00:00Z\", \"work\": [{\"kind\": \"task\", "
		  "\"bundles\": [{\"resources\": {\"GPU\": -1}}]}]}",
		  "work[0].bundles[0].resources: GPU is not an amount" },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_work_page page;
	struct err err;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		assert_int_equal(ray_work_read(cases[i].text, strlen(cases[i].text), &arena, &page,
					       &err),
				 -1);
		if (!strstr(err.text, cases[i].error))
			fail_msg("\"%s\" is not in \"%s\"", cases[i].error, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_read_back),
		cmocka_unit_test(wrong_starts_are_refused),
		cmocka_unit_test(unusable_work_is_counted),
		cmocka_unit_test(wrong_answers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
