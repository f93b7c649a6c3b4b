/* Time zone files: changes of the list and of the rule at the end, and what is refused. That real
 * files give what Python reads is in e2e/tests/test_schedules.py. */

#include "codec/text/tzif.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define FROM INT64_C(1767225600000)  /* 2026-01-01T00:00:00Z */
#define UNTIL INT64_C(1798761600000) /* 2027-01-01T00:00:00Z */

struct file {
	unsigned char bytes[4096];
	size_t size;
};

struct transition {
	int64_t seconds;
	unsigned char type;
};

static void add_number(struct file *file, int64_t value, int width)
{
	for (int i = width; i-- > 0;)
		file->bytes[file->size++] = (unsigned char)((uint64_t)value >> (8 * i));
}

static void add_header(struct file *file, char version, int64_t leaps, int64_t times, int64_t types)
{
	memcpy(file->bytes + file->size, "TZif", 4);
	file->bytes[file->size + 4] = (unsigned char)version;
	memset(file->bytes + file->size + 5, 0, 15);
	file->size += 20;
	add_number(file, 0, 4);
	add_number(file, 0, 4);
	add_number(file, leaps, 4);
	add_number(file, times, 4);
	add_number(file, types, 4);
	add_number(file, 4, 4);
}

/* Two types: UTC+1 and UTC+2. */
static struct file make(const struct transition *list, size_t count, const char *rule)
{
	struct file file = { .size = 0 };

	add_header(&file, '2', 0, 0, 1);
	add_number(&file, 0, 6);
	add_number(&file, 0, 4);
	add_header(&file, '2', 0, (int64_t)count, 2);
	for (size_t i = 0; i < count; i++)
		add_number(&file, list[i].seconds, 8);
	for (size_t i = 0; i < count; i++)
		add_number(&file, list[i].type, 1);
	add_number(&file, 3600, 4);
	add_number(&file, 0, 2);
	add_number(&file, 7200, 4);
	add_number(&file, 0, 2);
	add_number(&file, 0, 4);
	file.bytes[file.size++] = '\n';
	memcpy(file.bytes + file.size, rule, strlen(rule));
	file.size += strlen(rule);
	file.bytes[file.size++] = '\n';
	return file;
}

/* "3600 1774746000:7200 ..." */
static const char *text_of(const struct time_zone *zone, struct arena *arena)
{
	const char *text = arena_printf(arena, "%lld", (long long)zone->offset_seconds);

	for (size_t i = 0; i < zone->change_count; i++)
		text = arena_printf(arena, "%s %lld:%lld", text,
				    (long long)(zone->changes[i].at / 1000),
				    (long long)zone->changes[i].offset_seconds);
	return text;
}

static void expect(const struct file *file, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct time_zone zone;
	const char *problem;

	if (tzif_read(file->bytes, file->size, FROM, UNTIL, &arena, &zone, &problem))
		fail_msg("%s", problem);
	assert_string_equal(text_of(&zone, &arena), wanted);
}

static void listed_changes_win_over_the_rule(void **state)
{
	static const struct transition list[] = {
		{ INT64_MIN, 0 }, { 0, 1 }, { 1780000000, 0 }, { 1785000000, 1 }
	};
	struct file file = make(list, SUPPORT_COUNT(list), BERLIN);

	(void)state;
	expect(&file, "7200 1780000000:3600 1785000000:7200 1792890000:3600");
}

static void the_rule_counts_after_the_list(void **state)
{
	static const struct {
		const char *rule, *wanted;
	} cases[] = {
		{ "", "3600" },
		{ "CET-1", "3600" },
		{ BERLIN, "3600 1774746000:7200 1792890000:3600" },
		{ "<+0030>-0:30", "1800" },
		/* The southern summer. */
		{ "AEST-10AEDT,M10.1.0,M4.1.0/3", "39600 1775318400:36000 1791043200:39600" },
		{ "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
		  "39600 1775314800:37800 1791041400:39600" },
		/* Winter time is the exception. */
		{ "IST-1GMT0,M10.5.0,M3.5.0/1", "0 1774746000:3600 1792890000:0" },
		/* Days of the year: J60 is 1 March; 59 counts 29 February. */
		{ "XXX0YYY,J60/0,59/24", "0 1772323200:3600 1772406000:0" },
		/* Hours before and after the day. */
		{ "XXX3YYY,M3.5.0/-2,M10.5.0/-1", "-10800 1774746000:-7200 1792890000:-10800" },
		/* Daylight saving time all year: RFC 8536, 3.3.1. */
		{ "XXX3EDT4,0/0,J365/23", "-14400" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct file file = make(NULL, 0, cases[i].rule);

		print_message("%s\n", cases[i].rule);
		expect(&file, cases[i].wanted);
	}
}

static void refuse(const struct file *file, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *problem = NULL;
	struct time_zone zone;

	if (tzif_read(file->bytes, file->size, FROM, UNTIL, &arena, &zone, &problem) != -1)
		fail_msg("not refused: %s", wanted);
	assert_string_equal(problem, wanted);
}

static const char form[] = "is not a time zone file (TZif, RFC 8536)";
static const char footer[] = "has an unknown rule for future changes at its end";

static void other_files_are_refused(void **state)
{
	static const struct transition back[] = { { 100, 0 }, { 100, 1 } };
	static const struct transition type[] = { { 100, 2 } };
	struct file file = make(NULL, 0, BERLIN);

	(void)state;
	file.bytes[4] = '\0';
	refuse(&file, "is a time zone file of version 1, without 64-bit times");
	file = make(back, 2, BERLIN);
	refuse(&file, form);
	file = make(type, 1, BERLIN);
	refuse(&file, form);
	file = make(NULL, 0, BERLIN);
	file.bytes[54 + 31] = 1; /* the count of leap seconds */
	refuse(&file, "counts leap seconds, as the zones in right/ do");
	file = make(NULL, 0, BERLIN);
	memset(file.bytes + 44, 0xff, 6);
	file.bytes[54 + 44] = 0x7f; /* an offset of 68 years */
	refuse(&file, form);
}

static void other_rules_are_refused(void **state)
{
	static const char *const rules[] = {
		"C-1",
		"CET",
		"CET-25",
		"CET-1CEST",
		"<CET-1",
		"CET-1:60",
		"CET-1CEST,M3.5.0",
		"CET-1CEST,M13.5.0,M10.5.0",
		"CET-1CEST,M3.6.0,M10.5.0",
		"CET-1CEST,M3.5.7,M10.5.0",
		"CET-1CEST,J0,J1",
		"CET-1CEST,0,366",
		"CET-1CEST,M3.5.0/168,M10.5.0",
		BERLIN "x",
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rules); i++) {
		struct file file = make(NULL, 0, rules[i]);

		print_message("%s\n", rules[i]);
		refuse(&file, footer);
	}
}

/* The bytes are in memory of that size, so that ASan sees what is read behind them. */
static void a_file_that_is_cut_is_refused(void **state)
{
	static const struct transition list[] = { { 0, 1 }, { 1780000000, 0 } };
	struct file file = make(list, SUPPORT_COUNT(list), BERLIN);

	(void)state;
	for (size_t size = 0; size < file.size; size++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		unsigned char *bytes = memory_alloc(size);
		struct time_zone zone;
		const char *problem;

		memcpy(bytes, file.bytes, size);
		assert_int_equal(tzif_read(bytes, size, FROM, UNTIL, &arena, &zone, &problem), -1);
		memory_free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_changes_win_over_the_rule),
		cmocka_unit_test(the_rule_counts_after_the_list),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(other_rules_are_refused),
		cmocka_unit_test(a_file_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
