#include "codec/text/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "codec/text/yaml_scalar.h"
#include "test/support/codec_support.h"

/* The tree as JSON text, in the arena. */
static const char *as_json(const char *text, struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(tree, "", &reader);

	return json_print(&root);
}

static void test_trees(void **state)
{
	static const struct {
		const char *yaml, *json;
	} table[] = {
		{ "a: 1", "{\"a\":1}" },
		{ "- a\n- 'b'\n- \"c\"\n", "[\"a\",\"b\",\"c\"]" },
		{ "a: {b: [1, 2], c: null}", "{\"a\":{\"b\":[1,2],\"c\":null}}" },
		{ "a:\nb: ~\nc: ''", "{\"a\":null,\"b\":null,\"c\":\"\"}" },
		{ "a: yes\nb: no\nc: on\nd: y", "{\"a\":true,\"b\":false,\"c\":true,\"d\":\"y\"}" },
		{ "a: 'yes'\nb: \"off\"\nc: yess\nd: 08",
		  "{\"a\":\"yes\",\"b\":\"off\",\"c\":\"yess\",\"d\":8}" },
		{ "[010, 0b11, -0x1f, 0o17, 1_000, 2_x]", "[8,3,-31,15,1000,\"2_x\"]" },
		{ "a: '1'\nb: \"true\"\nc: 'null'", "{\"a\":\"1\",\"b\":\"true\",\"c\":\"null\"}" },
		{ "a: |\n  x\n  y\nb: >\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\\n\"}" },
		{ "a: 2026-11-20T10:00:00Z", "{\"a\":\"2026-11-20T10:00:00Z\"}" },
		{ "a: 100m\nb: 2Gi\nc: 12E\nd: 1_000",
		  "{\"a\":\"100m\",\"b\":\"2Gi\",\"c\":\"12E\",\"d\":1000}" },
		{ "1: a\ntrue: b\n~: c", "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\"}" },
		{ "a: &x {k: 1}\nb: *x\nc: [*x, *x]",
		  "{\"a\":{\"k\":1},\"b\":{\"k\":1},\"c\":[{\"k\":1},{\"k\":1}]}" },
		{ "a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}" },
		{ "<<: {a: 1}\nb: 2", "{\"b\":2,\"a\":1}" },
		{ "'<<': {a: 1}", "{\"<<\":{\"a\":1}}" },
		{ "b: 2\n<<: [{a: 1, b: 3}, {a: 4, c: 5}]", "{\"b\":2,\"a\":1,\"c\":5}" },
		{ "x: &x {a: {k: 1}}\ny:\n  <<: *x\n  b: 2\nz: {<<: *x}",
		  "{\"x\":{\"a\":{\"k\":1}},\"y\":{\"b\":2,\"a\":{\"k\":1}},\"z\":{\"a\":{\"k\":1}}}" },
		{ "a: !!str 1\nb: !!int '1'\nc: !!float 1\nd: ! true\ne: !!map {}\nf: !!seq []",
		  "{\"a\":\"1\",\"b\":1,\"c\":1,\"d\":\"true\",\"e\":{},\"f\":[]}" },
		{ "--- {a: 1}\n...\n", "{\"a\":1}" },
		{ "{\"a\": [1, {\"b\": \"\\u00e9\"}]}", "{\"a\":[1,{\"b\":\"\xC3\xA9\"}]}" },
		{ "# only a comment before\nx", "\"x\"" },
		{ "%YAML 1.1\n---\na: 1", "{\"a\":1}" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;

		assert_string_equal(as_json(table[i].yaml, &arena), table[i].json);
	}
}

static void test_scalars(void **state)
{
	static const struct {
		const char *text;
		enum yaml_scalar_kind kind;
		double number;
	} table[] = {
		{ "", YAML_SCALAR_NULL, 0 },
		{ "~", YAML_SCALAR_NULL, 0 },
		{ "null", YAML_SCALAR_NULL, 0 },
		{ "NULL", YAML_SCALAR_NULL, 0 },
		{ "nUll", YAML_SCALAR_STRING, 0 },
		{ "True", YAML_SCALAR_BOOLEAN, 0 },
		{ "FALSE", YAML_SCALAR_BOOLEAN, 0 },
		{ "tRue", YAML_SCALAR_STRING, 0 },
		{ "0", YAML_SCALAR_INTEGER, 0 },
		{ "-12", YAML_SCALAR_INTEGER, -12 },
		{ "+12", YAML_SCALAR_INTEGER, 12 },
		{ "012", YAML_SCALAR_INTEGER, 10 },
		{ "-012", YAML_SCALAR_INTEGER, -10 },
		{ "019", YAML_SCALAR_INTEGER, 19 },
		{ "0b11", YAML_SCALAR_INTEGER, 3 },
		{ "0b12", YAML_SCALAR_STRING, 0 },
		{ "1_000.5", YAML_SCALAR_FLOAT, 1000.5 },
		{ "_1", YAML_SCALAR_STRING, 0 },
		{ "Yes", YAML_SCALAR_BOOLEAN, 0 },
		{ "N", YAML_SCALAR_STRING, 0 },
		{ "oFF", YAML_SCALAR_STRING, 0 },
		{ "0o17", YAML_SCALAR_INTEGER, 15 },
		{ "0xFf", YAML_SCALAR_INTEGER, 255 },
		{ "0o8", YAML_SCALAR_STRING, 0 },
		{ "0x", YAML_SCALAR_STRING, 0 },
		{ "0xG", YAML_SCALAR_STRING, 0 },
		{ "-0x1", YAML_SCALAR_INTEGER, -1 },
		{ "1.5", YAML_SCALAR_FLOAT, 1.5 },
		{ ".5", YAML_SCALAR_FLOAT, 0.5 },
		{ "5.", YAML_SCALAR_FLOAT, 5 },
		{ "1e3", YAML_SCALAR_FLOAT, 1000 },
		{ "1.5E-1", YAML_SCALAR_FLOAT, 0.15 },
		{ "1e", YAML_SCALAR_STRING, 0 },
		{ "e3", YAML_SCALAR_STRING, 0 },
		{ ".", YAML_SCALAR_STRING, 0 },
		{ ".e1", YAML_SCALAR_STRING, 0 },
		{ "-", YAML_SCALAR_STRING, 0 },
		{ "1.2.3", YAML_SCALAR_STRING, 0 },
		{ "1 2", YAML_SCALAR_STRING, 0 },
		{ ".inf", YAML_SCALAR_FLOAT, INFINITY },
		{ "-.Inf", YAML_SCALAR_FLOAT, -INFINITY },
		{ "inf", YAML_SCALAR_STRING, 0 },
		{ "nan", YAML_SCALAR_STRING, 0 },
		{ "1e999", YAML_SCALAR_FLOAT, INFINITY },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		struct yaml_scalar scalar = yaml_scalar_resolve(table[i].text);

		if (scalar.kind != table[i].kind || scalar.number != table[i].number)
			fail_msg("%s is kind %d, %g", table[i].text, scalar.kind, scalar.number);
	}
	assert_true(isnan(yaml_scalar_resolve(".nan").number));
	assert_true(yaml_scalar_resolve("TRUE").boolean);
	assert_false(yaml_scalar_resolve("false").boolean);
	assert_true(yaml_scalar_resolve("On").boolean);
	assert_false(yaml_scalar_resolve("off").boolean);
}

static int parse(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;

	(void)arena;
	return yaml_parse(text, strlen(text), &codec_limits, &tree, err);
}

static void test_bad(void **state)
{
	static const struct codec_bad table[] = {
		{ "", "the text is empty" },
		{ "# nothing\n", "the text is empty" },
		{ "a: 1\nb: 2\na: 3\n",
		  "line 3, column 1: this member is there twice; remove one: a" },
		{ "x: {k: 1, 'k': 2}",
		  "line 1, column 11: this member is there twice; remove one: k" },
		{ "{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 0, k: 1, l: 2, m: 3, "
		  "n: 4, o: 5, p: 6, q: 7, r: 8, a: 9}",
		  "line 1, column 110: this member is there twice; remove one: a" },
		{ "a: 1\n---\nb: 2\n", "line 2, column 1: a second document begins here" },
		{ "a: *x", "line 1, column 4: no anchor before this alias has its name: x" },
		{ "a: &x [*x]", "line 1, column 8: no anchor before this alias" },
		{ "? [1]\n: 2", "line 1, column 3: a member name must be" },
		{ "a:\n  name: {{ .Release.Name }}\n",
		  "line 2, column 10: this is a template ({{ }})" },
		{ "{{- if .Values.on }}\na: b\n", "line 1, column 2: this is a template ({{ }})" },
		{ "a: '{{ x }}'\nb: 1\nc: 1\nd: [\n", "line 5, column 1: did not find" },
		{ "? {a: 1}\n: 2", "line 1, column 3: a member name must be" },
		{ "a: &x b\n*x : 1", "line 2, column 1: a member name must be" },
		{ "a: !!python/object x", "line 1, column 4: this tag is not supported" },
		{ "a: !mine {}", "line 1, column 4: this tag is not supported" },
		{ "a: !!binary aGk=", "line 1, column 4: this tag is not supported" },
		{ "a: !!set {b}", "line 1, column 4: this tag is not supported" },
		{ "a: !!int x", "line 1, column 4: the value does not fit its tag" },
		{ "a: !!bool 1", "line 1, column 4: the value does not fit its tag" },
		{ "a: \"b\\0c\"", "line 1, column 4: a string must not hold a NUL" },
		{ "a: [1, 2", "line 2, column 1: did not find expected" },
		{ "a: b: c", "line 1, column 5: " },
		{ "a:\n\t- b", "line 2, column 1: " },
		{ "a: \xFF", "byte 3: " },
		{ "a: \x01", "byte 3: " },
		{ "\"a: \\ud800\"", "line 1, column 7: found invalid Unicode" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), parse);
}

static void expect_limit(const char *text, const struct json_limits *limits, const char *error)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	assert_int_equal(yaml_parse(text, strlen(text), limits, &tree, &err), -1);
	if (err.kind != ERR_LIMIT || !strstr(err.text, error))
		fail_msg("%s gives %s", text, err.text);
}

