/* feature/requests/core/cluster_shape: the GPUs that Ray's libraries may count on, by the limits of a RayCluster. */
#include "feature/requests/core/cluster_shape.h"

#include "core/decide.h"
#include "feature/requests/core/requests.h"
#include "test/support/codec_support.h"
#include "test/support/golden_case.h"

/* The model of the GPUs is known. */
#define GROUP                                                                                      \
	"groups: {gpu-group: {template: {spec: {nodeSelector: {cloud.google.com/gke-accelerator: " \
	"nvidia-h100-80gb}}}}}\n"

/* `changes` of a golden case with a pool, as YAML. */
static void expect_most(const char *changes, int64_t gpus)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct plan_requests *requests;
	struct snapshot snapshot;
	struct err err;

	if (golden_snapshot_changed(GOLDEN_DIRECTORY "/1220_pool_grant_covers_all.yaml", changes,
				    &arena, &snapshot, &err))
		fail_msg("%s", err.text);
	requests = decide(&snapshot, &arena)->requests;
	if (!requests->shape)
		fail_msg("%s", requests->shape_why);
	assert_int_equal(requests->shape->max_gpus, gpus < 0 ? -1 : gpus * RESOURCE_UNIT);
}

static void test_the_lowest_limit_counts(void **state)
{
	(void)state;
	expect_most(GROUP, -1);
	expect_most(GROUP "settings: {max-gpus-per-cluster: 16}", 16);
	expect_most(GROUP "pools: {most: '12'}", 12);
	expect_most(GROUP "settings: {max-gpus-per-cluster: 16}\npools: {most: '12'}", 12);
	expect_most(GROUP "settings: {max-gpus-per-cluster: 8}\npools: {most: '12'}", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_lowest_limit_counts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
