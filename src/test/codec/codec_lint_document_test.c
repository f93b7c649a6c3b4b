#include "feature/lint/objects/lint_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"

static struct settings settings;

static void lint(struct lint_report *report, struct arena *arena, const char *text)
{
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };

	settings_init(&settings);
	lint_report_init(report, arena);
	lint_text_add(report, "f.yaml", text, strlen(text), &context);
	lint_report_finish(report, &context);
}

/* "LINE:COLUMN rule OBJECT PATH | message | fix" of each finding with one of the rules. */
static const char *declared(const struct lint_report *report, const char *rules,
			    struct arena *arena)
{
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, 1 << 20);
	for (size_t i = 0; i < report->list.count; i++) {
		const struct lint_entry *entry = &report->list.at[i];

		if (strstr(rules, entry->finding.rule))
			buf_printf(&buf, "%u:%u %s %s %s | %s\n", entry->at.line, entry->at.column,
				   entry->finding.rule, entry->object, entry->finding.path,
				   entry->finding.fix);
	}
	return arena_strdup(arena, buf_string(&buf));
}

/* The findings that this layer makes. */
#define OWN "cannot-be-read wrong-type ray-start-param-not-string"

static void check(const char *text, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lint_report report;

	lint(&report, &arena, text);
	assert_string_equal(declared(&report, OWN, &arena), wanted);
}

#define HEAD "kind: RayCluster\napiVersion: ray.io/v1\nmetadata: {name: a, namespace: n}\nspec:\n"

static void test_kinds(void **state)
{
	static const struct {
		const char *text, *wanted;
	} table[] = {
		{ HEAD "  suspend: 1\n",
		  "5:3 wrong-type RayCluster n/a spec.suspend | suspend: true\n" },
		{ "kind: RayJob\nmetadata: {name: a}\nspec:\n  rayClusterSpec: {suspend: 1}\n",
		  "4:20 wrong-type RayJob a spec.rayClusterSpec.suspend | suspend: true\n" },
		{ "kind: RayService\nmetadata: {name: a}\nspec: {rayClusterConfig: {suspend: 1}}",
		  "3:27 wrong-type RayService a spec.rayClusterConfig.suspend | suspend: true\n" },
		{ "kind: RayCronJob\nmetadata: {name: a}\n"
		  "spec: {jobTemplate: {rayClusterSpec: {suspend: 1}}}",
		  "3:39 wrong-type RayCronJob a spec.jobTemplate.rayClusterSpec.suspend | suspend: true\n" },
		/* A RayJob that uses a RayCluster of another object. */
		{ "kind: RayJob\nmetadata: {name: a}\nspec: {clusterSelector: {a: b}}\n", "" },
		{ "kind: Deployment\nspec: 5\n", "" },
		{ "kind: RayCluster\napiVersion: other.io/v1\nspec: 5\n", "" },
		{ "kind: 7\n", "" },
		{ "- 1\n", "" },
		{ "", "" },
		{ "---\n---\n", "" },
		{ "{\"kind\": \"List\", \"items\": [{\"kind\": \"Pod\"},\n"
		  "{\"kind\": \"RayCluster\", \"metadata\": {\"generateName\": \"g-\"},\n"
		  "\"spec\": {\"suspend\": \"x\"}}, 7]}",
		  "3:10 wrong-type RayCluster g- spec.suspend | suspend: true|false\n" },
		{ "kind: RayClusterList\nitems:\n- " HEAD, "" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table) - 1; i++)
		check(table[i].text, table[i].wanted);
}

#define GROUP                                                                                      \
	HEAD "  rayVersion: 2.60.0\n  headGroupSpec:\n    template:\n      spec:\n        "        \
	     "containers: [{name: c, image: a}]\n"                                                 \
	     "  workerGroupSpecs:\n  - groupName: g\n    template:\n      spec:\n"
#define CONTAINER "        containers: [{name: c, image: a}]\n"

