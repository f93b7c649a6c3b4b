/* The rules run once for each generation and set of annotations of a RayCluster, for any number of
 * passes. */
#include "feature/lint/ctl/linted.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/device.h"
#include "core/model/snapshot.h"
#include "ctl/shared/control.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "test/support/feature_alone.h"
#include "test/support/support.h"

/* With a request of a GPU and no limit, which the API server refuses, or without. */
static struct ray_cluster cluster_of(const char *uid, int64_t generation, bool wrong,
				     struct worker_group *group)
{
	static const struct quantity gpu = { "nvidia.com/gpu", "1", true, 10000 };
	static const struct container container = { .name = "ray" },
				      requests = { .name = "ray", .requests = { &gpu, 1 } };
	struct pod_template template = {
		.spec = { .containers = &container, .container_count = 1, .restart_policy = "" }
	};

	*group = (struct worker_group){ .name = "gpu", .max_replicas = 2, .template = template };
	group->template.spec.containers = wrong ? &requests : &container;
	return (struct ray_cluster){ .namespace_ = "ray",
				     .name = "demo",
				     .uid = uid,
				     .generation = generation,
				     .enable_in_tree_autoscaling = true,
				     .ray_version = "",
				     .autoscaler_version = "",
				     .auth_mode = "",
				     .auth_secret_name = "",
				     .head_template = template,
				     .groups = group,
				     .group_count = 1 };
}

static void *begin_lint(void)
{
	static struct options options;
	static const struct control control = { .options = &options };

	settings_init(&options.settings);
	options.device_table = device_table_builtin();
	return alone_begin(&lint_feature, &control);
}

static void test_lint_runs_once_per_generation(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct worker_group group;
	struct ray_cluster cluster;
	void *linted = begin_lint();
	struct extra_condition condition;

	(void)state;
	cluster = cluster_of("a", 1, true, &group);
	for (int pass = 0; pass < 10; pass++)
		assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(linted_runs(linted), 1);
	assert_int_equal(condition.reason, REASON_LINT_ERRORS);
	assert_string_equal(
		condition.reported,
		"1 error (gpu-request-without-limit), first gpu-request-without-limit at "
		"spec.workerGroupSpecs[0].template.spec.containers[0].resources.requests"
		"[\"nvidia.com/gpu\"]: nvidia.com/gpu is in requests of container ray and not in "
		"its limits; the API server refuses the Pods of group gpu");
	assert_true(condition.is_true);
	/* Corrected: that is a new generation. */
	cluster = cluster_of("a", 2, false, &group);
	assert_false(lint_feature.condition(linted, &cluster, &arena, &condition));
	/* Another RayCluster of that name starts with the same generation. */
	cluster = cluster_of("b", 2, true, &group);
	assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(condition.reason, REASON_LINT_ERRORS);
	assert_int_equal(linted_runs(linted), 3);
	features_forget(alone, "ray", "demo");
	features_forget(alone, "ray", "demo");
	assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(linted_runs(linted), 4);
	alone_end();
}

/* Annotations have no generation. */
static void test_again_for_another_annotation(void **state)
{
	static const struct label annotations[] = { { "rayscaler.dev/manged", "false" },
						    { "rayscaler.dev/managed", "false" } };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct worker_group group;
	struct ray_cluster cluster = cluster_of("a", 1, false, &group);
	void *linted = begin_lint();
	struct extra_condition condition;

	(void)state;
	cluster.annotations = (struct labels){ &annotations[0], 1 };
	for (int pass = 0; pass < 10; pass++) {
		assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
		assert_non_null(strstr(condition.message, "rayscaler.dev/manged"));
	}
	assert_int_equal(linted_runs(linted), 1);
	cluster.annotations = (struct labels){ &annotations[1], 1 };
	assert_false(lint_feature.condition(linted, &cluster, &arena, &condition));
	cluster.annotations = (struct labels){ &annotations[0], 1 };
	assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(linted_runs(linted), 3);
	alone_end();
}

/* 256 KiB of annotations are not read by each pass. */
static void test_annotations_are_read_once_for_a_version(void **state)
{
	static const struct label annotations[] = { { "rayscaler.dev/manged", "false" },
						    { "rayscaler.dev/managed", "false" } };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct worker_group group;
	struct ray_cluster cluster = cluster_of("a", 1, false, &group);
	void *linted = begin_lint();
	struct extra_condition condition;

	(void)state;
	cluster.resource_version = "1";
	cluster.annotations = (struct labels){ &annotations[0], 1 };
	assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	cluster.annotations = (struct labels){ &annotations[1], 1 };
	assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(linted_runs(linted), 1);
	cluster.resource_version = "2";
	assert_false(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(linted_runs(linted), 2);
	alone_end();
}

/* The counts of claims may change without the RayCluster. */
static void test_again_for_other_claims(void **state)
{
	static const struct pod_claim claim = { .name = "x", .claim = "", .template_ = "parts" };
	static const struct container_claim use = { .name = "x", .request = "" };
	static const struct container container = { .name = "ray",
						    .claims = &use,
						    .claim_count = 1 };
	static const struct claimed_request parts = {
		.namespace_ = "ray",
		.claim = "parts",
		.is_template = true,
		.request = "r",
		.promise = { "nvidia.com/mig-1g.10gb", 20000 },
		.charge = { "nvidia.com/mig-1g.10gb", 20000 },
		.product = "",
	};
	static const struct claimed_index none = { .templates_known = true }, index = { &parts, 1 };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct options options;
	struct device_table empty = *device_table_builtin(), table = empty;
	struct device_view first = { .number = 1, .table = &empty };
	struct device_view second = { .number = 2, .table = &table }, *view = NULL;
	const struct control control = { .options = &options, .devices = &view };
	struct extra_condition condition;
	struct worker_group group;
	struct ray_cluster cluster = cluster_of("a", 1, false, &group);
	void *linted = alone_begin(&lint_feature, &control);

	(void)state;
	settings_init(&options.settings);
	options.device_table = device_table_builtin();
	empty.claims = &none;
	table.claims = &index;
	group.template.spec.containers = &container;
	group.template.spec.claims = &claim;
	group.template.spec.claim_count = 1;
	assert_false(lint_feature.condition(linted, &cluster, &arena, &condition));
	view = &first; /* the decision reports what is missing */
	for (int pass = 0; pass < 3; pass++)
		assert_false(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_int_equal(linted_runs(linted), 2);
	view = &second;
	for (int pass = 0; pass < 3; pass++)
		assert_true(lint_feature.condition(linted, &cluster, &arena, &condition));
	assert_non_null(strstr(condition.message, "claim-of-parts"));
	assert_int_equal(linted_runs(linted), 3);
	alone_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lint_runs_once_per_generation),
		cmocka_unit_test(test_again_for_another_annotation),
		cmocka_unit_test(test_annotations_are_read_once_for_a_version),
		cmocka_unit_test(test_again_for_other_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
