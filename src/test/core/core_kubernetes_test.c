#include "core/model/kubernetes.h"

#include "test/support/support.h"

static void test_condition_find(void **state)
{
	const struct condition conditions[] = {
		{ .type = "Ready", .status = "False" },
		{ .type = "PodScheduled", .status = "True" },
	};

	(void)state;
	assert_ptr_equal(condition_find(conditions, 2, "PodScheduled"), &conditions[1]);
	assert_null(condition_find(conditions, 2, "Ready2"));
	assert_null(condition_find(conditions, 1, "PodScheduled"));
	assert_null(condition_find(NULL, 0, "Ready"));
}

/* KubeRay: container 0 of the spec is Ray's; statuses have any order. */
static void test_ray_container_is_the_first_of_the_spec(void **state)
{
	const struct container containers[] = { { .name = "ray-worker" }, { .name = "sidecar" } };
	const struct container_status statuses[] = { { .name = "sidecar" },
						     { .name = "ray-worker" } };
	struct pod pod = {
		.spec = { .containers = containers, .container_count = 2 },
		.container_statuses = statuses,
		.container_status_count = 2,
	};

	(void)state;
	assert_ptr_equal(pod_ray_container_status(&pod), &statuses[1]);
	pod.container_status_count = 1;
	assert_null(pod_ray_container_status(&pod));
	pod.container_status_count = 0;
	assert_null(pod_ray_container_status(&pod));
	pod.container_status_count = 2;
	pod.spec.container_count = 0;
	assert_null(pod_ray_container_status(&pod));
}

static void test_node_type_tells_head_and_worker(void **state)
{
	static const struct {
		const char *value;
		bool head, worker;
	} cases[] = {
		{ "head", true, false },
		{ "worker", false, true },
		{ "redis-cleanup", false, false },
		{ "Head", false, false },
		{ "", false, false },
	};
	const struct pod bare = { 0 };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		const struct label labels[] = { { LABEL_GROUP, "head" },
						{ LABEL_NODE_TYPE, cases[i].value } };
		const struct pod pod = { .labels = { labels, 2 } };

		assert_int_equal(pod_is_head(&pod), cases[i].head);
		assert_int_equal(pod_is_worker(&pod), cases[i].worker);
	}
	assert_false(pod_is_head(&bare));
	assert_false(pod_is_worker(&bare));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_condition_find),
		cmocka_unit_test(test_ray_container_is_the_first_of_the_spec),
		cmocka_unit_test(test_node_type_tells_head_and_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
