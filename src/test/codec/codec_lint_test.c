/* The lint rules on files: src/test/lint_cases/<rule>.bad.yaml breaks the rule, and
 * <rule>.good.yaml is the same with the fix and without a finding. Both are plain RayClusters, or a
 * RayClusterAutoscaler or ComputeDomain with its RayCluster, or a GPUPool;
 * <rule>.nodes.yaml, where it exists, is a List of Nodes for both, <rule>.claims.yaml has the objects of
 * resource.k8s.io (and <rule>.<part>.bad.yaml is a
 * further case of the rule). The comment at the head of a bad file has its expected findings;
 * UPDATE=1 rewrites it. Rules about the JSON itself are tested with feature/lint/objects/lint_document,
 * which finds them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/capacity/capacity.h"
#include "core/model/time_zone.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/resolve.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_document.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "test/support/codec_support.h"
#include "test/support/golden_case.h"
#include "test/support/list_tree.h"

#define DIRECTORY "src/test/lint_cases"
#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define FILES_MAX 500

static bool read_text(const char *path, struct arena *arena, char **ret_text)
{
	FILE *file = fopen(path, "re");
	char *text;
	size_t size;

	if (!file)
		return false;
	text = arena_alloc(arena, TEXT_BYTES_MAX);
	size = fread(text, 1, TEXT_BYTES_MAX - 1, file);
	assert_true(size < TEXT_BYTES_MAX - 1);
	fclose(file);
	*ret_text = text;
	return true;
}

static void read_nodes(const char *path, struct arena *arena, struct lint_context *context)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	VEC(struct node) nodes = { NULL, 0, 0 };
	const struct cJSON *item;
	struct err err;
	char *text;

	if (!read_text(path, arena, &text))
		return;
	tree = codec_tree(text);
	if (!list_tree_items(tree))
		fail_msg("%s is not a list", path);
	cJSON_ArrayForEach(item,
			   list_tree_items(tree)) if (node_decode(item, "", arena,
								  VEC_ADD(arena, &nodes), &err))
		fail_msg("%s: %s", path, err.text);
	context->nodes_known = true;
	context->nodes = nodes.at;
	context->node_count = nodes.count;
}

/* The objects of claims, as in a snapshot. */
static void read_claims(const char *path, struct arena *arena, struct lint_context *context)
{
	struct device_objects *objects = ARENA_NEW(arena, struct device_objects);
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;
	char *text;

	context->devices = device_table_builtin();
	if (!read_text(path, arena, &text))
		return;
	tree = codec_tree(text);
	if (field_decode_object(tree, "", FIELD_WHOLE(struct device_objects, device_objects_fields),
				arena, objects, &err))
		fail_msg("%s: %s", path, err.text);
	context->devices = device_claims_attach(objects, context->devices, arena);
}

static const struct time_zone *time_zones(void *zones, const struct autoscaler_object *object,
					  struct arena *arena, size_t *ret_count)
{
	static const struct time_zone mars = { .name = "Mars/Phobos", .problem = "is not known" };

	(void)zones, (void)object, (void)arena;
	*ret_count = 1;
	return &mars;
}

/* A RayClusterAutoscaler, with its RayCluster. */
static void lint_documents(const char *text, const struct lint_context *context,
			   struct arena *arena, struct lint_findings *ret_findings)
{
	struct lint_report report;

	lint_report_init(&report, arena);
	lint_text_add(&report, "f.yaml", text, strlen(text), context);
	lint_report_finish(&report, context);
	for (size_t i = 0; i < report.list.count; i++)
		VEC_PUSH(arena, &ret_findings->list, report.list.at[i].finding);
}

/* Rules about fields that no decoder reads. */
static bool reads_json(const char *path)
{
	static const char *const rules[] = { "/kuberay-refuses.",        "/pod-refused.",
					     "/start-command-unquoted.", "/setting-without-effect.",
					     "/api-version-old.",        "/grace-period-long.",
					     "/ray-not-started.",        "/pod-deadline." };

	for (size_t i = 0; i < SUPPORT_COUNT(rules); i++)
		if (strstr(path, rules[i]))
			return true;
	return false;
}