/* Fields that no decoder reads: by KubeRay's definitions. A value with a finding has one. */
static void test_schema(void **state)
{
	static const char of_all[] = "wrong-type field-invalid unknown-field";
	static const struct {
		const char *text, *wanted;
	} table[] = {
		{ GROUP CONTAINER
		  "        hostNetwork: 'true'\n        securityContext: {runAsUser: "
		  "root}\n        priorityClassName: 7\n",
		  "15:9 wrong-type RayCluster n/a spec.workerGroupSpecs[0].template.spec.hostNetwork | "
		  "hostNetwork: true\n"
		  "16:27 wrong-type RayCluster n/a "
		  "spec.workerGroupSpecs[0].template.spec.securityContext.runAsUser | runAsUser: NUMBER\n"
		  "17:9 wrong-type RayCluster n/a "
		  "spec.workerGroupSpecs[0].template.spec.priorityClassName | priorityClassName: \"7\"\n" },
		{ GROUP CONTAINER
		  "        tolerations: [{operator: Exist, effect: NoSchedule}]\n"
		  "        dnsConfig: {nameserver: [a]}\n        imagePullSecrets: [a]\n",
		  "15:24 field-invalid RayCluster n/a "
		  "spec.workerGroupSpecs[0].template.spec.tolerations[0].operator | \n"
		  "16:21 unknown-field RayCluster n/a "
		  "spec.workerGroupSpecs[0].template.spec.dnsConfig.nameserver | \n"
		  "17:28 wrong-type RayCluster n/a "
		  "spec.workerGroupSpecs[0].template.spec.imagePullSecrets[0] | \n" },
		{ GROUP "        containers: [{name: c, image: a, volumeMounts: [{name: v}]}]\n"
			"        volumes: [{name: v}]\n",
		  "14:57 field-invalid RayCluster n/a "
		  "spec.workerGroupSpecs[0].template.spec.containers[0].volumeMounts[0] | mountPath: "
		  "VALUE\n" },
		{ "kind: RayJob\nmetadata: {name: a}\nspec:\n  entrypoint: [a]\n  rayClusterSpecs: {}\n"
		  "  clusterSelector: {ray.io/cluster: b}\napiVersion: ray.io/v1\n",
		  "4:3 wrong-type RayJob a spec.entrypoint | \n"
		  "5:3 unknown-field RayJob a spec.rayClusterSpecs | \n" },
		{ "kind: RayCronJob\nmetadata: {name: a}\nspec: {schedule: '0 8 * * *', jobTemplate: "
		  "{jobId: 1, clusterSelector: {a: b}}}\napiVersion: ray.io/v1\n",
		  "3:45 wrong-type RayCronJob a spec.jobTemplate.jobId | jobId: \"1\"\n" },
		{ GROUP CONTAINER
		  "        workloadRef: {name: a}\n        tolerations: [{effect: ''}]\n",
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct lint_report report;

		lint(&report, &arena, table[i].text);
		assert_string_equal(declared(&report, of_all, &arena), table[i].wanted);
	}
}

static void test_types(void **state)
{
	static const char text[] = HEAD
		"  enableInTreeAutoscaling: \"true\"\n" /* line 5 */
		"  rayVersion: 2.90\n"
		"  autoscalerOptions: []\n"
		"  headGroupSpec:\n"
		"    rayStartParams: {num-cpus: 0, block: true, x: [], dashboard-host: null}\n"
		"    template: {spec: {nodeSelector: {gpu: true, \"a\\\"b\": 1}, containers: x}}\n"
		"  workerGroupSpecs:\n"
		"  - 7\n"
		"  - groupName: g\n"
		"    replicas: '3'\n"
		"    maxReplicas: 1.5\n"
		"    minReplicas: 1e300\n"
		"    resources: {CPU: 4}\n"
		"    template:\n"
		"      spec:\n"
		"        tolerations: {key: a}\n"
		"        containers:\n"
		"        - name: c\n"
		"          args: [1, {a: b}, null]\n"
		"          env: [{name: A, value: 1}, null]\n"
		"          resources: {limits: {cpu: 4, memory: [1], nvidia.com/gpu: true}}\n";

	(void)state;
	check(text,
	      "5:3 wrong-type RayCluster n/a spec.enableInTreeAutoscaling |"
	      " enableInTreeAutoscaling: true\n"
	      "6:3 wrong-type RayCluster n/a spec.rayVersion | rayVersion: \"2.90\"\n"
	      "7:3 wrong-type RayCluster n/a spec.autoscalerOptions | autoscalerOptions:\n  NAME: VALUE\n"
	      "9:22 ray-start-param-not-string RayCluster n/a"
	      " spec.headGroupSpec.rayStartParams.num-cpus | num-cpus: \"0\"\n"
	      "9:35 ray-start-param-not-string RayCluster n/a"
	      " spec.headGroupSpec.rayStartParams.block | block: \"true\"\n"
	      "9:48 ray-start-param-not-string RayCluster n/a"
	      " spec.headGroupSpec.rayStartParams.x | \n"
	      "10:38 wrong-type RayCluster n/a spec.headGroupSpec.template.spec.nodeSelector.gpu |"
	      " gpu: \"true\"\n"
	      "10:49 wrong-type RayCluster n/a"
	      " spec.headGroupSpec.template.spec.nodeSelector[\"a\"b\"] | \"a\"b\": \"1\"\n"
	      "10:61 wrong-type RayCluster n/a spec.headGroupSpec.template.spec.containers | containers:\n- MEMBER: VALUE\n"
	      "12:5 wrong-type RayCluster n/a spec.workerGroupSpecs[0] | - MEMBER: VALUE\n"
	      "14:5 wrong-type RayCluster n/a spec.workerGroupSpecs[1].replicas | replicas: 3\n"
	      "15:5 wrong-type RayCluster n/a spec.workerGroupSpecs[1].maxReplicas | maxReplicas: NUMBER\n"
	      "16:5 wrong-type RayCluster n/a spec.workerGroupSpecs[1].minReplicas | minReplicas: NUMBER\n"
	      "17:17 wrong-type RayCluster n/a spec.workerGroupSpecs[1].resources.CPU |"
	      " CPU: \"4\"\n"
	      "20:9 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.tolerations | tolerations:\n- key: a\n"
	      "23:18 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].args[0] | - \"1\"\n"
	      "23:21 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].args[1] | \n"
	      "23:29 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].args[2] | \n"
	      "24:27 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].env[0].value |"
	      " value: \"1\"\n"
	      "24:38 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].env[1] | - MEMBER: VALUE\n"
	      "25:40 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].resources.limits.memory | \n"
	      "25:53 wrong-type RayCluster n/a"
	      " spec.workerGroupSpecs[1].template.spec.containers[0].resources.limits"
	      "[\"nvidia.com/gpu\"] | \n");
}

/* Wrong types hide no other findings and are reported once. */
static void test_wrong_types_hide_nothing(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lint_report report;

	(void)state;
	lint(&report, &arena,
	     HEAD "  rayVersion: 2\n"
		  "  workerGroupSpecs:\n"
		  "  - 7\n"
		  "  - {groupName: g, minReplicas: 5, maxReplicas: 3, rayStartParams: {a: 1},"
		  " template: {spec: {containers: [{name: c, image: 5,"
		  " resources: {limits: {cpu: 1Gx}}}]}}}\n"
		  "  - {groupName: g, maxReplicas: -1}\n");
	assert_string_equal(
		declared(&report,
			 OWN " min-above-max field-invalid quantity-invalid request-invalid",
			 &arena),
		"5:3 wrong-type RayCluster n/a spec.rayVersion | rayVersion: \"2\"\n"
		"7:5 wrong-type RayCluster n/a spec.workerGroupSpecs[0] | - MEMBER: VALUE\n"
		"8:36 min-above-max RayCluster n/a spec.workerGroupSpecs[1].maxReplicas |"
		" maxReplicas: 5  # or minReplicas: 3\n"
		"8:69 ray-start-param-not-string RayCluster n/a"
		" spec.workerGroupSpecs[1].rayStartParams.a | a: \"1\"\n"
		"8:117 wrong-type RayCluster n/a"
		" spec.workerGroupSpecs[1].template.spec.containers[0].image | image: \"5\"\n"
		"8:148 quantity-invalid RayCluster n/a"
		" spec.workerGroupSpecs[1].template.spec.containers[0].resources.limits.cpu | cpu: 1G\n"
		"9:6 field-invalid RayCluster n/a spec.workerGroupSpecs[2].groupName | \n"
		"9:20 field-invalid RayCluster n/a spec.workerGroupSpecs[2].maxReplicas | \n");
	assert_true(report.counts[LINT_ERROR] >= 8);
	assert_int_equal(report.counts[LINT_ERROR] + report.counts[LINT_WARNING] +
				 report.counts[LINT_INFO],
			 report.list.count);
}

static void test_no_name(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lint_report report;

	(void)state;
	lint(&report, &arena, "kind: RayCluster\nmetadata: {}\nspec: {}\napiVersion: ray.io/v1\n");
	assert_string_equal(declared(&report, "field-invalid", &arena),
			    "2:1 field-invalid RayCluster metadata | name: NAME\n");
	lint(&report, &arena,
	     "kind: RayJob\nmetadata: {name: a}\nspec: {clusterSelector: {a: b}}\n");
	assert_string_equal(declared(&report, "field-invalid", &arena),
			    "1:1 field-invalid RayJob a apiVersion | apiVersion: ray.io/v1\n");
	check("kind: RayCluster\nmetadata: {name: 5, labels: {a: 1}}\nspec: null\n",
	      "2:12 wrong-type RayCluster metadata.name | name: \"5\"\n"
	      "2:30 wrong-type RayCluster metadata.labels.a | a: \"1\"\n");
}

static void test_documents(void **state)
{
	(void)state;
	check(HEAD "  suspend: 1\n---\n" HEAD "  suspend: 2\n---\na: 1\nb: 2\na: 3\n---\n" HEAD
		   "  suspend: 3\n",
	      "5:3 wrong-type RayCluster n/a spec.suspend | suspend: true\n"
	      "11:3 wrong-type RayCluster n/a spec.suspend | suspend: true|false\n"
	      "15:1 cannot-be-read   | \n");
}

static void test_unreadable(void **state)
{
	static const struct {
		const char *text, *wanted;
	} table[] = {
		{ "a: [1\nb", "3:1 cannot-be-read   | \n" },
		{ "\ta: 1", "1:1 cannot-be-read   | \n" },
		{ "{{- if .Values.x }}\n", "1:2 cannot-be-read   | \n" },
		{ "{\"a\": 1,\n \"a\": 2}", "2:2 cannot-be-read   | \n" },
		{ "{\"a\": 1} {\"a\": 1}", "1:10 cannot-be-read   | \n" },
		{ "a: !include x\n", "1:4 cannot-be-read   | \n" },
		{ "a: *nowhere\n", "1:4 cannot-be-read   | \n" },
		{ "a: 1\nb: \xFF\n", "2:4 cannot-be-read   | \n" },
		/* Flow style of YAML looks like JSON and is not JSON. */
		{ "{kind: RayCluster, metadata: {name: a}, spec: {suspend: 1}}",
		  "1:48 wrong-type RayCluster a spec.suspend | suspend: true\n" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++)
		check(table[i].text, table[i].wanted);
}

/* Nine aliases of nine of nine ...: refused where it gets too much, with little memory. */
static void test_bomb(void **state)
{
	AUTO(buf_done) struct buf text;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_add_string(&text, "l0: &l0 [x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++) {
		buf_printf(&text, "l%d: &l%d [", i, i);
		for (int j = 0; j < 9; j++)
			buf_printf(&text, "%s*l%d", j ? ", " : "", i - 1);
		buf_add_string(&text, "]\n");
	}
	check(buf_string(&text), "5:10 cannot-be-read   | \n");
}

static void test_many_groups(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	struct lint_report report;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_add_string(&text, HEAD "  workerGroupSpecs:\n");
	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "  - {groupName: g%d, rayStartParams: {a: 1}}\n", i);
	lint(&report, &arena, buf_string(&text));
	assert_string_equal(declared(&report, "cannot-be-read", &arena),
			    "5:3 cannot-be-read RayCluster n/a spec.workerGroupSpecs | \n");
	assert_int_equal(report.list.count, 10001);
}

/* Findings above the limit are not kept, but counted. */
static void test_findings_are_bounded(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	struct lint_report report;
	size_t count = LINT_ENTRIES_MAX + 1000;

	(void)state;
	buf_init(&text, 8 << 20);
	buf_add_string(&text, HEAD "  headGroupSpec:\n    rayStartParams:\n");
	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "      p%zu: %zu\n", i, i);
	lint(&report, &arena, buf_string(&text));
	assert_int_equal(report.list.count, LINT_ENTRIES_MAX);
	assert_true(report.dropped >= 1000);
	assert_int_equal(report.counts[LINT_ERROR] + report.counts[LINT_WARNING] +
				 report.counts[LINT_INFO],
			 report.dropped + LINT_ENTRIES_MAX);
}

