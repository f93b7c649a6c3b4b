#include "codec/text/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"

static int parse(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;

	(void)arena;
	return json_parse(text, strlen(text), &codec_limits, &tree, err);
}

static void test_good(void **state)
{
	static const char *const good[] = {
		"0",
		"-0",
		"1.5e-3",
		"true",
		"false",
		"null",
		"\"\"",
		"[]",
		"{}",
		" [ ] ",
		"{\"a\":[{\"b\":{}}]}",
		"\"\\u00e9\\n\\\"\\\\\\/\\b\\f\\r\\t\"",
		"\"\\ud83d\\ude00\"",
		"\"\xC3\xA9\"",
		"\xEF\xBB\xBF{}",
		"[1,\n2,\t3\r\n]",
		"1E+2",
		"{\"\":1}",
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(good); i++) {
		struct err err;

		if (parse(good[i], NULL, &err))
			fail_msg("%s: %s", good[i], err.text);
	}
}

static void test_bad_text(void **state)
{
	static const struct codec_bad table[] = {
		{ "", "the text is empty" },
		{ "\xEF\xBB\xBF", "the text is empty" },
		{ "  ", "line 1, column 3: the text ends where a value is expected" },
		{ "{", "line 1, column 2: a member name in quotes is expected" },
		{ "[1,", "line 1, column 4: the text ends where" },
		{ "[1 2]", "line 1, column 4: \",\" or \"]\" is expected" },
		{ "{\"a\" 1}", "line 1, column 6: \":\" is expected" },
		{ "{\"a\":1 \"b\":2}", "line 1, column 8: \",\" or \"}\" is expected" },
		{ "{a: 1}", "line 1, column 2: a member name in quotes" },
		{ "{\"a\":1,}", "line 1, column 8: a member name in quotes" },
		{ "[\n1,\n]", "line 3, column 1: a value is expected" },
		{ "01", "line 1, column 2: a number must not begin with 0" },
		{ "1.", "line 1, column 3: a digit is missing" },
		{ ".5", "line 1, column 1: a value is expected" },
		{ "+1", "line 1, column 1: a value is expected" },
		{ "-", "line 1, column 2: a digit is missing" },
		{ "1e", "line 1, column 3: a digit is missing" },
		{ "NaN", "line 1, column 1: a value is expected" },
		{ "nul", "line 1, column 1: a value is expected" },
		{ "True", "line 1, column 1: a value is expected" },
		{ "'a'", "line 1, column 1: a value is expected" },
		{ "\"a", "line 1, column 3: the text ends in a string" },
		{ "\"a\\", "line 1, column 4: the text ends in a string" },
		{ "\"\\x\"", "line 1, column 3: unknown escape" },
		{ "\"\\u12g4\"", "line 1, column 3: \\u needs four" },
		{ "\"\\u12", "line 1, column 3: \\u needs four" },
		{ "\"\\u0000\"", "line 1, column 3: a string must not hold a NUL" },
		{ "\"\\ud800\"", "line 1, column 8: half of a surrogate pair" },
		{ "\"\\ud800\\u0041\"", "line 1, column 8: half of a surrogate pair" },
		{ "\"\\udc00\"", "line 1, column 3: half of a surrogate pair" },
		{ "\"a\tb\"", "line 1, column 3: a control character" },
		{ "\"\xFF\"", "line 1, column 2: a string is not UTF-8" },
		{ "\"\xED\xA0\x80\"", "line 1, column 2: a string is not UTF-8" },
		{ "{} x", "line 1, column 4: something follows" },
		{ "1111111111111111111111111111111111111111111111111111111111111",
		  "line 1, column 62: a number has more than 60" },
		{ "{\"a\":{\"b\":[0,{\"c\":1,\"d\":2,\"c\":3}]}}", "a.b[1].c: is there twice" },
		{ "{\"c\":1,\"\\u0063\":3}", "c: is there twice" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), parse);
}

static void test_nul_in_text(void **state)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	(void)state;
	assert_int_equal(json_parse("{}\0", 3, &codec_limits, &tree, &err), -1);
	assert_string_equal(err.text, "line 1, column 3: something follows the end of the value");
	assert_int_equal(json_parse("\"\0\"", 3, &codec_limits, &tree, &err), -1);
	assert_int_equal(json_parse("\"\\\0\"", 4, &codec_limits, &tree, &err), -1);
	assert_null(tree);
}

