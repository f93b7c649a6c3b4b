/* `simulate`: the table, JSON and CSV of variants, and every wrong input. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/shared/file.h"
#include "codec/text/json.h"
#include "test/support/simulate_files.h"
#include "test/support/support.h"
#include "test/support/temp_files.h"

static void a_table_has_a_row_for_each_variant(void **state)
{
	static struct cli_result result, again;
	struct simulate_files *files = *state;

	SIMULATE(&result, files, "--vary", "idleTimeoutSeconds=60,600", "--vary",
		 "packing=ray,fewest-gpus", "--baseline", "ray", "--baseline", "always-on", "--by",
		 "job", "--set", "process-start=0s");
	assert_int_equal(result.status, EXIT_DONE);
	assert_string_equal(result.errors, "");
	assert_non_null(strstr(result.output, "* idleTimeoutSeconds=60, packing=ray  "));
	assert_non_null(strstr(result.output, "\n= idleTimeoutSeconds=600, packing=fewest-gpus"));
	assert_non_null(strstr(result.output, "\n* baseline: always on "));
	assert_non_null(strstr(result.output, "\n  baseline: Ray's autoscaler "));
	assert_non_null(strstr(result.output, "never ran:\n  1 of job large: "));
	assert_non_null(strstr(
		result.output,
		"\nbest trade (least GPU-hours and GPU-hours of waiting): idleTimeoutSeconds=60, packing=ray, "));
	assert_non_null(strstr(result.output,
			       "\nshortest waiting: idleTimeoutSeconds=600, packing=ray, with "));
	/* On several threads the same bytes come again. */
	SIMULATE(&again, files, "--vary", "idleTimeoutSeconds=60,600", "--vary",
		 "packing=ray,fewest-gpus", "--baseline", "ray", "--baseline", "always-on", "--by",
		 "job", "--set", "process-start=0s");
	assert_string_equal(again.output, result.output);
}

/* The one line with this text. */
static void expect_once(const char *output, const char *text)
{
	const char *found = strstr(output, text);

	if (!found || strstr(found + 1, text))
		fail_msg("not once \"%s\" in %s", text, output);
}

/* A second RayCluster, the Namespaces of both, and a pool that counts the Nodes. */
static const char shared[] =
	"apiVersion: rayscaler.dev/v1alpha1\nkind: GPUPool\nmetadata: {name: all}\n"
	"spec: {queues: [{name: one, guaranteed: 1, namespaceSelector: {matchLabels: {team: one}}}]}\n"
	"---\nkind: Namespace\nmetadata: {name: first, labels: {team: one}}\n"
	"---\nkind: Namespace\nmetadata: {name: second}\n"
	"---\napiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a, namespace: first}\n"
	"spec:\n"
	"  enableInTreeAutoscaling: true\n"
	"  headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers: [{name: h}]}}}\n"
	"  workerGroupSpecs:\n"
	"  - groupName: gpu\n"
	"    minReplicas: 0\n"
	"    maxReplicas: 4\n"
	"    template: {spec: {containers: [{name: w, resources: {limits: {cpu: 4, nvidia.com/gpu: 1}}}]}}\n"
	"---\napiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: b, namespace: second}\n"
	"spec:\n"
	"  enableInTreeAutoscaling: true\n"
	"  headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers: [{name: h}]}}}\n"
	"  workerGroupSpecs:\n"
	"  - groupName: gpu\n"
	"    minReplicas: 0\n"
	"    maxReplicas: 4\n"
	"    template: {spec: {containers: [{name: w, resources: {limits: {cpu: 4, nvidia.com/gpu: 1}}}]}}\n";
static const char shared_work[] =
	"apiVersion: rayscaler.dev/v1alpha1\nkind: Workload\nitems:\n"
	"- {submit: 0, duration: 5m, resources: {GPU: 1}, count: 9, cluster: b}\n"
	"- {submit: 1m, duration: 5m, resources: {GPU: 1}, cluster: a}\n";
static const char shared_nodes[] =
	"apiVersion: rayscaler.dev/v1alpha1\nkind: NodePools\npools: [{name: n, allocatable: {cpu: 8, nvidia.com/gpu: 1}, minNodes: 3, maxNodes: 3}]\n";

