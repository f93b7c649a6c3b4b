/* Unknown fields and refused values of RayClusters in files, against the definition in crd/. */
#include "feature/lint/objects/lint_document.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"

#define CRD "crd/rayclusters.ray.io.yaml"
#define HEAD "kind: RayCluster\napiVersion: ray.io/v1\nmetadata: {name: a, namespace: n}\nspec:\n"

static void lint(struct lint_report *report, struct arena *arena, const char *text)
{
	struct settings settings;
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };

	settings_init(&settings);
	lint_report_init(report, arena);
	lint_text_add(report, "f.yaml", text, strlen(text), &context);
	lint_report_finish(report, &context);
}

static void check_rule(const char *rule, const char *text, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf found;
	struct lint_report report;

	buf_init(&found, 1 << 20);
	lint(&report, &arena, text);
	for (size_t i = 0; i < report.list.count; i++) {
		const struct lint_entry *entry = &report.list.at[i];

		if (strcmp(entry->finding.rule, rule) == 0)
			buf_printf(&found, "%u:%u %s: %s\n", entry->at.line, entry->at.column,
				   entry->finding.path, entry->finding.message);
	}
	assert_string_equal(buf_string(&found), wanted);
}

#define REFUSES " is not a field of a RayCluster here; the API server drops or refuses it"

static void test_unknown_fields(void **state)
{
	(void)state;
	check_rule(
		"unknown-field",
		HEAD "  enableInTreeAutoscalling: true\n" /* line 5 */
		     "  autoscalerOptions: {idleTimeout: 5}\n"
		     "  zone: a\n"
		     "  workerGroupSpecs:\n"
		     "  - 7\n"
		     "  - groupName: g\n"
		     "    minreplicas: 1\n"
		     "    maxReplica: 2\n"
		     "    scaleStrategy: {workerToDelete: []}\n"
		     "    template: {metadata: {anything: 1}}\n",
		"5:3 spec.enableInTreeAutoscalling: enableInTreeAutoscalling" REFUSES
		"; did you mean enableInTreeAutoscaling?\n"
		"6:23 spec.autoscalerOptions.idleTimeout: idleTimeout" REFUSES
		"; did you mean idleTimeoutSeconds?\n"
		"7:3 spec.zone: zone" REFUSES "; correct the name, or remove the line\n"
		"11:5 spec.workerGroupSpecs[1].minreplicas: minreplicas" REFUSES
		"; did you mean minReplicas?\n"
		"12:5 spec.workerGroupSpecs[1].maxReplica: maxReplica" REFUSES
		"; did you mean maxReplicas?\n"
		"13:21 spec.workerGroupSpecs[1].scaleStrategy.workerToDelete: workerToDelete" REFUSES
		"; did you mean workersToDelete?\n");
	check_rule("unknown-field",
		   "kind: RayJob\napiVersion: ray.io/v1\nmetadata: {name: a}\n"
		   "spec: {rayClusterSpec: {suspended: true}}\n",
		   "4:25 spec.rayClusterSpec.suspended: suspended" REFUSES
		   "; did you mean suspend?\n");
	check_rule("unknown-field", "kind: RayClutser\napiVersion: ray.io/v1\n",
		   "1:1 kind: kind \"RayClutser\" of ray.io is unknown, so it is skipped; did you "
		   "mean RayCluster?\n");
	check_rule("unknown-field", "kind: Deploymnt\napiVersion: apps/v1\nzone: a\n", "");
}

static void test_unknown_fields_of_a_pod_template(void **state)
{
	(void)state;
	check_rule(
		"unknown-field",
		HEAD "  headGroupSpec:\n"
		     "    template: {metadat: {}, spec: {container: []}}\n"
		     "  workerGroupSpecs:\n"
		     "  - groupName: g\n"
		     "    template:\n"
		     "      spec:\n"
		     "        tolerationes: []\n"
		     "        initContainers: [{images: a}]\n"
		     "        containers:\n"
		     "        - name: a\n"
		     "          resource: {limits: {nvidia.com/gpu: 1}}\n"
		     "        - name: b\n"
		     "          resources: {limit: {nvidia.com/gpu: 1}}\n",
		"6:16 spec.headGroupSpec.template.metadat: metadat" REFUSES
		"; did you mean metadata?\n"
		"6:36 spec.headGroupSpec.template.spec.container: container" REFUSES
		"; did you mean containers?\n"
		"11:9 spec.workerGroupSpecs[0].template.spec.tolerationes: tolerationes" REFUSES
		"; did you mean tolerations?\n"
		"12:27 spec.workerGroupSpecs[0].template.spec.initContainers[0].images: images" REFUSES
		"; did you mean image?\n"
		"15:11 spec.workerGroupSpecs[0].template.spec.containers[0].resource: resource" REFUSES
		"; did you mean resources?\n"
		"17:23 spec.workerGroupSpecs[0].template.spec.containers[1].resources.limit: "
		"limit" REFUSES "; did you mean limits?\n");
}

