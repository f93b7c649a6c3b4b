#include "codec/text/quantity.h"

#include "core/model/resources.h"
#include "test/support/codec_support.h"

static void test_amounts(void **state)
{
	static const struct {
		const char *text;
		int64_t amount;
	} table[] = {
		{ "0", 0 },
		{ "1", 10000 },
		{ "100m", 1000 },
		{ "0.1", 1000 },
		{ "15001m", 150010 },
		{ "1n", 1 },
		{ "1u", 1 },
		{ "100u", 1 },
		{ "101u", 2 },
		{ "0.00001", 1 },
		{ "1k", 10000000 },
		{ "1K", 10000000 },
		{ "1M", 10000000000 },
		{ "1G", 10000000000000 },
		{ "1T", 10000000000000000 },
		{ "1Ki", 10240000 },
		{ "100Mi", 1048576000000 },
		{ "2Gi", 21474836480000 },
		{ "1Ti", 10995116277760000 },
		{ "1e3", 10000000 },
		{ "1E3", 10000000 },
		{ "12e-1", 12000 },
		{ "1E-5", 1 },
		{ "1e-400", 1 },
		{ "+1", 10000 },
		{ "-0", 0 },
		{ "-0.000", 0 },
		{ ".5", 5000 },
		{ "5.", 50000 },
		{ "0.5Gi", 5368709120000 },
		{ "0000000000000000000000000000000000000001", 10000 },
		{ "0.000000000000000000000000000000000001Ei", 1 },
		{ "1.00000000000000000000000000000000000001", 10001 },
		{ "90T", 900000000000000000 },
		{ "0e999999999", 0 },
		{ "0.0001Ki", 1024 },
		{ "0.00009765625Ki", 1000 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		const char *problem;
		int64_t amount = -1;

		if (quantity_parse(table[i].text, &amount, &problem))
			fail_msg("%s: %s", table[i].text, problem);
		if (amount != table[i].amount)
			fail_msg("%s is %lld", table[i].text, (long long)amount);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *problem;
	} table[] = {
		{ "", "is not a quantity" },
		{ " 1", "is not a quantity" },
		{ "1 ", "is not a quantity" },
		{ "abc", "is not a quantity" },
		{ "1ki", "is not a quantity" },
		{ "1mi", "is not a quantity" },
		{ "1i", "is not a quantity" },
		{ "1e", "is not a quantity" },
		{ "1e+", "is not a quantity" },
		{ "1e1.5", "is not a quantity" },
		{ "1.2.3", "is not a quantity" },
		{ ".", "is not a quantity" },
		{ "--1", "is not a quantity" },
		{ "NaN", "is not a quantity" },
		{ "inf", "is not a quantity" },
		{ "0x10", "is not a quantity" },
		{ "1Gib", "is not a quantity" },
		{ "1GB", "is not a quantity" },
		{ "1m5", "is not a quantity" },
		{ "1e3k", "is not a quantity" },
		{ "Gi", "is not a quantity" },
		{ "1 Gi", "is not a quantity" },
		{ "1,5", "is not a quantity" },
		{ "1Eii", "is not a quantity" },
		{ "11111111111111111111111111111111111111111111111111111111111111111",
		  "is not a quantity" },
		{ "-1", "is negative" },
		{ "-1m", "is negative" },
		{ "-5Gi", "is negative" },
		{ "12E", "is too large" },
		{ "12Ei", "is too large" },
		{ "1e300", "is too large" },
		{ "1e999999999999", "is too large" },
		{ "90000000000001", "is too large" },
		{ "9999999999999999999999999999999999999999Ei", "is too large" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		const char *problem = NULL;
		int64_t amount;

		if (quantity_parse(table[i].text, &amount, &problem) == 0)
			fail_msg("accepted: %s", table[i].text);
		assert_string_equal(problem, table[i].problem);
	}
}

static void test_decode(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(
		"limits: {nvidia.com/gpu: '1', cpu: 2, memory: bad, x: 0.5, huge: 1e300, n: .nan}");
	struct json_reader reader = { .arena = &arena };
	struct json_at root = json_root(tree, "spec", &reader);
	struct json_at limits = json_member(&root, "limits");
	struct json_at requests = json_member(&root, "requests");
	struct quantities quantities;

	(void)state;
	assert_int_equal(quantities_decode(&limits, &quantities), 0);
	assert_int_equal(quantities.count, 6);
	/* The order of the object, not of the names. */
	assert_string_equal(quantities.at[0].name, "nvidia.com/gpu");
	assert_true(quantities.at[0].valid && quantities.at[0].amount == 10000);
	assert_string_equal(quantities.at[1].text, "2");
	assert_true(quantities.at[1].amount == 20000);
	assert_false(quantities.at[2].valid);
	assert_true(quantities.at[2].amount == 0);
	assert_string_equal(quantities.at[3].text, "0.5");
	assert_false(quantities.at[4].valid);
	assert_false(quantities.at[5].valid);
	assert_int_equal(reader.problems.count, 3);
	assert_string_equal(reader.problems.at[0], "spec.limits.memory: \"bad\" is not a quantity");
	assert_string_equal(reader.problems.at[1], "spec.limits.huge: \"1e+300\" is too large");
	assert_int_equal(quantities_decode(&requests, &quantities), 0);
	assert_int_equal(quantities.count, 0);
}

static int decode_limits(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(tree, "spec", &reader);
	struct json_at limits = json_member(&root, "limits");
	struct quantities quantities;

	return quantities_decode(&limits, &quantities);
}

static void test_wrong_types(void **state)
{
	static const struct codec_bad table[] = {
		{ "limits: []", "spec.limits: must be an object, is an array" },
		{ "limits: 1", "spec.limits: must be an object, is a number" },
		{ "limits: {cpu: true}", "spec.limits.cpu: must be a quantity (a string or a "
					 "number), is a boolean" },
		{ "limits: {cpu: [1]}", "spec.limits.cpu: must be a quantity" },
		{ "limits: {nvidia.com/gpu: {}}", "spec.limits[\"nvidia.com/gpu\"]: must be" },
		{ "limits: {cpu: null}", "spec.limits.cpu: must be a quantity (a string or a "
					 "number), is null" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), decode_limits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_wrong_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