static void queues_of_pools_have_rows(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *cluster, *work, *nodes, *report;

	temp_write(files->directory, "shared.yaml", shared);
	temp_write(files->directory, "shared_work.yaml", shared_work);
	temp_write(files->directory, "nodes.yaml", shared_nodes);
	cluster = temp_path(files->directory, "shared.yaml");
	work = temp_path(files->directory, "shared_work.yaml");
	nodes = temp_path(files->directory, "nodes.yaml");
	report = temp_path(files->directory, "shared.html");
	CLI_RUN(&result, cli_simulate, "simulate", "-f", cluster, "-w", work, "--node-pools", nodes,
		"--report", report, "--baseline", "first-come", "--baseline", "static");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, EXIT_DONE);
	expect_once(result.output, "\nas given                            pool all, 3 GPUs ");
	expect_once(result.output, "\nbaseline: static partition          one ");
	CLI_RUN(&result, cli_simulate, "simulate", "-f", cluster, "-w", work);
	assert_int_equal(result.status, EXIT_INPUT);
	expect_once(result.errors,
		    "GPUPool all: gpus is not given, and there are no Nodes to count");
	memory_free(cluster);
	memory_free(work);
	memory_free(nodes);
	memory_free(report);
}

static void what_no_pool_can_hold_has_the_closest_one(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *nodes;

	temp_write(files->directory, "small.yaml",
		   "apiVersion: rayscaler.dev/v1alpha1\nkind: NodePools\n"
		   "pools: [{name: small, allocatable: {cpu: 1}, maxNodes: 3}]\n");
	nodes = temp_path(files->directory, "small.yaml");
	SIMULATE(&result, files, "--node-pools", nodes);
	assert_non_null(strstr(result.output, ": its workers got no Node of the pools; the closest "
					      "is pool small: it has 1 cpu, "));
	memory_free(nodes);
}

static void settings_without_effect_are_named(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;

	SIMULATE(&result, files, "--set", "autoscalerOptions.idleTimeoutSeconds=300", "--vary",
		 "idleTimeoutSeconds=60,1800");
	expect_once(result.output,
		    "\nidleTimeoutSeconds: no effect: rayCluster.spec.autoscalerOptions."
		    "idleTimeoutSeconds is 300 and wins\n");
	expect_once(result.output, "\n* idleTimeoutSeconds=60 ");
	expect_once(result.output, "\n= idleTimeoutSeconds=1800 ");
	expect_once(result.output, "\nno choice: all variants are equal\n");
	assert_null(strstr(result.output, "best trade"));
	SIMULATE(&result, files, "--set", "autoscalerOptions.idleTimeoutSeconds=300", "--vary",
		 "idleTimeoutSeconds=60");
	expect_once(result.output, "\nidleTimeoutSeconds: no effect: rayCluster.spec.");
	SIMULATE(&result, files, "--set", "workerGroupSpecs[gpu].idleTimeoutSeconds=90", "--set",
		 "autoscalerOptions.idleTimeoutSeconds=300");
	expect_once(result.output,
		    "autoscalerOptions.idleTimeoutSeconds: no effect: "
		    "rayCluster.spec.workerGroupSpecs[gpu].idleTimeoutSeconds is 90 and wins\n");
	assert_null(strstr(result.output, "workerGroupSpecs[gpu].idleTimeoutSeconds: no effect"));
	SIMULATE(&result, files, "--set", "autoscalerOptions.upscalingMode=Default", "--set",
		 "upscalingMode=Conservative", "--set", "idle-timeout-seconds=9");
	expect_once(result.output,
		    "upscalingMode: no effect: rayCluster.spec.autoscalerOptions.upscalingMode is "
		    "Default and wins\n");
	assert_null(strstr(result.output, "idle-timeout-seconds: no effect"));
}