static void lint_text(const char *name, const char *text, struct lint_context *context,
		      struct arena *arena, struct lint_findings *ret_findings)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct snapshot snapshot = { .now = 0 };
	struct settings settings;
	struct err err;

	*ret_findings = (struct lint_findings){ .list = { .at = NULL } };
	settings_init(&settings);
	context->settings = &settings;
	context->time_zones = time_zones;
	if (reads_json(name) || strstr(text, "kind: " AUTOSCALER_KIND) ||
	    strstr(text, "kind: " GPU_POOL_KIND) || strstr(text, "kind: ComputeDomain")) {
		lint_documents(text, context, arena, ret_findings);
		return;
	}
	tree = codec_tree(text);
	if (ray_cluster_decode(tree, "", arena, &snapshot.cluster, &err))
		fail_msg("%s: %s", name, err.text);
	lint_cluster(&snapshot.cluster, context, arena, ret_findings);
}

/* Each finding as comments: "finding: error min-above-max spec.workerGroupSpecs[0].maxReplicas",
 * its message and its fix. */
static void print_findings(const struct lint_findings *findings, struct buf *buf)
{
	for (size_t i = 0; i < findings->list.count; i++) {
		const struct lint_finding *one = &findings->list.at[i];

		buf_printf(buf, "# %s %s %s\n", lint_severity_name(one->severity), one->rule,
			   one->path);
		buf_printf(buf, "#   %s\n", one->message);
		for (const char *line = one->fix; *line != '\0';) {
			size_t size = strcspn(line, "\n");

			buf_printf(buf, "#   | %.*s\n", (int)size, line);
			line += size + (line[size] == '\n' ? 1 : 0);
		}
	}
}

/* The text behind the comment at its head. */
static const char *body(const char *text)
{
	while (*text == '#') {
		text += strcspn(text, "\n");
		text += *text == '\n' ? 1 : 0;
	}
	return text;
}

static void rewrite(const char *path, const struct buf *head, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fprintf(file, "%s%s", buf_string(head), body(text));
	assert_int_equal(fclose(file), 0);
}

/* "min-above-max" of "min-above-max.bad.yaml", in the arena. */
static const char *rule_of(struct arena *arena, const char *file)
{
	return arena_strndup(arena, file, strcspn(file, "."));
}

static const char *without_end(struct arena *arena, const char *file, const char *end)
{
	size_t size = strlen(file), tail = strlen(end);

	if (size < tail || strcmp(file + size - tail, end) != 0)
		return NULL;
	return arena_strndup(arena, file, size - tail);
}

static bool names_rule(const struct lint_findings *findings, const char *rule)
{
	for (size_t i = 0; i < findings->list.count; i++)
		if (strcmp(findings->list.at[i].rule, rule) == 0)
			return true;
	return false;
}

static void check_file(const char *file)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf found;
	struct lint_context context = { .nodes_known = false };
	struct lint_findings findings;
	const char *stem = without_end(&arena, file, ".bad.yaml");
	const char *path = arena_printf(&arena, DIRECTORY "/%s", file);
	bool bad = stem != NULL;
	char *text;

	if (!bad)
		stem = without_end(&arena, file, ".good.yaml");
	if (!stem)
		return;
	buf_init(&found, TEXT_BYTES_MAX);
	read_nodes(arena_printf(&arena, DIRECTORY "/%s.nodes.yaml", stem), &arena, &context);
	read_claims(arena_printf(&arena, DIRECTORY "/%s.claims.yaml", stem), &arena, &context);
	assert_true(read_text(path, &arena, &text));
	lint_text(path, text, &context, &arena, &findings);
	print_findings(&findings, &found);
	if (bad && !names_rule(&findings, rule_of(&arena, file)))
		fail_msg("%s: its rule finds nothing; found:\n%s", path, buf_string(&found));
	if (!bad && findings.list.count > 0)
		fail_msg("%s: findings in a good file:\n%s", path, buf_string(&found));
	if (bad && getenv("UPDATE"))
		rewrite(path, &found, text);
	else if (bad && (strncmp(text, buf_string(&found), strlen(buf_string(&found))) != 0 ||
			 text + strlen(buf_string(&found)) != body(text)))
		fail_msg("%s: not what its head says; found:\n%s", path, buf_string(&found));
}