/* Of two RayClusters of one name the one in the same file counts. Texts of all files are kept up to a
 * limit, above which their findings would be missing: that is one. */
static void test_autoscalers(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf large;
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };
	static const char other[] = HEAD "  workerGroupSpecs: [{groupName: b}]\n";
	static const char text[] = HEAD
		"  workerGroupSpecs: [{groupName: a}]\n---\n"
		"{kind: RayClusterAutoscaler, metadata: {name: a, namespace: n}, spec: {"
		" warmWorkers: [{group: a, count: 1}, {group: b, count: 1}], paused: 1}}\n";
	struct lint_report report;

	(void)state;
	settings_init(&settings);
	lint_report_init(&report, &arena);
	lint_text_add(&report, "a.yaml", text, strlen(text), &context);
	lint_text_add(&report, "b.yaml", other, strlen(other), &context);
	buf_init(&large, LINT_FILE_BYTES_MAX);
	buf_add_string(&large, "kind: RayClusterAutoscaler\n#");
	while (large.size < LINT_FILE_BYTES_MAX - 1)
		buf_add_char(&large, '-');
	lint_text_add(&report, "c.yaml", buf_string(&large), large.size, &context);
	lint_report_finish(&report, &context);
	assert_string_equal(
		declared(&report, "group-unknown wrong-type cannot-be-read", &arena),
		"7:110 group-unknown RayClusterAutoscaler n/a spec.warmWorkers[1].group | \n"
		"7:132 wrong-type RayClusterAutoscaler n/a spec.paused | paused: true\n"
		"0:0 cannot-be-read   | \n");
	assert_int_equal(report.autoscalers, 2);
	assert_int_equal(report.objects, 2);
	assert_int_equal(report.files, 3);
}