static void test_refused_values(void **state)
{
	(void)state;
	check_rule(
		"field-invalid",
		HEAD
		"  autoscalerOptions: {upscalingMode: Fast, version: v3, idleTimeoutSeconds: -1}\n"
		"  workerGroupSpecs:\n"
		"  - {groupName: g, replicas: -1, template: {}}\n"
		"  - {groupName: g, template: {}}\n",
		"5:23 spec.autoscalerOptions.upscalingMode: autoscalerOptions.upscalingMode: must be one of Default, "
		"Aggressive, Conservative, is \"Fast\"; it counts as not given; write the value that "
		"you mean, or remove the line\n"
		"5:44 spec.autoscalerOptions.version: version must be one of v1, v2, is \"v3\"; the "
		"API server refuses the object\n"
		"5:57 spec.autoscalerOptions.idleTimeoutSeconds: autoscalerOptions.idleTimeoutSeconds: "
		"must not be negative, is -1; it counts as not given; write the value that you mean, or remove "
		"the line\n"
		"7:20 spec.workerGroupSpecs[0].replicas: workerGroupSpecs[0].replicas: must be 0 to "
		"2147483647, is -1; "
		"write the value that you mean, or remove the line\n"
		"8:6 spec.workerGroupSpecs[1].groupName: workerGroupSpecs[1].groupName: an earlier "
		"group has this name; write the value that you mean, or remove the line\n");
	check_rule("field-invalid",
		   "kind: RayCluster\napiVersion: ray.io/v1\nmetadata: {name: a}\n",
		   "1:1 : the object has no spec; the API server refuses it: add spec with "
		   "headGroupSpec and workerGroupSpecs\n");
}

/* ---- the definition ---- */

/* An object with all members of a schema, and one more, which alone is unknown. In the path "[]"
 * follows the name of a list. */
static void check_schema(const char *path, const struct cJSON *properties)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	struct lint_report report;
	size_t depth = 0, unknown = 0;
	bool lists[16];

	buf_init(&text, 1 << 20);
	buf_add_string(&text, "{\"kind\": \"RayCluster\", \"metadata\": {\"name\": \"a\"}");
	for (const char *at = path; *at != '\0'; depth++) {
		size_t size = strcspn(at, ".");

		lists[depth] = at[size - 1] == ']';
		buf_printf(&text, "%s\"%.*s\": %s", depth == 0 ? ", " : "{",
			   (int)size - 2 * lists[depth], at, lists[depth] ? "[" : "");
		at += size + (at[size] == '.');
	}
	buf_add_string(&text, "{\"zzz\": null");
	for (const struct cJSON *one = properties->child; one; one = one->next)
		buf_printf(&text, ", \"%s\": null", one->string);
	while (depth > 0)
		buf_add_string(&text, lists[--depth] ? "}]" : "}");
	buf_add_char(&text, '}');
	lint(&report, &arena, buf_string(&text));
	for (size_t i = 0; i < report.list.count; i++) {
		const struct lint_finding *finding = &report.list.at[i].finding;

		if (strcmp(finding->rule, "unknown-field") != 0)
			continue;
		unknown++;
		if (strcmp(strrchr(finding->path, '.'), ".zzz") != 0)
			fail_msg("%s is a field of " CRD ", and lint does not know it",
				 finding->path);
	}
	if (unknown != 1)
		fail_msg("%s: lint does not check the names of its members", path);
}

static bool is_kept(const struct cJSON *schema, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(
		       schema, "x-kubernetes-preserve-unknown-fields")) ||
	       strcmp(name, "template") == 0;
}

static size_t walk(struct arena *arena, const char *path, const struct cJSON *schema)
{
	const struct cJSON *items = cJSON_GetObjectItemCaseSensitive(schema, "items");
	const struct cJSON *properties;
	size_t count = 1;

	schema = items ? items : schema;
	properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	if (!properties || is_kept(schema, strrchr(path, '.') ? strrchr(path, '.') + 1 : path))
		return 0;
	check_schema(path, properties);
	for (const struct cJSON *one = properties->child; one; one = one->next)
		count += walk(arena,
			      arena_printf(arena, "%s.%s%s", path, one->string,
					   cJSON_GetObjectItemCaseSensitive(one, "items") ? "[]" :
											    ""),
			      one);
	return count;
}

static void test_fields_of_the_definition(void **state)
{
	static const char *const path[] = { "spec", "versions" };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	static char text[1 << 17];
	FILE *file = fopen(CRD, "re");
	struct cJSON *at;

	(void)state;
	if (!file)
		fail_msg(CRD " cannot be opened; run from the top of the source tree");
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	tree = codec_tree(text);
	at = tree;
	for (size_t i = 0; i < SUPPORT_COUNT(path); i++)
		at = cJSON_GetObjectItemCaseSensitive(at, path[i]);
	at = cJSON_GetObjectItemCaseSensitive(at->child, "schema");
	at = cJSON_GetObjectItemCaseSensitive(at, "openAPIV3Schema");
	at = cJSON_GetObjectItemCaseSensitive(at, "properties");
	at = cJSON_GetObjectItemCaseSensitive(at, "spec");
	assert_true(walk(&arena, "spec", at) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_fields),
		cmocka_unit_test(test_unknown_fields_of_a_pod_template),
		cmocka_unit_test(test_refused_values),
		cmocka_unit_test(test_fields_of_the_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