static void test_files(void **state)
{
	DIR *directory = opendir(DIRECTORY);
	struct dirent *entry;
	size_t count = 0;

	(void)state;
	if (!directory)
		fail_msg(DIRECTORY " cannot be opened; run from the top of the source tree");
	while ((entry = readdir(directory)) && count < FILES_MAX)
		if (entry->d_name[0] != '.') {
			check_file(entry->d_name);
			count++;
		}
	closedir(directory);
	assert_true(count > 0);
}

static void check_condition(const char *file, enum reason reason, const char *reported,
			    const char *message)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct settings settings;
	struct lint_context context = { .devices = device_table_builtin(), .settings = &settings };
	struct ray_cluster cluster;
	struct extra_condition condition;
	struct err err;
	char *text;

	settings_init(&settings);
	assert_true(read_text(arena_printf(&arena, DIRECTORY "/%s.bad.yaml", file), &arena, &text));
	tree = codec_tree(text);
	assert_int_equal(ray_cluster_decode(tree, "", &arena, &cluster, &err), 0);
	lint_condition_make(&cluster, &context, &arena, &condition);
	assert_int_equal(condition.reason, reason);
	assert_string_equal(condition.reported, reported);
	assert_string_equal(condition.message, message);
	assert_true(strlen(condition.reported) <= LINT_REPORTED_MAX);
}

/* The text of the condition and of the Event of a managed cluster. */
static void test_condition(void **state)
{
	static const char neuron[] =
		"2 warnings (gpu-obsolete-resource, gpu-unknown-to-ray), first gpu-obsolete-resource at "
		"spec.workerGroupSpecs[0].template.spec.containers[0].resources"
		".limits[\"aws.amazon.com/neurondevice\"]: aws.amazon.com/neurondevice in limits of "
		"container ray-worker is obsolete; today's device plugins advertise "
		"aws.amazon.com/neuron, so the Pods of group gpu fit on no Node";
	static const char labels[] =
		"1 error (label-invalid), first label-invalid at "
		"spec.workerGroupSpecs[0].rayStartParams.labels: labels in rayStartParams "
		"(\"ray.io/market-type=spot\") are ignored, and KubeRay 1.5 and later refuses the "
		"RayCluster: write them into the field labels of group cpu";

	(void)state;
	check_condition("gpu-unknown-to-ray.neurondevice", REASON_LINT_WARNINGS, neuron, neuron);
	check_condition("gpu-count-mismatch", REASON_LINT_NOTES, "",
			"1 note, first gpu-count-mismatch at "
			"spec.workerGroupSpecs[0].rayStartParams.num-gpus: 2 GPU are "
			"declared to Ray for each Pod of group gpu, and its container "
			"has 1");
	/* The condition InvalidRequest reports these. */
	check_condition("field-invalid", REASON_LINT_NOTES, "", "");
	check_condition("min-above-max", REASON_LINT_NOTES, "", "");
	check_condition("quantity-invalid", REASON_LINT_NOTES, "", "");
	check_condition("cpu-undetected", REASON_LINT_NOTES, "", "");
	check_condition("ray-start-param-invalid", REASON_LINT_NOTES, "", "");
	check_condition("label-invalid", REASON_LINT_ERRORS, labels, labels);
}