#define PARTS_CLUSTER                                                                                \
	HEAD "  enableInTreeAutoscaling: true\n"                                                     \
	     "  headGroupSpec: {template: {spec: {containers: [{name: h}]}}}\n"                      \
	     "  workerGroupSpecs:\n"                                                                 \
	     "  - groupName: g\n"                                                                    \
	     "    maxReplicas: 2\n"                                                                  \
	     "    minReplicas: 3\n"                                                                  \
	     "    template: {spec: {resourceClaims: [{name: x, resourceClaimTemplateName: parts}], " \
	     "containers: [{name: w, resources: {limits: {cpu: 1}, claims: [{name: x}]}}]}}\n"
#define PARTS_TEMPLATE(namespace)                                                                                                     \
	"apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n"                                                               \
	"metadata: {name: parts, namespace: " namespace "}\nspec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: " \
							"mig.nvidia.com, count: 2}}]}}}\n"

/* A template after the RayCluster, or in another file. Findings of other rules are there once, and a
 * template that the files do not have may exist. */
static void test_claims(void **state)
{
	static const char one[] =
		"9:5 min-above-max RayCluster n/a spec.workerGroupSpecs[0].maxReplicas | "
		"maxReplicas: 3  # or minReplicas: 2\n";
	static const char *const texts[] = {
		PARTS_CLUSTER "---\n" PARTS_TEMPLATE("n"),
		PARTS_TEMPLATE("n") "---\n" PARTS_CLUSTER,
		PARTS_CLUSTER "---\n" PARTS_TEMPLATE("m"),
		PARTS_CLUSTER,
	};
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct lint_report report;
		const char *found;

		lint(&report, &arena, texts[i]);
		assert_int_equal(report.objects, 1);
		assert_string_equal(declared(&report, OWN " claim-missing field-invalid", &arena),
				    "");
		found = declared(&report, "claim-of-parts", &arena);
		assert_true((*found != '\0') == (i < 2));
		if (i != 1)
			assert_string_equal(declared(&report, "min-above-max", &arena), one);
	}
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lint_report report;
	static const char cluster[] = PARTS_CLUSTER, template_[] = PARTS_TEMPLATE("n");

	lint_report_init(&report, &arena);
	lint_text_add(&report, "a.yaml", cluster, strlen(cluster), &context);
	lint_text_add(&report, "b.yaml", template_, strlen(template_), &context);
	lint_report_finish(&report, &context);
	assert_non_null(strstr(declared(&report, "claim-of-parts", &arena), "RayCluster n/a"));
	assert_int_equal(report.files, 2);
}

