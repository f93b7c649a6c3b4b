/* core/capacity/template_mark: the changes that make another template, and whether a Pod was
 * created from it. */
#include "core/capacity/template_mark.h"

#include <string.h>

#include "core/model/resources.h"
#include "test/support/support.h"

static struct arena arena = ARENA_INIT;

#define AMOUNT(name, text, amount)                                                                 \
	{                                                                                          \
		name, text, true, (amount)*RESOURCE_UNIT                                           \
	}

/* --- same resources --- */

static bool same(const struct quantity *limits, size_t limit_count, const struct quantity *requests,
		 size_t request_count, const struct container *template)
{
	const struct container container = { .limits = { limits, limit_count },
					     .requests = { requests, request_count } };
	const struct pod_spec pod = { .containers = &container, .container_count = 1 };
	const struct pod_spec of = { .containers = template, .container_count = 1 };
	bool result = template_mark_same_resources(&pod, &of);

	assert_int_equal(template_mark_same_resources(&of, &pod), result);
	return result;
}

static void test_requests_default_to_limits(void **state)
{
	static const struct quantity limits[] = { AMOUNT("cpu", "4", 4),
						  AMOUNT("nvidia.com/gpu", "1", 1) };
	static const struct quantity turned[] = { AMOUNT("nvidia.com/gpu", "1", 1),
						  AMOUNT("cpu", "4000m", 4) };
	static const struct quantity other[] = { AMOUNT("cpu", "3", 3) };
	const struct container template = { .limits = { limits, 2 } };

	(void)state;
	assert_true(same(limits, 2, NULL, 0, &template));
	assert_true(same(turned, 2, limits, 2, &template));
	assert_true(same(turned, 2, limits, 1, &template));
	assert_false(same(limits, 2, other, 1, &template));
	assert_false(same(limits, 1, NULL, 0, &template));
	assert_false(same(NULL, 0, limits, 2, &template));
	assert_false(same(NULL, 0, NULL, 0, &template));
}

static void test_requests_alone(void **state)
{
	static const struct quantity four[] = { AMOUNT("cpu", "4", 4) };
	static const struct quantity three[] = { AMOUNT("cpu", "3", 3) };
	static const struct quantity bad[] = { { "cpu", "x", false, 0 } };
	static const struct quantity worse[] = { { "cpu", "y", false, 0 } };
	const struct container template = { .requests = { four, 1 } };
	const struct container unread = { .requests = { bad, 1 } };

	(void)state;
	assert_true(same(NULL, 0, four, 1, &template));
	assert_false(same(NULL, 0, three, 1, &template));
	assert_true(same(NULL, 0, bad, 1, &unread));
	assert_false(same(NULL, 0, worse, 1, &unread));
	assert_false(same(NULL, 0, four, 1, &unread));
}

static void test_a_pod_without_containers_is_of_no_template(void **state)
{
	const struct container container = { .name = "ray" };
	const struct pod_spec with = { .containers = &container, .container_count = 1 };
	const struct pod_spec without = { .container_count = 0 };

	(void)state;
	assert_true(template_mark_same_resources(&with, &with));
	assert_false(template_mark_same_resources(&with, &without));
	assert_false(template_mark_same_resources(&without, &with));
	assert_false(template_mark_same_resources(&without, &without));
}

/* --- the mark --- */