/* Settings that others override: of the RayCluster, and of its RayClusterAutoscaler. */
static void test_condition_has_overridden_settings(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct autoscaler_object object = { .upscaling_mode = "",
					    .has_idle_timeout_seconds = true,
					    .idle_timeout_seconds = 60 };
	struct settings settings;
	struct lint_context context = { .devices = device_table_builtin(), .settings = &settings };
	struct ray_cluster cluster;
	struct extra_condition condition;
	struct err err;
	char *text;

	(void)state;
	settings_init(&settings);
	assert_true(read_text(DIRECTORY "/setting-without-effect.fault-tolerance.bad.yaml", &arena,
			      &text));
	tree = codec_tree(text);
	assert_int_equal(ray_cluster_decode(tree, "", &arena, &cluster, &err), 0);
	lint_condition_make(&cluster, &context, &arena, &condition);
	assert_non_null(strstr(condition.reported,
			       "2 warnings (setting-without-effect), first setting-without-effect "
			       "at metadata.annotations[\"ray.io/external-storage-namespace\"]"));
	/* It counts for the groups, which have none. */
	context.object = &object;
	lint_condition_make(&cluster, &context, &arena, &condition);
	assert_null(strstr(condition.reported, "3 warnings"));
	cluster.has_idle_timeout_seconds = true;
	cluster.idle_timeout_seconds = 300;
	lint_condition_make(&cluster, &context, &arena, &condition);
	assert_non_null(strstr(condition.reported, "3 warnings (setting-without-effect)"));
}

static bool has_error(const struct lint_findings *findings, const char *path)
{
	for (size_t i = 0; i < findings->list.count; i++)
		if (findings->list.at[i].severity == LINT_ERROR &&
		    strncmp(findings->list.at[i].path, path, strlen(path)) == 0)
			return true;
	return false;
}

/* A problem that stops a group in a decision is an error of lint at the same place. True: a group
 * was stopped. */
static bool check_stopped(const char *name, const struct snapshot *snapshot, struct arena *arena)
{
	const struct lint_context context = { .devices = snapshot->device_table,
					      .settings = &snapshot->settings };
	struct lint_findings findings = { .list = { .at = NULL } };
	bool stopped = false;

	lint_cluster(&snapshot->cluster, &context, arena, &findings);
	for (size_t g = 0; g < snapshot->cluster.group_count; g++) {
		const char *path = arena_printf(arena, "spec.workerGroupSpecs[%zu]", g);
		struct capacity capacity;

		capacity_of_group(&snapshot->cluster, g, &snapshot->settings,
				  snapshot->device_table, arena, &capacity);
		if (!capacity.problem && !snapshot->cluster.groups[g].problem)
			continue;
		stopped = true;
		/* Without autoscaling an unknown number of CPUs is not an error. */
		if (!has_error(&findings, path) && snapshot->cluster.enable_in_tree_autoscaling)
			fail_msg("%s: group %zu is stopped and lint has no error: %s", name, g,
				 capacity.problem ? capacity.problem :
						    snapshot->cluster.groups[g].problem);
	}
	return stopped;
}

static void test_what_stops_a_group_is_an_error(void **state)
{
	AUTO(golden_names_free) struct golden_names names = { .at = NULL };
	struct err err = { .kind = ERR_NONE };
	size_t stopped = 0;

	(void)state;
	assert_int_equal(golden_names_read(GOLDEN_DIRECTORY, &names, &err), 0);
	for (size_t i = 0; i < names.count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct snapshot snapshot;

		if (golden_snapshot(arena_printf(&arena, GOLDEN_DIRECTORY "/%s", names.at[i]),
				    &arena, &snapshot, &err) == 0)
			stopped += check_stopped(names.at[i], &snapshot, &arena) ? 1 : 0;
	}
	assert_true(stopped >= 5);
}

static bool exists(struct arena *arena, const char *rule, const char *end)
{
	FILE *file = fopen(arena_printf(arena, DIRECTORY "/%s.%s.yaml", rule, end), "re");

	if (file)
		fclose(file);
	return file != NULL;
}

/* But those that only a decoder sees; the last rules are those of a RayClusterAutoscaler. */
static void test_every_rule_has_files(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < LINT_RULE_COUNT; i++) {
		const char *name = lint_rules()[i].name;

		if (!lint_rules()[i].in_controller && i < LINT_RULE_TIME_ZONE_UNKNOWN)
			continue;
		if (!exists(&arena, name, "bad") || !exists(&arena, name, "good"))
			fail_msg("rule %s has no bad or no good file in " DIRECTORY, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_condition),
		cmocka_unit_test(test_condition_has_overridden_settings),
		cmocka_unit_test(test_what_stops_a_group_is_an_error),
		cmocka_unit_test(test_every_rule_has_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