static void test_limits(void **state)
{
	const struct json_limits small = { .bytes = 60, .depth = 3, .elements = 10 };
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err;

	(void)state;
	assert_int_equal(yaml_parse("[[[1, 2]]]", 10, &small, &tree, &err), 0);
	expect_limit("[[[[1]]]]", &small, "line 1, column 4: too deeply nested");
	expect_limit("[1,2,3,4,5,6,7,8,9,0]", &small, "too many values");
	/* Aliases count as the values that they repeat. */
	expect_limit("[&a [1,2,3], *a, *a]", &small, "line 1, column 18: too many values");
	expect_limit("[&a aaaaaaaaaaaaaaaaaaaaaaaaa, *a, *a]", &small, "too many bytes");
	expect_limit("[&a [1], &b [*a], &c [*b]]", &small, "line 1, column 23: too deeply nested");
	expect_limit("'a long text with more bytes than there may be in a text of this size'",
		     &small, "the text has 70 bytes");
}

/* The billion laughs: nine levels of ten aliases each. */
static void test_alias_bomb(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 1 << 20);
	buf_add_string(&buf, "a0: &a0 lol\n");
	for (int level = 1; level < 10; level++) {
		buf_printf(&buf, "a%d: &a%d [", level, level);
		for (int i = 0; i < 10; i++)
			buf_printf(&buf, "%s*a%d", i ? ", " : "", level - 1);
		buf_add_string(&buf, "]\n");
	}
	expect_limit(buf_string(&buf), &codec_limits, "line 5, column ");
	expect_limit(buf_string(&buf), &codec_limits, "aliases repeat too much");
}

