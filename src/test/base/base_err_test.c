#include "base/err.h"

#include <string.h>

#include "test/support/support.h"

static void test_set_fills_kind_and_text(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(err_set(&err, ERR_INPUT, "%s: %d", "spec.replicas", -1), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_string_equal(err.text, "spec.replicas: -1");
	assert_int_equal(err_set(&err, ERR_RETRY, "again"), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.text, "again");
}

static void test_null_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_INPUT, "nobody wants to know"), -1);
	assert_int_equal(err_prefix(NULL, "nobody"), -1);
}

static void test_own_text_may_be_an_argument(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, ERR_DENIED, "token expired");
	err_set(&err, ERR_FATAL, "cannot start: %s", err.text);
	assert_string_equal(err.text, "cannot start: token expired");
	err_prefix(&err, "%s", err.text);
	assert_string_equal(err.text, "cannot start: token expired: cannot start: token expired");
}

static void test_prefix_keeps_kind(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, ERR_GONE, "too old");
	assert_int_equal(err_prefix(&err, "list of %s", "pods"), -1);
	assert_int_equal(err.kind, ERR_GONE);
	assert_string_equal(err.text, "list of pods: too old");
}

static void test_control_characters_become_spaces(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, ERR_INPUT, "a\nb\tc\033[31m\x7f\xc2\x9b\xc3\xa9");
	assert_string_equal(err.text, "a b c [31m   \xc3\xa9");
	err_prefix(&err, "x\r\n");
	assert_string_equal(err.text, "x  : a b c [31m   \xc3\xa9");
}

static void test_long_text_is_cut(void **state)
{
	struct err err = { 0 };
	char text[2 * ERR_TEXT_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ERR_LIMIT, "%s", text);
	assert_int_equal(strlen(err.text), ERR_TEXT_SIZE - 1);
	err_prefix(&err, "%s", text);
	assert_int_equal(strlen(err.text), ERR_TEXT_SIZE - 1);
}

/* Every length around the limit, with characters of 1 to 4 bytes: never half a character. */
static void test_cut_keeps_whole_characters(void **state)
{
	static const char *const characters[] = { "a", "\xc3\xa9", "\xe2\x82\xac",
						  "\xf0\x9f\x98\x80" };

	(void)state;
	for (size_t c = 0; c < SUPPORT_COUNT(characters); c++) {
		size_t size = strlen(characters[c]);

		for (size_t lead = 0; lead < 8; lead++) {
			char text[2 * ERR_TEXT_SIZE] = "";
			struct err err = { 0 };
			size_t length;

			memset(text, '.', lead);
			for (size_t at = lead; at + size < sizeof(text); at += size)
				memcpy(text + at, characters[c], size);
			err_set(&err, ERR_INPUT, "%s", text);
			length = strlen(err.text);
			assert_true(length >= ERR_TEXT_SIZE - 4);
			assert_int_equal((length - lead) % size, 0);
			err_prefix(&err, "p");
			assert_int_equal((strlen(err.text) - lead - 3) % size, 0);
		}
	}
}

static void test_cut_of_broken_utf8_stays_in_bounds(void **state)
{
	char text[2 * ERR_TEXT_SIZE];
	struct err err = { 0 };

	(void)state;
	for (int byte = 0x80; byte <= 0xff; byte++) {
		memset(text, byte, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		err_set(&err, ERR_INPUT, "%s", text);
		assert_true(strlen(err.text) >= ERR_TEXT_SIZE - 5);
		assert_true(strlen(err.text) < ERR_TEXT_SIZE);
	}
}

static void test_kind_names_are_distinct(void **state)
{
	(void)state;
	assert_string_equal(err_kind_name(ERR_RETRY), "Retry");
	assert_string_equal(err_kind_name(ERR_NOT_FOUND), "NotFound");
	for (int a = ERR_NONE; a <= ERR_FATAL; a++)
		for (int b = ERR_NONE; b < a; b++)
			assert_string_not_equal(err_kind_name((enum err_kind)a),
						err_kind_name((enum err_kind)b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_fills_kind_and_text),
		cmocka_unit_test(test_null_is_accepted),
		cmocka_unit_test(test_own_text_may_be_an_argument),
		cmocka_unit_test(test_prefix_keeps_kind),
		cmocka_unit_test(test_control_characters_become_spaces),
		cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_cut_keeps_whole_characters),
		cmocka_unit_test(test_cut_of_broken_utf8_stays_in_bounds),
		cmocka_unit_test(test_kind_names_are_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
