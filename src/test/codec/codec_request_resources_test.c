#include "codec/objects/request_resources.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"

static struct ray_constraint parse_good(const char *text, struct arena *arena)
{
	struct ray_constraint constraint;
	struct err err;

	if (request_resources_parse(text, arena, &constraint, &err))
		fail_msg("%s: %s", text, err.text);
	return constraint;
}

static void test_bundles(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_constraint constraint =
		parse_good("[{\"GPU\": 1}, {\"CPU\": 4, \"GPU\": 0.5}, {\"GPU\": 1.0}]", &arena);

	(void)state;
	assert_int_equal(constraint.count, 2);
	assert_true(constraint.requests[0].count == 2);
	assert_string_equal(constraint.requests[0].request.bundle[0].name, "GPU");
	assert_true(constraint.requests[1].request.bundle[1].amount == 5000);
	assert_int_equal(parse_good("[]", &arena).count, 0);
	assert_int_equal(parse_good(" [ ]\n", &arena).count, 0);
	/* An empty bundle asks for nothing and fits anywhere, as with Ray. */
	constraint = parse_good("[{}]", &arena);
	assert_int_equal(constraint.requests[0].request.bundle_count, 0);
	/* A custom resource of that name. */
	constraint = parse_good("[{\"resources\": 2}]", &arena);
	assert_true(constraint.requests[0].request.bundle[0].amount == 20000);
}

static void test_selectors(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_constraint constraint = parse_good(
		"[{\"resources\": {\"GPU\": 1}, \"label_selector\": {\"zone\": \"!in(a,b)\", "
		"\"kind\": \"in(A100, H100)\", \"x\": \"!y\"}},"
		" {\"label_selector\": {\"x\": \"!y\", \"kind\": \"in(A100,H100)\", "
		"\"zone\": \"!in(a,b)\"}, \"resources\": {\"GPU\": 1}},"
		" {\"resources\": {\"GPU\": 1}, \"label_selector\": {}},"
		" {\"resources\": {\"GPU\": 1}}]",
		&arena);
	const struct label_selector *selector = constraint.requests[0].request.selectors;

	(void)state;
	assert_int_equal(constraint.count, 2);
	assert_true(constraint.requests[0].count == 2 && constraint.requests[1].count == 2);
	assert_int_equal(constraint.requests[0].request.selector_count, 1);
	assert_int_equal(selector->count, 3);
	assert_string_equal(selector->constraints[0].key, "kind");
	assert_int_equal(selector->constraints[0].operation, LABEL_OPERATOR_IN);
	assert_string_equal(selector->constraints[0].values.at[1], "H100");
	assert_string_equal(selector->constraints[1].key, "x");
	assert_int_equal(selector->constraints[1].operation, LABEL_OPERATOR_NOT_IN);
	assert_int_equal(selector->constraints[2].values.count, 2);
	assert_int_equal(constraint.requests[1].request.selector_count, 0);
}

static void test_impossible(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_constraint constraint =
		parse_good("[{\"GPU\": -1}, {\"CPU\": 1e300}, {\"CPU\": 1e999}]", &arena);

	(void)state;
	assert_string_equal(constraint.requests[0].request.problem, "GPU is negative");
	assert_string_equal(constraint.requests[1].request.problem, "CPU is too large");
	assert_string_equal(constraint.requests[2].request.problem, "CPU is infinite");
}

static int parse(const char *text, struct arena *arena, struct err *err)
{
	struct ray_constraint constraint;

	return request_resources_parse(text, arena, &constraint, err);
}

#define SELECTOR_LIST                                                                              \
	"[{\"resources\": {}, \"label_selector\": {\"k\": \"in(a,b)\"}},"                          \
	" {\"resources\": {}, \"label_selector\": {\"k\": \"a\", \"l\": \"b\"}}]"
#define SELECTOR(text) "[{\"resources\": {}, \"label_selector\": {\"k\": " text "}}]"