static void equal_rows_are_one_choice(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;

	SIMULATE(&result, files, "--vary", "packing=ray,fewest-gpus", "--vary",
		 "workerGroupSpecs[gpu].maxReplicas=1,3,4");
	expect_once(result.output, "\npacking: no effect: rows that differ in it alone are equal");
	expect_once(result.output, "\nequal in the whole run: packing=ray, [gpu].maxReplicas=3; "
				   "packing=ray, [gpu].maxReplicas=4\n");
	expect_once(result.output, "\n* packing=ray, [gpu].maxReplicas=3 ");
	expect_once(result.output, "\n= packing=fewest-gpus, [gpu].maxReplicas=4 ");
	assert_null(strstr(result.output, "\n* packing=fewest-gpus"));
	SIMULATE(&result, files, "-o", "json", "--vary", "packing=ray,fewest-gpus");
	expect_once(result.output, "\"sameAs\": \"packing=ray\"");
	expect_once(result.output, "\"warnings\": [\"packing: no effect: ");
	expect_once(result.output, "\"best\": false");
}

/* Two workers for 5 minutes each, one of them again at 8 minutes. */
static void gpu_hours_are_those_of_the_work(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;

	SIMULATE(&result, files, "-o", "csv", "--set", "idleTimeoutSeconds=0", "--set",
		 "process-start=0s");
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(result.output, "\n\"as given\",rayscaler,true,0."));
	/* used: 15 minutes of one GPU */
	assert_non_null(strstr(result.output, ",0.250000,"));
	assert_non_null(strstr(result.output, ",3,1,"));
}

static void json_has_all_variants(void **state)
{
	static struct cli_result result;
	const struct json_limits limits = { 1 << 20, 20, 10000, true };
	struct simulate_files *files = *state;
	struct cJSON *json = NULL;

	SIMULATE(&result, files, "-o", "json", "--vary", "pod-start=10s,40s", "--seed", "3");
	assert_int_equal(json_parse(result.output, strlen(result.output), &limits, &json, NULL), 0);
	json_free(json);
	assert_non_null(strstr(result.output, "\"vary\": {\"pod-start\": \"40s\"}"));
	assert_non_null(strstr(result.output, "\"reason\": \"NoGroupFits\""));
	assert_non_null(strstr(result.output, "\"bestTrade\": \"pod-start=10s\""));
}

/* A worker of 2 CPU becomes one of 6 for a task that needs 5; no other one starts. */
static void workers_are_resized(void **state)
{
	static const char cluster[] =
		"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: demo, annotations: {"
		"ray.io/ippr: '{\"groups\": {\"cpu\": {\"max-cpu\": 6, \"max-memory\": \"8Gi\", "
		"\"resize-timeout\": 60}}}'}}\nspec: {enableInTreeAutoscaling: true, headGroupSpec: "
		"{rayStartParams: {num-cpus: '0'}, template: {spec: {containers: [{name: h}]}}},\n"
		"  workerGroupSpecs: [{groupName: cpu, replicas: 1, minReplicas: 1, maxReplicas: 4,\n"
		"  template: {spec: {containers: [{name: w, resources: {requests: {cpu: 2, memory: "
		"4Gi},\n  limits: {cpu: 2, memory: 4Gi}}}]}}}]}\n";
	static const char work[] = "apiVersion: rayscaler.dev/v1alpha1\nkind: Workload\nitems:\n"
				   "- {submit: 0, duration: 5m, resources: {CPU: 5}}\n";
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *path = temp_path(files->directory, "resizable.yaml");
	char *workload = temp_path(files->directory, "large.yaml");

	temp_write(files->directory, "resizable.yaml", cluster);
	temp_write(files->directory, "large.yaml", work);
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", workload, "-o", "json",
		"--vary", "in-place-resize=false,true", "--set", "pod-resize=3s");
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(result.output, "\"resizes\": 0"));
	assert_non_null(strstr(result.output, "\"resizes\": 1"));
	assert_non_null(strstr(result.output, "\"neverRan\": 1"));
	assert_non_null(strstr(result.output, "\"neverRan\": 0"));
	memory_free(path);
	memory_free(workload);
}