static void test_order(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };
	static const char text[] = "kind: RayCluster\nmetadata: {name: a}\nspec:\n"
				   "  workerGroupSpecs: [5, 6]\n  suspend: 1\n";
	struct lint_report report;
	size_t i;

	(void)state;
	settings_init(&settings);
	lint_report_init(&report, &arena);
	lint_text_add(&report, "z", text, strlen(text), &context);
	lint_problem_add(&report, "a", "", "cannot be opened");
	lint_text_add(&report, "b", text, strlen(text), &context);
	lint_report_finish(&report, &context);
	for (i = 1; i < report.list.count; i++) {
		const struct lint_entry *a = &report.list.at[i - 1], *b = &report.list.at[i];

		assert_true(a->file_number < b->file_number ||
			    (a->file_number == b->file_number &&
			     (a->at.line < b->at.line ||
			      (a->at.line == b->at.line && a->at.column <= b->at.column))));
	}
	assert_string_equal(report.list.at[0].file, "z");
	assert_string_equal(report.list.at[report.list.count - 1].file, "b");
	assert_int_equal(report.files, 3);
	assert_int_equal(report.objects, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),       cmocka_unit_test(test_schema),
		cmocka_unit_test(test_types),       cmocka_unit_test(test_wrong_types_hide_nothing),
		cmocka_unit_test(test_no_name),     cmocka_unit_test(test_documents),
		cmocka_unit_test(test_unreadable),  cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_many_groups), cmocka_unit_test(test_findings_are_bounded),
		cmocka_unit_test(test_autoscalers), cmocka_unit_test(test_claims),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
