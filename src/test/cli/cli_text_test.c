/* codec/text/text, cli/shared/table, cli/shared/flags, cli/shared/help and codec/text/yaml_write: text for a terminal, and the
 * parsing of arguments. */
#include <stdlib.h>

#include "base/memory.h"
#include "cli/shared/controller_client.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/report_colour.h"
#include "cli/shared/table.h"
#include "cli/status_text.h"
#include "codec/text/json.h"
#include "codec/text/text.h"
#include "codec/text/yaml.h"
#include "codec/text/yaml_write.h"
#include "test/support/cli_run.h"
#include "test/support/support.h"

static void test_clean_text(void **state)
{
	static const struct {
		const char *text, *wanted;
	} table[] = {
		{ "demo-1.a_b", "demo-1.a_b" },
		{ "a\033[2Jb", "a?[2Jb" },
		{ "tab\tline\nback\rdel\x7f", "tab?line?back?del?" },
		{ "csi \xc2\x9b"
		  "2J",
		  "csi ?2J" },                         /* C1 */
		{ "\xff\xfe", "??" },                  /* no UTF-8 */
		{ "cut \xe2\x82", "cut ??" },          /* cut off */
		{ "\xe2\x80\xaegpj.exe", "?gpj.exe" }, /* right-to-left override */
		{ "a\xe2\x80\x8b"
		  "b",
		  "a?b" }, /* zero width */
		{ "h\xc3\xa9 \xe2\x82\xac", "h\xc3\xa9 \xe2\x82\xac" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		AUTO(buf_done) struct buf buf;

		buf_init(&buf, 100);
		text_add_clean(&buf, table[i].text);
		assert_string_equal(buf_string(&buf), table[i].wanted);
		assert_int_equal(text_columns(table[i].text), text_columns(table[i].wanted));
	}
	assert_int_equal(text_columns("h\xc3\xa9 \xe2\x82\xac"), 4);
}

static void test_wrapped_text(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	text_add_wrapped(&buf, "one two  three averyverylongword end", 3, 2, 12);
	assert_string_equal(buf_string(&buf), "one two\n  three\n  averyverylongword\n  end");
}

static void test_table(void **state)
{
	static const struct table_column columns[] = { { "NAME", false },
						       { "N", true },
						       { "WHY", false } };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	struct table table = TABLE_INIT(&arena, columns, 3);

	(void)state;
	buf_init(&buf, 10000);
	table_add(&table, TABLE_PLAIN, "h\xc3\xa9llo");
	table_add(&table, TABLE_BAD, "12");
	table_add(&table, TABLE_PLAIN, "because it is long");
	table_add(&table, TABLE_PLAIN, "\033[31mx");
	table_add(&table, TABLE_PLAIN, "3");
	table_add(&table, TABLE_FAINT, "");
	table_write(&table, false, &buf);
	assert_string_equal(buf_string(&buf), "NAME     N  WHY\n"
					      "h\xc3\xa9llo   12  because it is long\n"
					      "?[31mx   3  -\n");
	buf_clear(&buf);
	table_write(&table, true, &buf);
	assert_non_null(strstr(buf_string(&buf), "h\xc3\xa9llo   \033[31m12\033[0m  because"));
	assert_non_null(strstr(buf_string(&buf), "?[31mx   3  \033[2m-\033[0m\n"));
}

static void test_colours(void **state)
{
	(void)state;
	assert_true(table_colours(1));
	assert_false(table_colours(2));
	setenv("NO_COLOR", "1", 1);
	assert_false(table_colours(0));
	unsetenv("NO_COLOR");
}

/* plan and explain: reasons by severity, titles bold, and nothing else. */
static void test_a_report_in_colours(void **state)
{
	static const char text[] = "RayCluster a/demo\n\nGROUP  WHY\n"
				   "gpu    ScaleUpDemand: 2 bundles\n"
				   "PENDING  waits in Ray\n  1 x {GPU: 8}: NoGroupFits: none\n"
				   "  AbleToScale=True ReadyForNewScale: no NoNode here\n"
				   "  x PodFailed\n";
	static const char wanted[] =
		"RayCluster a/demo\n\n\033[1mGROUP  WHY\033[0m\n"
		"gpu    \033[33mScaleUpDemand\033[0m: 2 bundles\n"
		"\033[1mPENDING\033[0m  waits in Ray\n  1 x {GPU: 8}: \033[31mNoGroupFits\033[0m: none\n"
		"  AbleToScale=True \033[32mReadyForNewScale\033[0m: no NoNode here\n"
		"  x \033[31mPodFailed\033[0m\n";
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 10000);
	report_colour_add(&buf, text, true, SIZE_MAX);
	assert_string_equal(buf_string(&buf), wanted);
	buf_clear(&buf);
	report_colour_add(&buf, text, false, SIZE_MAX);
	assert_string_equal(buf_string(&buf), text);
}