static void the_end_is_common_to_all_rows(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;
	const char *first, *second;

	/* Workers that stay for an hour end later; the row beside them counts up to then as well. */
	SIMULATE(&result, files, "-o", "json", "--vary", "idleTimeoutSeconds=1,1800");
	first = strstr(result.output, "\"endSeconds\": ");
	assert_non_null(first);
	second = strstr(first + 1, "\"endSeconds\": ");
	assert_non_null(second);
	assert_memory_equal(first, second, strcspn(first, ","));
}

static void csv_traces_are_read(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;

	CLI_RUN(&result, cli_simulate, "simulate", "-f", files->cluster, "-w", files->trace,
		"--columns", "submit=at,duration=minutes:min,gpus=gpu", "--pod-start",
		"5s,10s,20s");
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(result.output, "  as given "));
	assert_null(strstr(result.output, "never ran:"));
	CLI_RUN(&result, cli_simulate, "simulate", "-f", files->cluster, "-w", files->trace);
	assert_int_equal(result.status, EXIT_INPUT);
	assert_non_null(strstr(result.errors, "a CSV file needs --columns, as submit=COLUMN"));
}

static void wrong_input_has_an_answer(void **state)
{
	static const struct {
		const char *flag, *value, *error;
	} bad[] = {
		{ "--vary", "packing", "--vary takes PATH=VALUE,VALUE, not packing" },
		{ "--vary", "packing=best",
		  "packing=best: packing: must be one of ray|fewest-gpus" },
		{ "--vary", "workerGroupSpecs[cpu].maxReplicas=2",
		  "--vary: workerGroupSpecs[cpu].maxReplicas: workerGroupSpecs has no element cpu" },
		{ "--vary", "groups[cpu].idleTimeoutSeconds=2,3",
		  "--vary: groups[cpu].idleTimeoutSeconds: no RayCluster has a worker group "
		  "\"cpu\"" },
		{ "--set", "warmWorkers[cpu].count=1",
		  "--set: warmWorkers[cpu].count: no RayCluster has a worker group \"cpu\"" },
		{ "--vary", "policy=ray,rays",
		  "--vary: policy: must be rayscaler, ray, always-on, first-come or static" },
		{ "--vary", "seed=1,-1",
		  "--vary: seed: must be an integer of at least 0, is \"-1\"" },
		{ "--set", "packing", "--set takes PATH=VALUE, not packing" },
		{ "--set", "scan-interval=soon",
		  "--set: scan-interval: \"soon\" is not a duration" },
		{ "--set", "nothing=1", "--set: nothing is not known; give a member of spec" },
		{ "--baseline", "none",
		  "--baseline takes ray, always-on, first-come or static, not none" },
		{ "--baseline", "rayscaler", "first-come or static, not rayscaler" },
		{ "--baseline", "static", "the policy static needs a GPUPool among the files" },
		{ "--pod-start", "5s,", "pod-start: \"\" is not a duration" },
		{ "--seed", "x", "seed: must be an integer of at least 0, is \"x\"" },
		{ "--end", "5", "--end: \"5\" is not a duration like 90s, 1h30m or 2d" },
		{ "--file", "/nope", "/nope: does not exist; name a file with" },
		{ "--workload", "/nope", "/nope: does not exist; name a file with" },
	};
	static struct cli_result result;
	struct simulate_files *files = *state;

	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		SIMULATE(&result, files, bad[i].flag, bad[i].value);
		assert_int_equal(result.status, EXIT_INPUT);
		if (!strstr(result.errors, bad[i].error))
			fail_msg("%s %s: %s", bad[i].flag, bad[i].value, result.errors);
	}
	CLI_RUN(&result, cli_simulate, "simulate", "-w", files->workload);
	assert_int_equal(result.status, EXIT_USAGE);
	CLI_RUN(&result, cli_simulate, "simulate", "-f", files->cluster);
	assert_int_equal(result.status, EXIT_USAGE);
	CLI_RUN(&result, cli_simulate, "simulate", "-f", files->workload, "-w", files->workload);
	assert_non_null(strstr(result.errors, "there is no RayCluster in the files"));
}

