#include "codec/objects/gpushare_json.h"

#include "test/support/support.h"

static struct arena arena = ARENA_INIT;

static size_t decode(const char *index, const char *allocation, const struct device_use **ret_uses)
{
	struct label items[2];
	struct labels annotations;
	size_t count = 0, uses;

	if (index)
		items[count++] = (struct label){ GPUSHARE_ANNOTATION_INDEX, index };
	if (allocation)
		items[count++] = (struct label){ GPUSHARE_ANNOTATION_ALLOCATION, allocation };
	annotations = labels_sort(items, count);
	gpushare_decode(&annotations, &arena, ret_uses, &uses);
	return uses;
}

/* Row C2: the annotations of a Pod have the index of its GPU. */
static void test_c2_index(void **state)
{
	const struct device_use *uses;

	(void)state;
	assert_int_equal(decode("3", NULL, &uses), 1);
	assert_int_equal(uses[0].device, 3);
	assert_int_equal(uses[0].amount, 0);
	assert_int_equal(decode(NULL, NULL, &uses), 0);
	/* The extender writes -1 while it does not know. */
	assert_int_equal(decode("-1", NULL, &uses), 0);
	assert_int_equal(decode("", NULL, &uses), 0);
	assert_int_equal(decode("1x", NULL, &uses), 0);
	assert_int_equal(decode("256", NULL, &uses), 0);
	assert_int_equal(decode("99999999999999999999", NULL, &uses), 0);
}

static void test_c2_allocation(void **state)
{
	const struct device_use *uses;

	(void)state;
	assert_int_equal(decode("7", "{\"a\": {\"0\": 4, \"1\": 2}, \"b\": {\"1\": 3}}", &uses), 2);
	assert_int_equal(uses[0].device, 0);
	assert_int_equal(uses[0].amount, 4 * RESOURCE_UNIT);
	assert_int_equal(uses[1].device, 1);
	assert_int_equal(uses[1].amount, 5 * RESOURCE_UNIT);
}

/* Malformed: the index counts, if there is one. */
static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"{\"a\": 1}",
		"{\"a\": {\"x\": 1}}",
		"{\"a\": {\"0\": \"1\"}}",
		"{\"a\": {\"0\": -1}}",
		"{\"a\": {\"0\": 1.5}}",
		"{\"a\": {\"0\": 9007199254740992}}",
		"{\"a\": {\"0\": 1}, \"b\": null}",
		"{}",
	};
	const struct device_use *uses;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		assert_int_equal(decode("2", texts[i], &uses), 1);
		assert_int_equal(uses[0].device, 2);
		assert_int_equal(decode(NULL, texts[i], &uses), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c2_index),
		cmocka_unit_test(test_c2_allocation),
		cmocka_unit_test(test_malformed),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_done(&arena);
	return failed;
}