static void test_ages(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	assert_string_equal(table_age(&arena, -5), "0s");
	assert_string_equal(table_age(&arena, 119), "119s");
	assert_string_equal(table_age(&arena, 190), "3m10s");
	assert_string_equal(table_age(&arena, 7500), "2h5m");
	assert_string_equal(table_age(&arena, 90000), "1d1h");
}

/* ---- flags ---- */

struct parsed {
	const char *namespace_, *file, *operand;
	bool all;
};

static int parse(struct parsed *ret, struct err *err, const char *const *words)
{
	const struct flag table[] = {
		{ "-n", "--namespace", .value = &ret->namespace_ },
		{ NULL, "--file", .value = &ret->file },
		{ "-A", "--all", .on = &ret->all },
	};
	struct flags flags = { .at = table,
			       .count = SUPPORT_COUNT(table),
			       .operand_name = "CLUSTER",
			       .operand = &ret->operand };
	int count = 0;

	*ret = (struct parsed){ .namespace_ = NULL };
	while (words[count])
		count++;
	return flags_parse(&flags, count, (char **)words, err);
}

#define PARSE(...) parse(&got, &err, (const char *const[]){ "x", __VA_ARGS__, NULL })

static void test_flags(void **state)
{
	struct parsed got;
	struct err err;

	(void)state;
	assert_int_equal(PARSE("-n", "a", "demo", "--file=f"), 0);
	assert_string_equal(got.namespace_, "a");
	assert_string_equal(got.operand, "demo");
	assert_string_equal(got.file, "f");
	assert_false(got.all);
	assert_int_equal(PARSE("-Aignored", "-nb"), -1); /* switches cannot be combined */
	assert_int_equal(PARSE("-A", "-nb", "--file", "-"), 0);
	assert_string_equal(got.namespace_, "b");
	assert_string_equal(got.file, "-");
	assert_true(got.all);
	assert_int_equal(PARSE("--", "-n"), 0);
	assert_string_equal(got.operand, "-n");
}

static void test_wrong_flags(void **state)
{
	struct parsed got;
	struct err err;

	(void)state;
	assert_int_equal(PARSE("-n"), -1);
	assert_string_equal(err.text, "-n takes a value; write it after the flag");
	assert_int_equal(PARSE("--all=yes"), -1);
	assert_string_equal(err.text, "--all takes no value; write it alone");
	assert_int_equal(PARSE("a", "b"), -1);
	assert_string_equal(err.text, "one CLUSTER is taken, b is one more; remove it");
	assert_int_equal(PARSE("--fil"), -1);
	assert_string_equal(err.text, "unknown flag --fil; did you mean --file?");
	assert_int_equal(PARSE("--flie=x"), -1);
	assert_string_equal(err.text, "unknown flag --flie=x; did you mean --file?");
	assert_int_equal(PARSE("--bogus"), -1);
	assert_string_equal(err.text, "unknown flag --bogus");
}

/* ---- the program's name ---- */

static int print_usage(int argc, char **argv)
{
	help_set_program(argv[0]);
	(void)argc;
	help_print(stdout, "usage: @ x\n");
	return help_usage("x", "\033 is wrong");
}

static void test_program_name(void **state)
{
	static struct cli_result result;

	(void)state;
	CLI_RUN(&result, print_usage, "/usr/bin/kubectl-rayscaler");
	assert_int_equal(result.status, 2);
	assert_string_equal(result.output, "usage: kubectl rayscaler x\n");
	assert_string_equal(result.errors, "kubectl rayscaler x: ? is wrong; see kubectl rayscaler "
					   "x --help\n");
	CLI_RUN(&result, print_usage, "build/rayscaler");
	assert_string_equal(result.output, "usage: rayscaler x\n");
}