/* A string that C cannot hold is a value of its own type; it equals no text and is part of no text. */
static void test_foreign_strings(void **state)
{
	static const char *const texts[] = { "\"a\\u0000b\"",
					     "\"a\\ud800b\"",
					     "\"a\\ud800\\u0041b\"",
					     "\"a\\udc00b\"",
					     "\"a\xFF"
					     "b\"",
					     "\"a\xED\xA0\x80"
					     "b\"" };
	static const char *const shown[] = { "a\uFFFDb", "a\uFFFDb", "a\uFFFDAb",
					     "a\uFFFDb", "a\uFFFDb", "a\uFFFDb" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		AUTO(json_done) struct cJSON *tree = NULL;
		struct json_limits limits = codec_limits;
		struct err err;
		struct json_reader reader = { .arena = &arena, .err = &err };
		const char *text =
			arena_printf(&arena, "{\"x\":%s,%s:1,\"a\":2}", texts[i], texts[i]);
		struct json_at root;

		limits.foreign = true;
		assert_int_equal(json_parse(text, strlen(text), &limits, &tree, &err), 0);
		root = json_root(tree, "", &reader);
		assert_int_equal(json_text(&root, "x", &text), -1);
		assert_string_equal(
			err.text,
			"x: must be a string, is unreadable: text or name has \\u0000, half a "
			"surrogate pair or bytes that are not UTF-8; remove them");
		assert_int_equal(json_shown(&root, "x", &text), 0);
		assert_string_equal(text, shown[i]);
		for (struct json_at e = json_first(&root); e.json; json_next(&e)) {
			bool plain = strcmp(e.name, "a") == 0;

			assert_int_equal(json_type(&e), plain ? JSON_NUMBER : JSON_UNREADABLE);
			if (!plain && strcmp(e.name, "x") != 0) {
				assert_int_equal(json_expect(&e, JSON_NUMBER), -1);
				assert_null(strchr(err.text, JSON_MARK));
			}
		}
	}
}

static void expect_limit(const char *text, const struct json_limits *limits, const char *error)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	assert_int_equal(json_parse(text, strlen(text), limits, &tree, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.text, error));
}

static void test_limits(void **state)
{
	const struct json_limits small = { .bytes = 20, .depth = 3, .elements = 5 };
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	(void)state;
	assert_int_equal(json_parse("[[[1,2]]]", 9, &small, &tree, &err), 0);
	expect_limit("[[[[]]]]", &small, "line 1, column 4: too deeply nested");
	expect_limit("[1,2,3,4,5]", &small, "line 1, column 10: too many values");
	expect_limit("\"aaaaaaaaaaaaaaaaaaa\"", &small, "the text has 21 bytes, more than 20");
}

/* The depth is limited to the capacity of cJSON and of the stack, whatever the limits allow. */
static void test_depth_ceiling(void **state)
{
	const struct json_limits limits = { .bytes = 1 << 20,
					    .depth = SIZE_MAX,
					    .elements = 1 << 20 };
	struct buf buf;

	(void)state;
	buf_init(&buf, 1 << 20);
	for (int i = 0; i < 100000; i++)
		buf_add_char(&buf, '[');
	expect_limit(buf_string(&buf), &limits, "column 501: too deeply nested");
	buf_done(&buf);
}

static void test_many_members(void **state)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf buf;
	struct err err;

	(void)state;
	buf_init(&buf, 16 << 20);
	buf_add_char(&buf, '{');
	for (int i = 0; i < 100000; i++)
		buf_printf(&buf, "\"n%d\":1,", i);
	buf_add_string(&buf, "\"n77\":1}");
	assert_int_equal(json_parse(buf_string(&buf), buf.size, &codec_limits, &tree, &err), -1);
	assert_string_equal(err.text, "n77: is there twice; which one counts is not clear");
}

/* Without unique_names two members of one name are accepted; readers use the first one. */
static void test_first_counts(void **state)
{
	const struct json_limits limits = { .bytes = 100, .depth = 5, .elements = 10 };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_reader reader = { .arena = &arena };
	struct json_at root;
	int64_t value = 0;
	struct err err;

	(void)state;
	assert_int_equal(json_parse("{\"a\":1,\"a\":2}", 13, &limits, &tree, &err), 0);
	root = json_root(tree, "", &reader);
	assert_int_equal(json_integer(&root, "a", NULL, &value), 0);
	assert_int_equal(value, 1);
}

/* ---- readers ---- */

static void test_three_states(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree("{zero: 0, none: null, text: '', no: false}");
	struct json_reader reader = { .arena = &arena };
	struct json_at root = json_root(tree, "", &reader), at;
	int64_t number = 7;
	bool has = true, flag = true;
	const char *text;

	(void)state;
	at = json_member(&root, "missing");
	assert_int_equal(json_type(&at), JSON_MISSING);
	at = json_member(&root, "none");
	assert_int_equal(json_type(&at), JSON_NULL);
	at = json_member(&root, "Zero");
	assert_int_equal(json_type(&at), JSON_MISSING);
	assert_int_equal(json_integer(&root, "missing", &has, &number), 0);
	assert_true(!has && number == 7);
	has = true;
	assert_int_equal(json_integer(&root, "none", &has, &number), 0);
	assert_true(!has && number == 7);
	assert_int_equal(json_integer(&root, "zero", &has, &number), 0);
	assert_true(has && number == 0);
	assert_int_equal(json_text(&root, "missing", &text), 0);
	assert_string_equal(text, "");
	assert_int_equal(json_boolean(&root, "missing", &flag), 0);
	assert_false(flag);
	assert_int_equal(json_object(&root, "missing", &at), 0);
	assert_null(at.json);
	/* Below a missing object all is missing. */
	assert_int_equal(json_text(&at, "deeper", &text), 0);
	assert_string_equal(text, "");
}

