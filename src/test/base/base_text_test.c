/* base/text: cuts never leave half a character. */
#include "base/arena.h"
#include "base/memory.h"
#include "base/text.h"
#include "test/support/support.h"

static void test_fit(void **state)
{
	static const struct {
		const char *text;
		size_t max, size;
	} cases[] = {
		{ "", 0, 0 },
		{ "", 3, 0 },
		{ "abc", 3, 3 },
		{ "abcd", 3, 3 },
		{ "a\xc3\xa9", 2, 1 },
		{ "a\xc3\xa9", 3, 3 },
		{ "\xf0\x9f\x98\x80", 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++)
		assert_int_equal(text_fit(cases[i].text, cases[i].max), cases[i].size);
}

static void test_cut(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *text = "abc\xc3\xa9"
			   "f";

	(void)state;
	assert_ptr_equal(arena_cut(&arena, text, 6), text);
	assert_string_equal(arena_cut(&arena, text, 5), "ab...");
	assert_string_equal(arena_cut(&arena, "\xc3\xa9\xc3\xa9\xc3\xa9", 5), "\xc3\xa9...");
	assert_string_equal(arena_cut(&arena, "abcd", 3), "...");
}

static void test_among(void **state)
{
	static const char *const list[] = { "a", "b" };

	(void)state;
	assert_true(text_is_among("b", list, 2));
	assert_false(text_is_among("b", list, 1));
	assert_true(text_is_word("b", "a|b") && text_is_word("a", "a|b"));
	assert_false(text_is_word("a|b", "a|b") || text_is_word("", "a|b") ||
		     text_is_word("a", ""));
	assert_true(text_is_word("", "a|") && text_is_word("", ""));
	assert_false(text_is_among("b", NULL, 0));
}

static void test_hex_byte(void **state)
{
	(void)state;
	assert_int_equal(text_hex_byte("00"), 0);
	assert_int_equal(text_hex_byte("9aF"), 0x9a);
	assert_int_equal(text_hex_byte("fF"), 255);
	assert_int_equal(text_hex_byte(""), -1);
	assert_int_equal(text_hex_byte("a"), -1);
	assert_int_equal(text_hex_byte("ag"), -1);
	assert_int_equal(text_hex_byte("\xe1"
				       "1"),
			 -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_among),
		cmocka_unit_test(test_hex_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
