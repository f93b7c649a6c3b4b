/* Durations as text: every unit, sums of parts, and what is refused. */

#include "codec/text/duration.h"

#include <math.h>

#include "test/support/support.h"

static void durations_are_sums_of_parts(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{ "0s", 0 },
		{ "90s", 90000 },
		{ "250ms", 250 },
		{ "1h30m", 5400000 },
		{ "1.5h", 5400000 },
		{ ".5s", 500 },
		{ "2d12h", 216000000 },
		{ "1.2345678901s", 1234 },
		{ "36600d", INT64_C(36600) * 86400000 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		const char *problem;
		int64_t ms = -1;

		if (duration_parse(cases[i].text, &ms, &problem))
			fail_msg("%s: %s", cases[i].text, problem);
		assert_int_equal(ms, cases[i].ms);
	}
}

static void other_texts_are_refused(void **state)
{
	static const char form[] = "is not a duration like 90s, 1h30m or 2d";
	static const struct {
		const char *text, *problem;
	} cases[] = {
		{ "", form },
		{ "90", form },
		{ "s", form },
		{ ".s", form },
		{ "5 s", form },
		{ "5y", form },
		{ "1h30", form },
		{ "NaN", form },
		{ "1e3s", form },
		{ "-5s", "is negative" },
		{ "36601d", "is longer than 100 years" },
		{ "36600d1ms", "is longer than 100 years" },
		{ "99999999999999999999ms", "is longer than 100 years" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		const char *problem;
		int64_t ms = -1;

		if (duration_parse(cases[i].text, &ms, &problem) == 0)
			fail_msg("no error for: %s", cases[i].text);
		assert_string_equal(problem, cases[i].problem);
		assert_int_equal(ms, -1);
	}
}

static void seconds_are_rounded_to_milliseconds(void **state)
{
	const char *problem;
	int64_t ms;

	(void)state;
	assert_int_equal(duration_from_seconds(1.2344, &ms, &problem), 0);
	assert_int_equal(ms, 1234);
	assert_int_equal(duration_from_seconds(NAN, &ms, &problem), -1);
	assert_string_equal(problem, "is not a finite number of seconds; write one, such as 90");
	assert_int_equal(duration_from_seconds(-1, &ms, &problem), -1);
	assert_string_equal(problem, "is negative");
	assert_int_equal(duration_from_seconds(1e300, &ms, &problem), -1);
	assert_string_equal(problem, "is longer than 100 years");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_sums_of_parts),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(seconds_are_rounded_to_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
