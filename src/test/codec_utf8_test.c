#include "codec/utf8.h"

#include "support.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_length) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