static void test_bad(void **state)
{
	static const struct codec_bad table[] = {
		{ "", "the text is empty" },
		{ "{}", "top level: must be an array, is an object" },
		{ "\"GPU\"", "top level: must be an array, is a string" },
		{ "[{\"GPU\": 1}", "line 1, column 12: " },
		{ "[{'GPU': 1}]", "line 1, column 3: a member name in quotes" },
		{ "[1]", "[0]: must be an object, is a number" },
		{ "[{\"CPU\": 1}, {\"GPU\": \"1\"}]", "[1].GPU: must be a number, is a string" },
		{ "[{\"GPU\": true}]", "[0].GPU: must be a number, is a boolean" },
		{ "[{\"GPU\": null}]", "[0].GPU: must be a number, is null" },
		{ "[{\"GPU\": 1, \"GPU\": 2}]", "[0].GPU: is there twice" },
		{ "[{\"resources\": {\"GPU\": []}}]", "[0].resources.GPU: must be a number" },
		{ "[{\"resources\": {}, \"count\": 2}]", "[0].count: is not known" },
		{ "[{\"label_selector\": {\"a\": \"b\"}}]", "[0].resources: is missing" },
		{ "[{\"resources\": {}, \"label_selector\": []}]",
		  "[0].label_selector: must be an object" },
		{ SELECTOR("1"), "[0].label_selector.k: must be a string" },
		{ SELECTOR("\"\""), "[0].label_selector.k: \"\" is not a label selector" },
		{ SELECTOR("\"!\""), "[0].label_selector.k: \"!\" is not a label selector" },
		{ SELECTOR("\"in()\""), "[0].label_selector.k: \"in()\" is not a label selector" },
		{ SELECTOR("\"in(a,)\""), "[0].label_selector.k: \"in(a,)\" is not a label" },
		{ SELECTOR("\"in(a\""), "[0].label_selector.k: \"in(a\" is not a label selector" },
		{ SELECTOR("\"!!a\""), "[0].label_selector.k: \"!!a\" is not a label selector" },
		{ SELECTOR("\"-a\""), "[0].label_selector.k: \"-a\" is not a label selector" },
		{ SELECTOR("\"a_\""), "[0].label_selector.k: \"a_\" is not a label selector" },
		{ SELECTOR("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""),
		  "[0].label_selector.k: \"aaaa" },
		{ "[[[[[[[[[1]]]]]]]]]", "line 1, column 9: too deeply nested" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), parse);
}

/* `count` bundles, `different` of them. */
static const char *many(struct buf *text, int count, int different)
{
	buf_init(text, 16 << 20);
	for (int i = 0; i < count; i++)
		buf_printf(text, "%s{\"CPU\": %d}", i ? "," : "[", i % different);
	buf_add_char(text, ']');
	return buf_string(text);
}

static void test_many_equal(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	struct ray_constraint constraint =
		parse_good(many(&text, 100000, REQUEST_BUNDLES_MAX), &arena);

	(void)state;
	assert_int_equal(constraint.count, REQUEST_BUNDLES_MAX);
	assert_int_equal(constraint.requests[999].count, 100);
	assert_true(constraint.requests[999].request.bundle[0].amount == 9990000);
	/* The kept bytes depend on the different ones alone. */
	assert_true(arena.used_bytes < 256 << 10);
}

/* One more is refused, with the number, the limit and what to do, and leaves nothing in the arena. */
static void test_too_many_different(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	struct ray_constraint constraint;
	struct err err = { .kind = ERR_NONE };

	(void)state;
	assert_int_equal(
		request_resources_parse(many(&text, 12000, 11000), &arena, &constraint, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text,
			    "more than 1000 of its 12000 bundles differ, the limit; ask for fewer "
			    "kinds of bundles: equal ones count once");
	assert_int_equal(arena.used_bytes, 0);
}

static void test_texts_do_not_join(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	assert_int_equal(
		parse_good("[{\"a\": 1, \"b\": 1}, {\"a1:b\": 1}, {\"a\": 1}]", &arena).count, 3);
	assert_int_equal(parse_good(SELECTOR_LIST, &arena).count, 2);
}

static void test_of_a_cluster(void **state)
{
	static struct label annotation = { .key = ANNOTATION_REQUEST_RESOURCES,
					   .value = "[{\"GPU\":1}]" };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;
	struct labels annotations = { .count = 0 };
	const struct annotation_request *request;

	(void)state;
	assert_null(request_resources_decode(&annotations, &arena));
	annotations = (struct labels){ .at = &annotation, .count = 1 };
	request = request_resources_decode(&annotations, &arena);
	assert_null(request->problem);
	assert_int_equal(request->bundles->count, 1);
	annotation.value = "{";
	request = request_resources_decode(&annotations, &arena);
	assert_null(request->bundles);
	assert_string_equal(
		request->problem,
		"annotation rayscaler.dev/request-resources: line 1, column 2: a member "
		"name in quotes is expected; it must be a JSON list of bundles like "
		"[{\"GPU\": 1}]");
	annotation.value = many(&text, 1001, 1001);
	request = request_resources_decode(&annotations, &arena);
	assert_string_equal(
		request->problem,
		"annotation rayscaler.dev/request-resources: more than 1000 of its 1001 bundles "
		"differ, the limit; ask for fewer kinds of bundles: equal ones count once");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bundles),           cmocka_unit_test(test_selectors),
		cmocka_unit_test(test_impossible),        cmocka_unit_test(test_bad),
		cmocka_unit_test(test_many_equal),        cmocka_unit_test(test_too_many_different),
		cmocka_unit_test(test_texts_do_not_join), cmocka_unit_test(test_of_a_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
