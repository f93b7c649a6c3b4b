/* The canonical order of demand: total over all differences between two requests, so that the same
 * demand received in another order gives the same plan. */
#include "core/decide/demand.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

static const struct bundle_entry no_number[] = { { "CPU", NAN, 0 } };
static const struct bundle_entry cpu_1[] = { { "CPU", 1, 10000 } };
static const struct bundle_entry cpu_1_more[] = { { "CPU", 1.00001, 10000 } };
static const struct bundle_entry cpu_1_gpu_1[] = { { "CPU", 1, 10000 }, { "GPU", 1, 10000 } };
static const struct bundle_entry cpu_2[] = { { "CPU", 2, 20000 } };
static const struct bundle_entry gpu_1[] = { { "GPU", 1, 10000 } };

static const char *const a_b[] = { "a", "b" };
static const char *const a_c[] = { "a", "c" };

static const struct label_constraint zone_in_a[] = { { "zone", LABEL_OPERATOR_IN, { a_b, 1 } } };
static const struct label_constraint zone_in_ab[] = { { "zone", LABEL_OPERATOR_IN, { a_b, 2 } } };
static const struct label_constraint zone_in_ac[] = { { "zone", LABEL_OPERATOR_IN, { a_c, 2 } } };
static const struct label_constraint zone_not_a[] = {
	{ "zone", LABEL_OPERATOR_NOT_IN, { a_b, 1 } }
};
static const struct label_constraint two[] = { { "zone", LABEL_OPERATOR_NOT_IN, { a_b, 1 } },
					       { "zone2", LABEL_OPERATOR_IN, { a_b, 1 } } };
static const struct label_constraint zone2[] = { { "zone2", LABEL_OPERATOR_IN, { a_b, 1 } } };

static const struct label_selector selectors[] = {
	{ zone_in_a, 1 },  { zone_in_ab, 1 }, { zone_in_ac, 1 },
	{ zone_not_a, 1 }, { two, 2 },        { zone2, 1 },
};

static const struct placement_constraint placements[] = {
	{ .has_anti_affinity = false },
	{ .has_affinity = true, .affinity = { "k", "1" } },
	{ .has_affinity = true, .affinity = { "k", "2" } },
	{ .has_affinity = true, .affinity = { "l", "1" } },
	{ .has_anti_affinity = true, .anti_affinity = { "k", "1" } },
	{ .has_anti_affinity = true, .anti_affinity = { "k", "2" } },
};

#define REQUEST(entries)                                                                           \
	{                                                                                          \
		.bundle = entries, .bundle_count = SUPPORT_COUNT(entries)                          \
	}
#define CPU_1 .bundle = cpu_1, .bundle_count = 1

/* Ascending. */
static const struct ray_request requests[] = {
	{ .bundle_count = 0 },
	REQUEST(no_number),
	{ CPU_1 },
	{ CPU_1, .placements = &placements[0], .placement_count = 1 },
	{ CPU_1, .placements = &placements[1], .placement_count = 1 },
	{ CPU_1, .placements = &placements[2], .placement_count = 1 },
	{ CPU_1, .placements = &placements[3], .placement_count = 1 },
	{ CPU_1, .placements = &placements[4], .placement_count = 1 },
	{ CPU_1, .placements = &placements[5], .placement_count = 1 },
	{ CPU_1, .placements = placements, .placement_count = 2 },
	{ CPU_1, .selectors = &selectors[0], .selector_count = 1 },
	{ CPU_1, .selectors = &selectors[1], .selector_count = 1 },
	{ CPU_1, .selectors = &selectors[2], .selector_count = 1 },
	{ CPU_1, .selectors = &selectors[3], .selector_count = 1 },
	{ CPU_1, .selectors = &selectors[4], .selector_count = 1 },
	{ CPU_1, .selectors = &selectors[5], .selector_count = 1 },
	{ CPU_1, .selectors = selectors, .selector_count = 2 },
	REQUEST(cpu_1_gpu_1),
	REQUEST(cpu_1_more),
	REQUEST(cpu_2),
	REQUEST(gpu_1),
};

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

static void test_order_of_requests(void **state)
{
	const int count = SUPPORT_COUNT(requests);

	(void)state;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < count; k++)
			if (sign(demand_compare_requests(&requests[i], &requests[k])) !=
			    sign(i - k))
				fail_msg("requests %d and %d", i, k);
}

static void test_order_of_gangs(void **state)
{
	const struct bundle_selector one_cpu[] = { { &requests[2], 1 } };
	const struct bundle_selector cpu_then_gpu[] = { { &requests[2], 1 }, { &requests[20], 1 } };
	const struct bundle_selector one_gpu[] = { { &requests[20], 1 } };
	const struct ray_gang gangs[] = {
		{ .details = "a" },
		{ .details = "b" },
		{ .details = "a", .requests = &requests[2], .request_count = 1 },
		{ .details = "b", .requests = &requests[2], .request_count = 1 },
		{ .details = "a", .selectors = cpu_then_gpu, .selector_count = 2 },
		{ .details = "a", .requests = &requests[2], .request_count = 2 },
		{ .details = "a", .selectors = one_gpu, .selector_count = 1 },
	};
	/* Details are compared last, so that groups that differ in them alone are neighbours. The
	 * older form and a single choice of the newer one are equal. */
	const struct ray_gang same = { .details = "a", .selectors = one_cpu, .selector_count = 1 };
	const int count = SUPPORT_COUNT(gangs);

	(void)state;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < count; k++)
			if (sign(demand_compare_gangs(&gangs[i], &gangs[k])) != sign(i - k))
				fail_msg("gangs %d and %d", i, k);
	assert_int_equal(demand_compare_gangs(&gangs[2], &same), 0);
}

static void test_keys_tell_shapes_apart(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	/* Places are not in the key, nor are differences below 1/10000. */
	static const size_t shapes[] = { 0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20 };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(demand_key(&arena, &requests[shapes[i]]),
						demand_key(&arena, &requests[shapes[k]]));
	assert_string_equal(demand_key(&arena, &requests[2]), demand_key(&arena, &requests[18]));
}

/* Thousands of resources in one bundle do not make a text of megabytes. */
static void test_text_has_a_ceiling(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct bundle_entry many[100];
	const struct ray_request large = REQUEST(many);

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(many); i++)
		many[i] = (struct bundle_entry){ arena_printf(&arena, "r%03zu", i), 1, 10000 };
	assert_string_equal(demand_bundle_text(&arena, &requests[17]), "{CPU: 1, GPU: 1}");
	assert_non_null(strstr(demand_bundle_text(&arena, &large), "r000: 1"));
	assert_null(strstr(demand_bundle_text(&arena, &large), "r099"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_requests),
		cmocka_unit_test(test_order_of_gangs),
		cmocka_unit_test(test_keys_tell_shapes_apart),
		cmocka_unit_test(test_text_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