static int read_all(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(tree, "top", &reader), list, e;
	struct json_at number = json_member(&root, "number");
	const char *string;
	int64_t integer;
	bool flag;

	if (json_expect(&root, JSON_OBJECT) || json_text(&root, "text", &string) ||
	    json_integer(&root, "integer", NULL, &integer) || json_optional(&number, JSON_NUMBER) ||
	    json_boolean(&root, "flag", &flag) || json_object(&root, "object", &list) ||
	    json_array(&root, "list", &list))
		return -1;
	for (e = json_first(&list); e.json; json_next(&e)) {
		struct json_at deep;

		if (json_object(&e, "ray.io/x", &deep) || json_integer(&deep, "n", NULL, &integer))
			return -1;
	}
	return 0;
}

static void test_wrong_types(void **state)
{
	static const struct codec_bad table[] = {
		{ "[]", "top: must be an object, is an array" },
		{ "text: 1", "top.text: must be a string, is a number; put it in quotes" },
		{ "text: true", "top.text: must be a string, is a boolean; put it in quotes" },
		{ "text: {}", "top.text: must be a string, is an object" },
		{ "integer: '1'", "top.integer: must be an integer, is a string" },
		{ "integer: 1.5", "top.integer: must be an integer, is 1.5" },
		{ "integer: true", "top.integer: must be an integer, is a boolean" },
		{ "integer: []", "top.integer: must be an integer, is an array" },
		{ "integer: .nan", "top.integer: must be an integer, is NaN" },
		{ "integer: .inf", "top.integer: must be an integer, is Infinity" },
		{ "integer: 9007199254740994",
		  "top.integer: must be an integer of at most 2^53, is 9007199254740994" },
		{ "integer: -1e300",
		  "top.integer: must be an integer of at most 2^53, is -1e+300" },
		{ "number: x", "top.number: must be a number, is a string" },
		{ "flag: 'true'", "top.flag: must be a boolean, is a string" },
		{ "flag: 1", "top.flag: must be a boolean, is a number" },
		{ "object: []", "top.object: must be an object, is an array" },
		{ "list: {}", "top.list: must be an array, is an object" },
		{ "list: [{}, {ray.io/x: {n: x}}]",
		  "top.list[1][\"ray.io/x\"].n: must be an integer, is a string" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), read_all);
}

static void test_problems_are_bounded(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct json_reader reader = { .arena = &arena };
	struct json_at root = json_root(NULL, "", &reader);
	struct json_at member = json_member(&root, "a");

	(void)state;
	for (int i = 0; i < 1000; i++)
		json_problem(&member, "number %d", i);
	assert_int_equal(reader.problems.count, JSON_PROBLEMS_MAX);
	assert_string_equal(reader.problems.at[3], "a: number 3");
	assert_string_equal(json_path(&root), "top level");
}

static void test_long_path(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *name = memory_alloc(5001);
	struct json_reader reader = { .arena = &arena };
	struct json_at at[20];

	(void)state;
	memset(name, 'x', 5000);
	at[0] = json_root(NULL, "", &reader);
	for (size_t i = 1; i < SUPPORT_COUNT(at); i++)
		at[i] = json_member(&at[i - 1], name);
	assert_true(strlen(json_path(&at[2])) == 201);
	assert_true(strlen(json_path(&at[19])) <= 512);
}

static void test_walk(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = codec_tree("{b: [1, x, true], a: {k: 1}, n: null}");
	struct json_reader reader = { .arena = &arena };
	struct json_at root = json_root(tree, "", &reader), list, e = json_first(&root);

	(void)state;
	assert_int_equal(json_count(&root), 3);
	assert_string_equal(e.name, "b");
	json_next(&e);
	assert_string_equal(json_print(&e), "{\"k\":1}");
	json_next(&e);
	assert_string_equal(json_path(&e), "n");
	json_next(&e);
	assert_null(e.json);
	assert_string_equal(json_print(&e), "");
	list = json_member(&root, "b");
	e = json_first(&list);
	json_next(&e);
	assert_string_equal(json_path(&e), "b[1]");
	assert_string_equal(json_text_value(&e), "x");
	EXPECT_CHECK(json_number_value(&e));
	EXPECT_CHECK(json_boolean_value(&e));
	EXPECT_CHECK(json_text_value(&root));
	e = json_first(&e);
	assert_null(e.json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_nul_in_text),
		cmocka_unit_test(test_foreign_strings),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_depth_ceiling),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_first_counts),
		cmocka_unit_test(test_three_states),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_problems_are_bounded),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
