/* The rules run once for each generation and set of annotations of a RayCluster, for any number of
 * passes. */
#include "feature/lint/ctl/linted.h"

#include <string.h>

#include "test/support/support.h"

/* With a request of a GPU and no limit, which the API server refuses, or without. */
static struct ray_cluster cluster_of(const char *uid, int64_t generation, bool wrong,
				     struct worker_group *group)
{
	static const struct quantity gpu = { "nvidia.com/gpu", "1", true, 10000 };
	static const struct container container = { .name = "ray" },
				      requests = { .name = "ray", .requests = { &gpu, 1 } };
	struct pod_template template = { .spec = { .containers = &container,
						   .container_count = 1 } };

	*group = (struct worker_group){ .name = "gpu", .max_replicas = 2, .template = template };
	group->template.spec.containers = wrong ? &requests : &container;
	return (struct ray_cluster){ .uid = uid,
				     .generation = generation,
				     .enable_in_tree_autoscaling = true,
				     .ray_version = "",
				     .head_template = template,
				     .groups = group,
				     .group_count = 1 };
}

static void test_lint_runs_once_per_generation(void **state)
{
	struct worker_group group;
	struct ray_cluster cluster;
	struct linted *linted = linted_new();
	struct settings settings;
	const struct lint_digest *digest;

	(void)state;
	settings_init(&settings);
	cluster = cluster_of("a", 1, true, &group);
	for (int pass = 0; pass < 10; pass++)
		digest = linted_of(linted, &cluster, &settings, device_table_builtin());
	assert_int_equal(linted_runs(linted), 1);
	assert_int_equal(digest->counts[LINT_ERROR], 1);
	assert_string_equal(
		digest->declared,
		"1 error (gpu-request-without-limit), first gpu-request-without-limit at "
		"spec.workerGroupSpecs[0].template.spec.containers[0].resources.requests"
		"[\"nvidia.com/gpu\"]: nvidia.com/gpu is in requests of container ray and not in "
		"its limits; the API server refuses the Pods of group gpu");
	/* Mended: that is a new generation. */
	cluster = cluster_of("a", 2, false, &group);
	digest = linted_of(linted, &cluster, &settings, device_table_builtin());
	assert_string_equal(digest->declared, "");
	assert_string_equal(digest->message, "");
	/* Another RayCluster of that name starts with the same generation. */
	cluster = cluster_of("b", 2, true, &group);
	digest = linted_of(linted, &cluster, &settings, device_table_builtin());
	assert_int_equal(digest->counts[LINT_ERROR], 1);
	assert_int_equal(linted_runs(linted), 3);
	linted_free(linted);
	linted_free(NULL);
}

/* Annotations have no generation. */
static void test_again_for_another_annotation(void **state)
{
	static const struct label annotations[] = { { "rayscaler.dev/manged", "false" },
						    { "rayscaler.dev/managed", "false" } };
	struct worker_group group;
	struct ray_cluster cluster = cluster_of("a", 1, false, &group);
	struct linted *linted = linted_new();
	struct settings settings;

	(void)state;
	settings_init(&settings);
	cluster.annotations = (struct labels){ &annotations[0], 1 };
	for (int pass = 0; pass < 10; pass++)
		assert_non_null(strstr(
			linted_of(linted, &cluster, &settings, device_table_builtin())->message,
			"rayscaler.dev/manged"));
	assert_int_equal(linted_runs(linted), 1);
	cluster.annotations = (struct labels){ &annotations[1], 1 };
	assert_string_equal(linted_of(linted, &cluster, &settings, device_table_builtin())->message,
			    "");
	cluster.annotations = (struct labels){ &annotations[0], 1 };
	assert_string_not_equal(
		linted_of(linted, &cluster, &settings, device_table_builtin())->message, "");
	assert_int_equal(linted_runs(linted), 3);
	linted_free(linted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lint_runs_once_per_generation),
		cmocka_unit_test(test_again_for_another_annotation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