struct scene {
	struct quantity limits[2], own[1];
	struct label selector[1], params[2], labels[1];
	struct env_variable env[1];
	const char *values[1];
	struct node_expression expressions[1];
	struct node_term terms[1];
	struct container container;
	struct worker_group group;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){
		.limits = { AMOUNT("cpu", "4", 4), AMOUNT("nvidia.com/gpu", "1", 1) },
		.own = { AMOUNT("CPU", "4", 4) },
		.selector = { { "cloud.google.com/gke-accelerator", "nvidia-l4" } },
		.params = { { "block", "true" }, { "num-gpus", "1" } },
		.labels = { { "zone", "a" } },
		.env = { { "A", "1" } },
		.values = { "Tesla-T4" },
	};
	s->expressions[0] =
		(struct node_expression){ "nvidia.com/gpu.product", "In", { s->values, 1 }, false };
	s->terms[0] = (struct node_term){ s->expressions, 1 };
	s->container = (struct container){
		.image = "ray:1", .limits = { s->limits, 2 }, .env = s->env, .env_count = 1
	};
	s->group = (struct worker_group){
		.name = "g",
		.resources = { s->own, 1 },
		.labels = { s->labels, 1 },
		.ray_start_params = { s->params, 2 },
		.template = { .spec = { .containers = &s->container,
					.container_count = 1,
					.node_selector = { s->selector, 1 },
					.required_node_terms = s->terms,
					.required_node_term_count = 1 } },
	};
}

static const char *mark(const struct scene *s)
{
	return template_mark_fingerprint(&s->group, &arena);
}

#define EXPECT_OTHER(change)                                                                       \
	do {                                                                                       \
		struct scene scene_;                                                               \
		scene_init(&scene_);                                                               \
		const char *before_ = mark(&scene_);                                               \
		struct scene *s = &scene_;                                                         \
		change;                                                                            \
		assert_string_not_equal(mark(&scene_), before_);                                   \
	} while (0)

#define EXPECT_SAME(change)                                                                        \
	do {                                                                                       \
		struct scene scene_;                                                               \
		scene_init(&scene_);                                                               \
		const char *before_ = mark(&scene_);                                               \
		struct scene *s = &scene_;                                                         \
		change;                                                                            \
		assert_string_equal(mark(&scene_), before_);                                       \
	} while (0)

static void test_what_a_worker_brings_changes_the_mark(void **state)
{
	(void)state;
	EXPECT_OTHER(s->limits[1].amount = 2 * RESOURCE_UNIT);
	EXPECT_OTHER(s->limits[1].name = "amd.com/gpu");
	EXPECT_OTHER(s->container.limits.count = 1);
	EXPECT_OTHER((s->container.requests = s->container.limits, s->container.limits.count = 0));
	EXPECT_OTHER(s->own[0].amount = 0);
	EXPECT_OTHER(s->group.resources.count = 0);
	EXPECT_OTHER(s->params[1].value = "2");
	EXPECT_OTHER(s->params[1].key = "num-cpus");
	EXPECT_OTHER(s->labels[0].value = "b");
	EXPECT_OTHER(s->selector[0].value = "nvidia-tesla-t4");
	EXPECT_OTHER(s->values[0] = "NVIDIA-L4");
	EXPECT_OTHER(s->expressions[0].operation = "NotIn");
	EXPECT_OTHER(s->group.template.spec.required_node_term_count = 0);
	EXPECT_OTHER(s->container.image = "ray:2");
	EXPECT_OTHER(s->env[0].name = "B");
}

static void test_other_edits_keep_the_mark(void **state)
{
	(void)state;
	EXPECT_SAME(s->group.replicas = 7);
	EXPECT_SAME(s->group.max_replicas = 7);
	EXPECT_SAME(s->params[0].value = "false");
	EXPECT_SAME(s->env[0].value = "2"); /* a snapshot file has no values */
	EXPECT_SAME(s->limits[0].text = "4000m");
	EXPECT_SAME({
		struct quantity first = s->limits[0];
		s->limits[0] = s->limits[1];
		s->limits[1] = first;
	});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_default_to_limits),
		cmocka_unit_test(test_requests_alone),
		cmocka_unit_test(test_a_pod_without_containers_is_of_no_template),
		cmocka_unit_test(test_what_a_worker_brings_changes_the_mark),
		cmocka_unit_test(test_other_edits_keep_the_mark),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_done(&arena);
	return failed;
}
