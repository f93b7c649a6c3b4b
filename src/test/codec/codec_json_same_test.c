/* test/support/json_same.h: members in any order, null as absent. */
#include "test/support/codec_support.h"
#include "test/support/json_same.h"

static void test_json_same(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "{a: 1, b: [1, {c: x}]}", "{b: [1, {c: x}], a: 1}", true },
		{ "{a: 1, b: null}", "{a: 1}", true },
		{ "{a: 1}", "{a: 1, b: null}", true },
		{ "{a: {b: null}}", "{a: {}}", true },
		{ "{a: 1, b: 2}", "{a: 1}", false },
		{ "{a: 1}", "{a: 1, b: 2}", false },
		{ "{a: 1}", "{a: null}", false },
		{ "{a: 1}", "{A: 1}", false },
		{ "{a: x}", "{a: X}", false },
		{ "{a: 1}", "{a: '1'}", false },
		{ "[1, 2]", "[2, 1]", false },
		{ "[1, 2]", "[1]", false },
		{ "[]", "{}", false },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		AUTO(json_done) struct cJSON *a = codec_tree(cases[i].a);
		AUTO(json_done) struct cJSON *b = codec_tree(cases[i].b);

		if (json_same(a, b) != cases[i].same)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
}

/* JSON may have numbers beyond double, which cJSON holds as infinite. */
static void test_json_same_beyond_double(void **state)
{
	static const struct {
		const char *text;
		bool same;
	} cases[] = { { "1e400", true }, { "-1e400", false }, { "1", false } };
	AUTO(json_done) struct cJSON *large = NULL;
	struct err err;

	(void)state;
	assert_int_equal(json_parse("1e400", 5, &codec_limits, &large, &err), 0);
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		AUTO(json_done) struct cJSON *other = NULL;

		assert_int_equal(json_parse(cases[i].text, strlen(cases[i].text), &codec_limits,
					    &other, &err),
				 0);
		assert_int_equal(json_same(large, other), cases[i].same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_same),
		cmocka_unit_test(test_json_same_beyond_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