/* One long string, repeated a hundred times. */
static void test_alias_long_text(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 1 << 20);
	buf_add_string(&buf, "a: &a ");
	for (int i = 0; i < 100000; i++)
		buf_add_char(&buf, 'x');
	buf_add_string(&buf, "\nb: [*a");
	for (int i = 0; i < 100; i++)
		buf_add_string(&buf, ", *a");
	buf_add_string(&buf, "]\n");
	expect_limit(buf_string(&buf), &codec_limits, "aliases repeat too much");
}

static void test_deep_text(void **state)
{
	const struct json_limits limits = { .bytes = 1 << 20,
					    .depth = SIZE_MAX,
					    .elements = 1 << 20 };
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 1 << 20);
	for (int i = 0; i < 3000; i++)
		buf_add_char(&buf, '[');
	expect_limit(buf_string(&buf), &limits, "column 501: too deeply nested");
}

static void test_json_first(void **state)
{
	static const struct {
		const char *text, *error; /* NULL: no error */
	} table[] = {
		{ "{\"a\": 1}", NULL },
		{ " \n[1]", NULL },
		{ "{a: 1}", NULL },
		{ "a: 1", NULL },
		{ "{\"a\": 1, \"a\": 2}", "a: is there twice" },
		{ "{\"a\": ]", "line 1, column 7: a value is expected" },
		{ "", "the text is empty" },
		{ "{\"a\": \"\\u0000\"}", "line 1, column 9: a string must not hold" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		AUTO(json_done) struct cJSON *tree = NULL;
		struct err err = { .kind = ERR_NONE };
		int failed = yaml_or_json_parse(table[i].text, strlen(table[i].text), &codec_limits,
						&tree, &err);

		if (!table[i].error) {
			assert_int_equal(failed, 0);
			continue;
		}
		assert_int_equal(failed, -1);
		if (strncmp(err.text, table[i].error, strlen(table[i].error)) != 0)
			fail_msg("%s gives %s", table[i].text, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),      cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_bad),        cmocka_unit_test(test_limits),
		cmocka_unit_test(test_alias_bomb), cmocka_unit_test(test_alias_long_text),
		cmocka_unit_test(test_deep_text),  cmocka_unit_test(test_json_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