/* The text with the cluster as a member of a Snapshot, whose lines are indented. */
static void write_snapshot(const struct simulate_files *files, const char *object)
{
	struct arena arena = ARENA_INIT;
	char *rest = arena_strdup(&arena, simulate_cluster), *line;
	struct buf text;

	buf_init(&text, 100000);
	buf_printf(
		&text,
		"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\n"
		"now: \"2026-01-01T00:00:00Z\"\n"
		"timeZones: [{name: Mars/X, problem: 'is not in /usr/share/zoneinfo\n"
		"  (package tzdata): write a name such as Europe/Berlin'}, {name: ../../etc/passwd, problem: is not a name like\n"
		"  Europe/Berlin}]\n"
		"autoscaler: %s\nrayCluster:\n",
		object);
	while ((line = strsep(&rest, "\n")))
		buf_printf(&text, "  %s\n", line);
	temp_write(files->directory, "snapshot.yaml", buf_string(&text));
	buf_done(&text);
	arena_done(&arena);
}

/* A simulation refuses an object in the words of the condition InvalidRequest. */
static void an_object_that_cannot_be_used_is_refused(void **state)
{
	static const struct {
		const char *spec, *error;
	} bad[] = {
		{ "schedules: [{name: office, start: 0 8 * * *, duration: 9h, timeZone: Mars/X, "
		  "groups: [{name: gpu, minReplicas: 1}]}]",
		  "autoscaler.spec.schedules[0].timeZone: time zone Mars/X is not in " },
		{ "schedules: [{name: office, start: 0 8 * * *, duration: 9h, timeZone: "
		  "../../etc/passwd, groups: [{name: gpu, minReplicas: 1}]}]",
		  "autoscaler.spec.schedules[0].timeZone: time zone ../../etc/passwd is " },
		{ "schedules: [{name: office, start: 0 8 * * *, duration: 9h, groups: [{name: "
		  "gpus, minReplicas: 1}]}]",
		  "autoscaler.spec.schedules[0].groups[0].name: no group gpus; groups: gpu" },
		{ "warmWorkers: [{group: gpus, count: 1}]",
		  "autoscaler.spec.warmWorkers: no group gpus; groups: gpu" },
	};
	static struct cli_result result, plan;
	struct simulate_files *files = *state;
	char *path = temp_path(files->directory, "object.yaml");
	char *snapshot = temp_path(files->directory, "snapshot.yaml");

	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		struct arena arena = ARENA_INIT;
		const char *text = arena_printf(
			&arena,
			"{apiVersion: rayscaler.dev/v1alpha1, kind: RayClusterAutoscaler, "
			"metadata: {name: demo}, spec: {%s}}\n",
			bad[i].spec);
		static const char before[] = "rayscaler simulate: RayCluster demo: ";
		char *found;

		temp_write(files->directory, "object.yaml", text);
		write_snapshot(files, text);
		SIMULATE(&result, files, "-f", path, "--baseline", "ray");
		assert_int_equal(result.status, EXIT_INPUT);
		found = strstr(result.errors, before);
		if (!found || !strstr(found, bad[i].error))
			fail_msg("%s: %s", bad[i].spec, result.errors);
		found += strlen(before);
		found[strcspn(found, "\n")] = '\0';
		CLI_RUN(&plan, cli_plan, "plan", "-f", snapshot, "-o", "json");
		if (!strstr(plan.output, found))
			fail_msg("plan has not \"%s\": %s", found, plan.output);
		arena_done(&arena);
	}
	memory_free(path);
	memory_free(snapshot);
}

static void too_many_combinations_are_refused(void **state)
{
	static struct cli_result result;
	const char *values = "seed=1,2,3,4,5,6,7,8,9,10";
	struct simulate_files *files = *state;

	SIMULATE(&result, files, "--vary", values, "--vary", values, "--vary", values, "--vary",
		 "seed=1,2");
	assert_int_equal(result.status, EXIT_INPUT);
	assert_non_null(
		strstr(result.errors, "--vary makes more than 1000 combinations; give fewer"));
}

/* ---- the page ---- */

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

