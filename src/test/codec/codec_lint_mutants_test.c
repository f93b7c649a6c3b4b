/* The files of the lint rules with small random changes (test/support/json_mutate.h), each with
 * Nodes of one of the files, changed as well. Laws: the findings of a readable file have a rule, a
 * place and a text, and a second run gives the same; their text in a condition is within its limit.
 * MUTANTS: how many of each file (default 60); MUTANTS_SEED: the first seed. */
#include <cjson/cJSON.h>
#include <string.h>

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/model/autoscaler_problem.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "test/support/json_mutate.h"
#include "test/support/list_tree.h"

#define DIRECTORY "src/test/lint_cases"
#define CHANGES_MAX 5

static struct mutate_files files;
static long long refused, linted, findings_seen;

static bool is_nodes(int index)
{
	return strstr(files.names[index], ".nodes.yaml") ||
	       strstr(files.names[index], ".claims.yaml");
}

/* Nodes that cannot be read are left out, as the controller does. */
static void read_nodes(const struct cJSON *tree, struct arena *arena, struct lint_context *context)
{
	VEC(struct node) nodes = { NULL, 0, 0 };
	const struct cJSON *item;
	struct err err;

	if (!list_tree_items(tree))
		return;
	cJSON_ArrayForEach(item, list_tree_items(tree))
	{
		struct node node;

		if (node_decode(item, "", arena, &node, &err) == 0)
			VEC_PUSH(arena, &nodes, node);
	}
	context->nodes_known = true;
	context->nodes = nodes.at;
	context->node_count = nodes.count;
}

static void check_findings(const char *what, const struct ray_cluster *cluster,
			   const struct lint_context *context, struct arena *arena)
{
	struct lint_findings first = { .list = { .at = NULL } };
	struct lint_findings second = { .list = { .at = NULL } };
	struct extra_condition condition;

	lint_cluster(cluster, context, arena, &first);
	lint_cluster(cluster, context, arena, &second);
	assert_int_equal(first.list.count, second.list.count);
	for (size_t i = 0; i < first.list.count; i++) {
		const struct lint_finding *one = &first.list.at[i];

		if (*one->rule == '\0' || *one->path == '\0' || *one->message == '\0' ||
		    strcmp(one->message, second.list.at[i].message) != 0)
			fail_msg("%s: finding %zu", what, i);
	}
	lint_condition_make(cluster, context, arena, &condition);
	assert_true(strlen(condition.reported) <= LINT_REPORTED_MAX);
	findings_seen += (long long)first.list.count;
}

/* A list of a RayClusterAutoscaler and its RayCluster, if it still is one. */
static bool check_settings(const struct cJSON *tree, const struct lint_context *context,
			   struct arena *arena)
{
	const struct cJSON *items = list_tree_items(tree);
	const struct cJSON *other = cJSON_GetArrayItem(items, 1);
	struct lint_findings findings = { .list = { .at = NULL } };
	struct autoscaler_object object;
	struct lint_known known = { .owner = NULL };
	bool is_known;
	struct err err;

	if (!items || autoscaler_decode(cJSON_GetArrayItem(items, 0), "", arena, &object, &err))
		return false;
	is_known = other && ray_cluster_decode(other, "", arena, &known.cluster, &err) == 0;
	if (is_known) {
		known.owner = autoscaler_problem_owner(&known.cluster, arena);
		known.gpus = lint_gpus_of_groups(&known.cluster, context, arena);
	}
	lint_settings(&object, is_known ? &known : NULL, context, arena, &findings);
	for (size_t i = 0; i < findings.list.count; i++)
		assert_true(*findings.list.at[i].path != '\0' &&
			    *findings.list.at[i].message != '\0');
	findings_seen += (long long)findings.list.count;
	return true;
}

static void check_mutant(int index, uint64_t seed)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *what =
		arena_printf(&arena, "%s, seed %llu", files.names[index], (unsigned long long)seed);
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)index + 1;
	AUTO(json_done)
	struct cJSON *tree = mutate_copy(&files, files.at[index], CHANGES_MAX, &random);
	AUTO(json_done) struct cJSON *nodes = NULL;
	int other = (int)support_random_below(&random, (size_t)files.count);
	struct lint_context context = { .devices = device_table_builtin() };
	struct snapshot snapshot = { .now = 0 };
	struct settings settings;
	struct err err = { .kind = ERR_NONE };

	settings_init(&settings);
	context.settings = &settings;
	if (cJSON_HasObjectItem(tree, "items")) {
		*(check_settings(tree, &context, &arena) ? &linted : &refused) += 1;
		return;
	}
	if (ray_cluster_decode(tree, "", &arena, &snapshot.cluster, &err)) {
		assert_true(err.kind != ERR_NONE && err.text[0] != '\0');
		refused++;
		return;
	}
	while (seed % 2 == 0 && !is_nodes(other))
		other = (other + 1) % files.count;
	if (is_nodes(other)) {
		nodes = mutate_copy(&files, files.at[other], CHANGES_MAX, &random);
		read_nodes(nodes, &arena, &context);
	}
	check_findings(what, &snapshot.cluster, &context, &arena);
	linted++;
}

static void test_mutants(void **state)
{
	uint64_t first = mutate_number("MUTANTS_SEED", 1), count = mutate_number("MUTANTS", 60);

	(void)state;
	mutate_read(&files, DIRECTORY, mutate_read_file);
	for (uint64_t seed = first; seed < first + count; seed++)
		for (int i = 0; i < files.count; i++)
			if (!is_nodes(i))
				check_mutant(i, seed);
	mutate_free(&files);
	print_message("%lld mutants linted, %lld findings, %lld refused\n", linted, findings_seen,
		      refused);
	assert_true(linted > refused && findings_seen > linted);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mutants) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