/* ---- --controller-url ---- */

static void test_controller_urls(void **state)
{
	static const struct {
		const char *given, *wanted; /* NULL: refused */
	} table[] = {
		{ "127.0.0.1:8080", "http://127.0.0.1:8080" },
		{ "localhost:8080/", "http://localhost:8080" },
		{ "[::1]:80", "http://[::1]:80" },
		{ "localhost.example.org", "https://localhost.example.org" },
		{ "rayscaler.example.org", "https://rayscaler.example.org" },
		{ "http://rayscaler.rayscaler-system:8080",
		  "http://rayscaler.rayscaler-system:8080" },
		{ "https://a/b/", "https://a/b" },
		{ "ftp://a", NULL },
		{ "http://", NULL },
		{ "https://user:word@a", NULL },
		{ "https://a?b", NULL },
		{ "a b", NULL },
		{ "a\n", NULL },
		{ "", NULL },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		const char *url = NULL;
		struct err err;

		assert_int_equal(controller_client_url(table[i].given, &arena, &url, &err),
				 table[i].wanted ? 0 : -1);
		if (table[i].wanted)
			assert_string_equal(url, table[i].wanted);
		else
			assert_non_null(strstr(err.text, "--controller-url"));
	}
}

/* ---- YAML ---- */

static void test_yaml(void **state)
{
	static const char json[] =
		"{\"a\": \"plain-word.1\", \"b\": \"yes\", \"c\": \"1e3\", \"d\": \"\", "
		"\"e\": \"- x: y\", \"f\": null, \"g\": [1, 2.5, true, {}], \"h\": {\"0x1\": []}, "
		"\"i\": \"two\\nlines \\u001b \\u00e9\", \"~\": \"null\", \"j\": \"2026-11-21\"}";
	static const char start[] = "a: plain-word.1\nb: \"yes\"\nc: \"1e3\"\nd: \"\"\n"
				    "e: \"- x: y\"\nf: null\ng:\n- 1\n- 2.5\n- true\n- {}\n"
				    "h:\n  \"0x1\": []\n";
	static const struct json_limits limits = { 10000, 20, 100, true };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *first = NULL, *second = NULL;
	AUTO(buf_done) struct buf buf;
	struct json_reader reader = { .arena = &arena };
	struct json_at before, after;
	struct err err;

	(void)state;
	buf_init(&buf, 10000);
	assert_int_equal(yaml_write(json, strlen(json), &buf, &err), 0);
	assert_ptr_equal(strstr(buf_string(&buf), start), buf_string(&buf));
	assert_null(strchr(buf_string(&buf), '\033'));
	assert_int_equal(json_parse(json, strlen(json), &limits, &first, &err), 0);
	if (yaml_parse(buf_string(&buf), buf.size, &limits, &second, &err))
		fail_msg("%s in:\n%s", err.text, buf_string(&buf));
	before = json_root(first, "", &reader);
	after = json_root(second, "", &reader);
	assert_string_equal(json_print(&before), json_print(&after));
	buf_done(&buf);
	buf_init(&buf, 20);
	assert_int_equal(yaml_write(json, strlen(json), &buf, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

/* At the width of a terminal, between words, below the line's own text. */
static void test_reports_are_broken(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(1000);

	(void)state;
	report_colour_add(
		&buf,
		"GROUP  WHY\ngpu    one two three four\n  a word-that-has-30-letters-in-it b\n",
		false, 20);
	assert_string_equal(buf_string(&buf), "GROUP  WHY\n"
					      "gpu    one two three\n"
					      "    four\n"
					      "  a word-that-has-30-letters-in-it\n"
					      "      b\n");
	buf_clear(&buf);
	report_colour_add(&buf, "gpu    one two three four\n", false, SIZE_MAX);
	assert_string_equal(buf_string(&buf), "gpu    one two three four\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean_text),
		cmocka_unit_test(test_wrapped_text),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_a_report_in_colours),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_wrong_flags),
		cmocka_unit_test(test_program_name),
		cmocka_unit_test(test_controller_urls),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_reports_are_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