/* The page of a RayCluster file with this end. */
static void page_of(struct simulate_files *files, const char *end, struct buf *page)
{
	static struct cli_result result;
	struct arena arena = ARENA_INIT;
	char *path = temp_path(files->directory, "two.yaml");
	char *report = temp_path(files->directory, "two.html");
	struct err err;

	temp_write(files->directory, "two.yaml",
		   arena_printf(&arena, "%s%s", simulate_cluster, end));
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", files->workload, "--vary",
		"idleTimeoutSeconds=60,600", "--report", report);
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, EXIT_DONE);
	buf_init(page, (size_t)16 << 20);
	assert_int_equal(file_read(report, "a page", page, &err), 0);
	arena_done(&arena);
	memory_free(path);
	memory_free(report);
}

static void a_page_has_the_json_and_loads_nothing(void **state)
{
	static struct cli_result result;
	struct simulate_files *files = *state;
	struct buf page;
	const char *data;

	page_of(files, "", &page);
	data = strstr(buf_string(&page), "<script type=\"application/json\" id=\"data\">{\n");
	assert_non_null(data);
	assert_non_null(strstr(data, "\"kind\": \"SimulationResult\""));
	assert_non_null(strstr(data, "\"name\": \"idleTimeoutSeconds=600\""));
	assert_non_null(strstr(data, "\"to\": 2, \"reason\": \""));
	assert_non_null(strstr(data, ", 2, 2, 2]"));
	assert_non_null(strstr(buf_string(&page), "default-src 'none'"));
	assert_null(strstr(buf_string(&page), "http:"));
	buf_done(&page);
	SIMULATE(&result, files, "-o", "json");
	assert_null(strstr(result.output, "\"points\""));
	SIMULATE(&result, files, "--vary", "seed=1,2,3,4,5,6,7,8", "--vary",
		 "idleTimeoutSeconds=1,2,3,4,5,6,7", "--report", "/nope/page.html");
	assert_non_null(strstr(result.errors, "--report shows at most 50 rows, not 56"));
	SIMULATE(&result, files, "--report", "/nope/page.html");
	assert_non_null(strstr(result.errors, "/nope/page.html: cannot be written: "));
}

/* A text of a file ends neither the data of the page nor its script. */
static void text_of_a_page_is_escaped(void **state)
{
	struct buf page;

	page_of(*state, "# </script><script>alert(\"x\")</script>\n", &page);
	expect_once(buf_string(&page), "# \\u003c/script>\\u003cscript>alert(\\\"x\\\")");
	assert_int_equal(count_of(buf_string(&page), "</script>"), 2);
	assert_int_equal(count_of(buf_string(&page), "<script"), 2);
	buf_done(&page);
}

/* A second group, of CPUs. */
static void groups_without_gpus_have_no_points(void **state)
{
	static const char more[] =
		"  - {groupName: cpu, minReplicas: 0, maxReplicas: 4, template: {spec: {containers: "
		"[{name: w, resources: {limits: {cpu: 4}}}]}}}\n";
	struct buf page;

	page_of(*state, more, &page);
	assert_int_equal(count_of(buf_string(&page), "\"name\": \"cpu\""), 2);
	assert_int_equal(count_of(buf_string(&page), "\"points\": [["), 2);
	assert_null(strstr(buf_string(&page), "e-07"));
	buf_done(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_a_row_for_each_variant),
		cmocka_unit_test(settings_without_effect_are_named),
		cmocka_unit_test(queues_of_pools_have_rows),
		cmocka_unit_test(what_no_pool_can_hold_has_the_closest_one),
		cmocka_unit_test(equal_rows_are_one_choice),
		cmocka_unit_test(gpu_hours_are_those_of_the_work),
		cmocka_unit_test(json_has_all_variants),
		cmocka_unit_test(workers_are_resized),
		cmocka_unit_test(the_end_is_common_to_all_rows),
		cmocka_unit_test(csv_traces_are_read),
		cmocka_unit_test(wrong_input_has_an_answer),
		cmocka_unit_test(an_object_that_cannot_be_used_is_refused),
		cmocka_unit_test(too_many_combinations_are_refused),
		cmocka_unit_test(a_page_has_the_json_and_loads_nothing),
		cmocka_unit_test(text_of_a_page_is_escaped),
		cmocka_unit_test(groups_without_gpus_have_no_points),
	};

	return cmocka_run_group_tests(tests, simulate_files_setup, simulate_files_teardown);
}
