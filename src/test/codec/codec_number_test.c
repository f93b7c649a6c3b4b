#include "codec/text/number.h"

#include <math.h>
#include <stdlib.h>

#include "core/model/resources.h"
#include "test/support/support.h"

static void test_print(void **state)
{
	static const struct {
		double value;
		const char *text;
	} table[] = {
		{ 0, "0" },
		{ -0.0, "0" },
		{ 1, "1" },
		{ 0.1, "0.1" },
		{ 1.5, "1.5" },
		{ -2.25, "-2.25" },
		{ 1e21, "1e+21" },
		{ 1e300, "1e+300" },
		{ 17179869184.0, "17179869184" },
		{ 1e-7, "1e-07" },
		{ NAN, "NaN" },
		{ INFINITY, "Infinity" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ -INFINITY, "-Infinity" },
		{ 5e-324, "5e-324" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
	};
	char text[NUMBER_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		number_print(table[i].value, text);
		assert_string_equal(text, table[i].text);
	}
}

static void test_print_reads_back(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		union {
			uint64_t bits;
			double value;
		} random = { .bits = support_random(&seed) };
		char text[NUMBER_TEXT_SIZE];
		double back;

		if (!isfinite(random.value))
			continue;
		number_print(random.value, text);
		assert_int_equal(number_parse(text, &back), 0);
		assert_true(back == random.value);
	}
}

static void test_parse(void **state)
{
	static const char *const bad[] = { "",         " 1",     "1 ",  "0x10",  "nan",  "inf",
					   "infinity", "1e",     "--1", "1.2.3", "e5",   ".",
					   "NaNx",     "nan(1)", "-",   "+",     "-NaN", "1,5" };
	double value;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		if (number_parse(bad[i], &value) == 0)
			fail_msg("accepted: %s", bad[i]);
	}
	assert_int_equal(number_parse("-1.5e3", &value), 0);
	assert_true(value == -1500);
	assert_int_equal(number_parse(".5", &value), 0);
	assert_true(value == 0.5);
	assert_int_equal(number_parse("NaN", &value), 0);
	assert_true(isnan(value));
	assert_int_equal(number_parse("-Infinity", &value), 0);
	assert_true(isinf(value) && value < 0);
}

static void test_parse_integer(void **state)
{
	static const char *const bad[] = { "",  "1.0", " 1",  "1 ", "9223372036854775808",
					   "-", "0x1", "1e3", "+1", "-9223372036854775809" };
	int64_t value;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		if (number_parse_integer(bad[i], &value) == 0)
			fail_msg("accepted: %s", bad[i]);
	}
	assert_int_equal(number_parse_integer("-9223372036854775808", &value), 0);
	assert_true(value == INT64_MIN);
	assert_int_equal(number_parse_integer("9223372036854775807", &value), 0);
	assert_true(value == INT64_MAX);
}

static void test_amount(void **state)
{
	static const struct {
		double value;
		int64_t amount;
		const char *problem;
	} table[] = {
		{ 1, 10000, NULL },
		{ 0.5, 5000, NULL },
		{ 0.1, 1000, NULL },
		{ 0, 0, NULL },
		{ -0.0, 0, NULL },
		{ 0.00004, 0, NULL },
		{ 0.00006, 1, NULL },
		{ 1.0 / 3, 3333, NULL },
		{ 9e13, RESOURCE_AMOUNT_MAX, NULL },
		{ NAN, 0, "is NaN" },
		{ INFINITY, 0, "is infinite" },
		{ -INFINITY, 0, "is infinite" },
		{ -1, 0, "is negative" },
		{ 1e300, 0, "is too large" },
		{ 9.1e13, 0, "is too large" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		const char *problem = "unset";

		assert_int_equal(amount_from_double(table[i].value, &problem), table[i].amount);
		if (table[i].problem)
			assert_string_equal(problem, table[i].problem);
		else
			assert_null(problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),  cmocka_unit_test(test_print_reads_back),
		cmocka_unit_test(test_parse),  cmocka_unit_test(test_parse_integer),
		cmocka_unit_test(test_amount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
