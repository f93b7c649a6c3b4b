#include "codec/text/utf8.h"

#include <string.h>

#include "test/support/support.h"

static void test_length(void **state)
{
	static const struct {
		const char *text;
		size_t size, length;
	} table[] = {
		{ "a", 1, 1 },
		{ "", 0, 0 },
		{ "\xC3\xA9", 2, 2 },
		{ "\xC3\xA9", 1, 0 },
		{ "\xE2\x82\xAC", 3, 3 },
		{ "\xE2\x82\xAC", 2, 0 },
		{ "\xF0\x9F\x98\x80", 4, 4 },
		{ "\xF0\x9F\x98\x80", 3, 0 },
		{ "\x80", 1, 0 },
		{ "\xC0\x80", 2, 0 },
		{ "\xC1\xBF", 2, 0 },
		{ "\xE0\x80\x80", 3, 0 },
		{ "\xED\xA0\x80", 3, 0 },
		{ "\xF0\x80\x80\x80", 4, 0 },
		{ "\xF4\x90\x80\x80", 4, 0 },
		{ "\xF5\x80\x80\x80", 4, 0 },
		{ "\xFF", 1, 0 },
		{ "\xC3(", 2, 0 },
		{ "\xE2(\xAC", 3, 0 },
		{ "\xF0\x9F(\x80", 4, 0 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++)
		assert_int_equal(utf8_length(table[i].text, table[i].size), table[i].length);
}

static void test_what_is_visible(void **state)
{
	static const char *const hidden[] = { "\x01",         "\x1F",         "\x7F",
					      "\xC2\x80",     "\xC2\x9B",     "\xC2\xAD",
					      "\xD8\x9C",     "\xE1\xA0\x8E", "\xE2\x80\x8B",
					      "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAE",
					      "\xE2\x81\xA6", "\xEF\xBB\xBF", "\xF3\xA0\x81\x81" };
	static const char *const visible[] = {
		" ", "~", "\xC3\xA9", "\xE2\x82\xAC", "\xEF\xBF\xBD", "\xF0\x9F\x98\x80"
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(hidden); i++)
		if (utf8_is_visible(utf8_code_point(hidden[i], strlen(hidden[i]))))
			fail_msg("hidden character %zu is visible", i);
	for (size_t i = 0; i < SUPPORT_COUNT(visible); i++)
		if (!utf8_is_visible(utf8_code_point(visible[i], strlen(visible[i]))))
			fail_msg("visible character %zu is hidden", i);
	assert_int_equal(utf8_code_point("\xF0\x9F\x98\x80", 4), 0x1F600);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_length),
					    cmocka_unit_test(test_what_is_visible) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
