/* Requests of request_resources and its annotation over several answers, as items of a workload. */
#include "feature/record/core/recorded_requests.h"

#include <string.h>

#include "test/support/support.h"

#define SINCE 1000
#define UNTIL 100000

static struct arena arena;
static struct recorded_requests *requests;
static struct recorded_items items;

static const struct bundle_entry gpu[] = { { "CPU", 0, 0 }, { "GPU", 1, RESOURCE_UNIT } };
static const struct bundle_entry cpus[] = { { "CPU", 4, 4 * RESOURCE_UNIT } };
static const struct ray_request one_gpu = { .bundle = gpu, .bundle_count = 2 };
static const struct ray_request four_cpus = { .bundle = cpus, .bundle_count = 1 };

static int setup(void **state)
{
	(void)state;
	requests = recorded_requests_new();
	items = (struct recorded_items){ .count = 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorded_requests_free(requests);
	arena_done(&arena);
	return 0;
}

static void answer(time_ms at, const struct ray_request_count *list, size_t count)
{
	const struct ray_constraint constraint = { list, count };
	const struct ray_constraint *constraints = &constraint;

	recorded_requests_add(requests, at, &constraints, count > 0 ? 1 : 0);
}

static void expect(size_t index, const char *resource, time_ms submitted, int64_t duration_ms,
		   int64_t count)
{
	const struct recorded_item *item = &items.at[index];

	assert_true(index < items.count);
	assert_int_equal(item->kind, WORK_REQUEST_RESOURCES);
	assert_int_equal(item->bundle_count, 1);
	assert_int_equal(item->bundles->resources.count, 1);
	assert_string_equal(item->bundles->resources.at[0].name, resource);
	assert_int_equal(item->submitted, submitted);
	assert_int_equal(item->duration_ms, duration_ms);
	assert_int_equal(item->count, count);
}

static void make(void)
{
	recorded_requests_items(requests, SINCE, UNTIL, &arena, &items);
}

/* A count that changes ends one item and begins another. */
static void test_changes_are_items(void **state)
{
	const struct ray_request_count two = { one_gpu, 2 };
	const struct ray_request_count more[] = { { four_cpus, 1 }, { one_gpu, 3 } };

	(void)state;
	answer(50000, &two, 1);
	answer(60000, &two, 1);
	answer(70000, more, 2);
	answer(80000, &more[1], 1);
	make();
	assert_int_equal(items.count, 3);
	expect(0, "GPU", SINCE, 70000 - SINCE, 2);
	expect(1, "CPU", 70000, 10000, 1);
	expect(2, "GPU", 70000, 30000, 3);
	assert_int_equal(items.by_kind[WORK_REQUEST_RESOURCES], 6);
	assert_int_equal(items.early, 2);
	assert_int_equal(items.open, 3);
}

static void test_a_request_that_comes_and_ends(void **state)
{
	const struct ray_request_count one = { one_gpu, 1 };

	(void)state;
	answer(50000, NULL, 0);
	answer(60000, &one, 1);
	answer(70000, NULL, 0);
	make();
	assert_int_equal(items.count, 1);
	expect(0, "GPU", 60000, 10000, 1);
	assert_int_equal(items.early + items.open, 0);
}

/* The same workers serve Ray's request and that of the annotation. */
static void test_the_larger_of_two_constraints(void **state)
{
	const struct ray_request_count sdk[] = { { one_gpu, 1 }, { one_gpu, 2 } };
	const struct ray_request_count annotation[] = { { one_gpu, 2 }, { four_cpus, 1 } };
	const struct ray_constraint a = { sdk, 2 }, b = { annotation, 2 };
	const struct ray_constraint *const both[] = { &a, &b };

	(void)state;
	recorded_requests_add(requests, 50000, both, 2);
	make();
	assert_int_equal(items.count, 2);
	expect(0, "GPU", SINCE, UNTIL - SINCE, 3);
	expect(1, "CPU", SINCE, UNTIL - SINCE, 1);
}

static void test_selectors_have_rays_form(void **state)
{
	static const char *const values[] = { "spot", "reserved" };
	const struct label_constraint constraints[] = {
		{ "zone", LABEL_OPERATOR_NOT_IN, { values, 1 } },
		{ "market", LABEL_OPERATOR_IN, { values, 2 } },
	};
	const struct label_selector selector = { constraints, 2 };
	const struct ray_request_count selected = {
		{ .bundle = cpus, .bundle_count = 1, .selectors = &selector, .selector_count = 1 },
		1
	};
	const struct labels *labels;

	(void)state;
	answer(50000, &selected, 1);
	make();
	expect(0, "CPU", SINCE, UNTIL - SINCE, 1);
	labels = &items.at[0].bundles->selector;
	assert_string_equal(labels_value(labels, "market"), "in(spot, reserved)");
	assert_string_equal(labels_value(labels, "zone"), "!in(spot)");
}

/* A simulation could not read a file with one of these. */
static void test_unusable_requests_are_counted(void **state)
{
	static const struct bundle_entry lower[] = { { "gpu", 1, RESOURCE_UNIT } };
	static const struct bundle_entry control[] = { { "a\n", 1, RESOURCE_UNIT } };
	static const struct bundle_entry nothing[] = { { "GPU", 0, 0 } };
	static const char *const odd[] = { "a)" }, *const empty[] = { "" };
	static const struct label_constraint bad[] = {
		{ "zone", LABEL_OPERATOR_IN, { odd, 1 } },
		{ "zone", LABEL_OPERATOR_IN, { empty, 1 } },
		{ "zone", LABEL_OPERATOR_IN, { NULL, 0 } },
		{ "zone", 7, { odd, 1 } },
		{ "a b", LABEL_OPERATOR_IN, { odd, 1 } },
	};
	struct label_selector selectors[SUPPORT_COUNT(bad)];
	struct ray_request_count list[5 + SUPPORT_COUNT(bad)] = {
		{ { .bundle = lower, .bundle_count = 1 }, 1 },
		{ { .bundle = control, .bundle_count = 1 }, 1 },
		{ { .bundle = nothing, .bundle_count = 1 }, 1 },
		{ { .bundle = gpu, .bundle_count = 2, .problem = "GPU is NaN" }, 1 },
		{ one_gpu, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		selectors[i] = (struct label_selector){ &bad[i], 1 };
		list[5 + i] = (struct ray_request_count){ one_gpu, 1 };
		list[5 + i].request.selectors = &selectors[i];
		list[5 + i].request.selector_count = 1;
	}
	answer(50000, list, SUPPORT_COUNT(list));
	make();
	assert_int_equal(items.count, 0);
	assert_int_equal(items.unusable, SUPPORT_COUNT(list));
}

static void test_the_number_of_requests_is_limited(void **state)
{
	static struct bundle_entry entries[RECORDED_REQUESTS_MAX + 1];
	static struct ray_request_count list[RECORDED_REQUESTS_MAX + 1];

	(void)state;
	for (size_t i = 0; i <= RECORDED_REQUESTS_MAX; i++) {
		entries[i] = (struct bundle_entry){ "GPU", 1, (int64_t)i + 1 };
		list[i] = (struct ray_request_count){ { .bundle = &entries[i], .bundle_count = 1 },
						      1 };
	}
	answer(50000, list, RECORDED_REQUESTS_MAX + 1);
	make();
	assert_int_equal(items.count, RECORDED_REQUESTS_MAX);
	assert_int_equal(items.full, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes_are_items, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_request_that_comes_and_ends, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_larger_of_two_constraints, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_selectors_have_rays_form, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unusable_requests_are_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_number_of_requests_is_limited, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
