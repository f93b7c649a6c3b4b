#include "codec/text/rfc3339.h"

#include <string.h>

#include "test/support/codec_support.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		time_ms time;
	} table[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "1970-01-01T00:00:01.5Z", 1500 },
		{ "1970-01-01T00:00:00.123456789Z", 123 },
		{ "1970-01-01T00:00:00.9999Z", 999 },
		{ "1970-01-01T01:00:00+01:00", 0 },
		{ "1969-12-31T19:00:00-05:00", 0 },
		{ "1970-01-01t00:00:00z", 0 },
		{ "2026-11-20T10:00:00Z", 1795168800000 },
		{ "2024-02-29T00:00:00Z", 1709164800000 },
		{ "2016-12-31T23:59:60Z", 1483228800000 },
		{ "2016-12-31T23:59:60.7Z", 1483228800000 },
		{ "2017-01-01T00:59:60+01:00", 1483228800000 },
		{ "0000-01-01T00:00:00Z", -62167219200000 },
		{ "9999-12-31T23:59:59.999Z", 253402300799999 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		const char *problem;
		time_ms time = 1;

		if (rfc3339_parse(table[i].text, &time, &problem))
			fail_msg("%s: %s", table[i].text, problem);
		if (time != table[i].time)
			fail_msg("%s is %lld", table[i].text, (long long)time);
	}
}

static void test_bad(void **state)
{
	static const char *const form[] = {
		"",
		"2026",
		"2026-11-20",
		"2026-11-20 10:00:00Z",
		"2026-11-20T10:00:00",
		"2026-11-20T10:00Z",
		"2026-11-20T10:00:00.Z",
		"2026-11-20T10:00:00Zx",
		"2026-11-20T10:00:00+0100",
		"2026-11-20T10:00:00+25:00",
		"26-11-20T10:00:00Z",
		"+2026-11-20T10:00:00Z",
		"2026-1-20T10:00:00Z",
		" 2026-11-20T10:00:00Z",
		"2026-11-20T10:00:00,5Z",
		"now",
	};
	static const char *const range[] = {
		"2026-13-20T10:00:00Z", "2026-00-20T10:00:00Z",      "2026-11-31T10:00:00Z",
		"2026-11-00T10:00:00Z", "2023-02-29T10:00:00Z",      "1900-02-29T00:00:00Z",
		"2026-11-20T24:00:00Z", "2026-11-20T10:60:00Z",      "2026-11-20T10:00:61Z",
		"2026-11-20T10:00:60Z", "2016-12-31T23:59:60+01:00",
	};
	const char *problem;
	time_ms time;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(form); i++) {
		if (rfc3339_parse(form[i], &time, &problem) == 0)
			fail_msg("accepted: %s", form[i]);
		assert_non_null(strstr(problem, "RFC 3339"));
	}
	for (size_t i = 0; i < SUPPORT_COUNT(range); i++) {
		if (rfc3339_parse(range[i], &time, &problem) == 0)
			fail_msg("accepted: %s", range[i]);
		assert_string_equal(problem, "is not a time that exists");
	}
}

static void test_print(void **state)
{
	char text[RFC3339_SIZE];

	(void)state;
	rfc3339_print(1795168800000, text);
	assert_string_equal(text, "2026-11-20T10:00:00Z");
	rfc3339_print(1795168800007, text);
	assert_string_equal(text, "2026-11-20T10:00:00.007Z");
	rfc3339_print(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999Z");
	rfc3339_print_micro(1795168800000, text);
	assert_string_equal(text, "2026-11-20T10:00:00.000000Z");
	rfc3339_print_micro(1795168800007, text);
	assert_string_equal(text, "2026-11-20T10:00:00.007000Z");
	rfc3339_print_micro(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999000Z");
	rfc3339_print_micro(TIME_NONE, text);
	assert_string_equal(text, "");
	rfc3339_print(TIME_NONE, text);
	assert_string_equal(text, "");
	rfc3339_print(TIME_NONE + 1, text);
	assert_string_equal(text, "0000-01-01T00:00:00Z");
	rfc3339_print(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
}

static void test_round_trip(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		time_ms time = (time_ms)(support_random(&seed) % UINT64_C(315569519999999)) -
			       INT64_C(62167219200000);
		char text[RFC3339_SIZE];
		const char *problem;
		time_ms back;

		rfc3339_print(time, text);
		assert_int_equal(rfc3339_parse(text, &back, &problem), 0);
		assert_true(back == time);
	}
}

static void test_decode(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree("{a: '1970-01-01T00:00:01Z', b: soon, c: null, d: 5}");
	struct err err;
	struct json_reader reader = { .arena = &arena, .err = &err };
	struct json_at root = json_root(tree, "status", &reader);
	time_ms time;

	(void)state;
	assert_int_equal(rfc3339_decode(&root, "a", &time), 0);
	assert_true(time == 1000);
	assert_int_equal(rfc3339_decode(&root, "c", &time), 0);
	assert_true(time == TIME_NONE);
	assert_int_equal(rfc3339_decode(&root, "missing", &time), 0);
	assert_true(time == TIME_NONE);
	assert_int_equal(rfc3339_decode(&root, "b", &time), 0);
	assert_true(time == TIME_NONE);
	assert_int_equal(reader.problems.count, 1);
	assert_non_null(strstr(reader.problems.at[0], "status.b: \"soon\" is not an RFC 3339"));
	assert_int_equal(rfc3339_decode(&root, "d", &time), -1);
	assert_string_equal(err.text, "status.d: must be a string, is a number; put it in quotes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),  cmocka_unit_test(test_bad),
		cmocka_unit_test(test_print),  cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
