/* Cron expressions: fields, names, steps, the rule for two fields of days, and refusals. */

#include "feature/schedules/codec/cron.h"

#include <string.h>

#include "test/support/support.h"

static struct cron parse(const char *text)
{
	const char *problem;
	struct cron cron;

	if (cron_parse(text, &cron, &problem))
		fail_msg("%s %s", text, problem);
	assert_null(problem);
	return cron;
}

static void fields_are_sets(void **state)
{
	struct cron cron = parse(" 0,30  8-18/5\t1,31 jan,MAR-may mon-Fri ");

	(void)state;
	assert_int_equal(cron.minutes, UINT64_C(1) | UINT64_C(1) << 30);
	assert_int_equal(cron.hours, 1 << 8 | 1 << 13 | 1 << 18);
	assert_true(cron.days == (UINT32_C(1) << 1 | UINT32_C(1) << 31));
	assert_int_equal(cron.months, 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5);
	assert_int_equal(cron.weekdays, 0x3e);
	assert_true(cron.either_day);
}

static void cron_star_means_every_value(void **state)
{
	struct cron cron = parse("* */23 * * *");

	(void)state;
	assert_true(cron.minutes == (UINT64_C(1) << 60) - 1);
	assert_int_equal(cron.hours, 1 | 1 << 23);
	assert_true(cron.days == UINT32_C(0xfffffffe));
	assert_int_equal(cron.months, 0x1ffe);
	assert_int_equal(cron.weekdays, 0x7f);
	assert_false(cron.either_day);
}

static void sunday_is_zero_and_seven(void **state)
{
	(void)state;
	assert_int_equal(parse("0 0 * * 0").weekdays, 1);
	assert_int_equal(parse("0 0 * * 7").weekdays, 1);
	assert_int_equal(parse("0 0 * * 5-7").weekdays, 1 | 1 << 5 | 1 << 6);
	assert_int_equal(parse("0 0 * * sun").weekdays, 1);
}

/* crontab(5): a field that begins with a star does not restrict. */
static void both_fields_of_days_restrict_unless_one_is_a_star(void **state)
{
	(void)state;
	assert_true(parse("0 0 1 * 5").either_day);
	assert_false(parse("0 0 */2 * 5").either_day);
	assert_false(parse("0 0 1 * */2").either_day);
}

static void other_texts_are_refused(void **state)
{
	static const struct {
		const char *text, *problem;
	} cases[] = {
		{ "", "does not have five fields" },
		{ "0 8 * *", "does not have five fields" },
		{ "0 8 * * * *", "has more than five fields" },
		{ "@daily", "has a minute" },
		{ "60 8 * * *", "has a minute" },
		{ "-1 8 * * *", "has a minute" },
		{ "0,  8 * * *", "has a minute" },
		{ "100 8 * * *", "has a minute" },
		{ "0/5 8 * * *", "has a minute" },
		{ "*/0 8 * * *", "has a minute" },
		{ "*/100 8 * * *", "has a minute" },
		{ "0 24 * * *", "has an hour" },
		{ "0 18-8 * * *", "has an hour" },
		{ "0 8-18x * * *", "has an hour" },
		{ "0 8 0 * *", "has a day of the month" },
		{ "0 8 L * *", "has a day of the month" },
		{ "0 8 * 13 *", "has a month" },
		{ "0 8 * mon *", "has a month" },
		{ "0 8 * * 8", "has a day of the week" },
		{ "0 8 * * monday", "has a day of the week" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct cron cron = { .minutes = 99 };
		const char *problem = NULL;

		if (cron_parse(cases[i].text, &cron, &problem) != -1)
			fail_msg("%s is accepted", cases[i].text);
		if (strncmp(problem, cases[i].problem, strlen(cases[i].problem)) != 0)
			fail_msg("%s %s", cases[i].text, problem);
		assert_int_equal(cron.minutes, 99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_sets),
		cmocka_unit_test(cron_star_means_every_value),
		cmocka_unit_test(sunday_is_zero_and_seven),
		cmocka_unit_test(both_fields_of_days_restrict_unless_one_is_a_star),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
