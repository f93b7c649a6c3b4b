/* The flags of `rayscaler run`: defaults, both ways to give a value, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ctl/shared/options.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int parse(struct options *options, struct err *err, size_t count, char *const *words)
{
	options_init(options);
	return options_parse(options, (int)count, words, err);
}

static void test_defaults(void **state)
{
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, 0, NULL), 0);
	assert_int_equal(options.scan_interval_seconds, 1);
	assert_string_equal(options.namespace_, "");
	assert_int_equal(options.settings.idle_timeout_seconds, 60);
	assert_int_equal(options.settings.mode, MODE_CONTROLLER);
	assert_false(options_sidecar(&options));
}

static void test_values(void **state)
{
	char *words[] = { "--namespace",
			  "ray",
			  "--idle-timeout-seconds=0",
			  "--packing",
			  "fewest-gpus",
			  "--conserve-accelerators=false",
			  "--accelerators",
			  "vendor.com/npu,,x",
			  "--kube-api-qps=7" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), 0);
	assert_string_equal(options.namespace_, "ray");
	assert_int_equal(options.settings.idle_timeout_seconds, 0);
	assert_int_equal(options.settings.packing, PACKING_FEWEST_GPUS);
	assert_false(options.settings.conserve_accelerators);
	assert_int_equal(options.settings.accelerators.count, 2);
	assert_string_equal(options.settings.accelerators.at[1], "x");
	assert_int_equal(options.kube_api_qps, 7);
}

static void test_boolean_alone_is_true(void **state)
{
	char *words[] = { "--conserve-accelerators", "--namespace", "ray" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), 0);
	assert_true(options.settings.conserve_accelerators);
	assert_string_equal(options.namespace_, "ray");
}

static void test_boolean_option_alone_is_true(void **state)
{
	char *words[] = { "--leader-elect", "--namespace", "ray" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), 0);
	assert_true(options.leader_elect);
	assert_string_equal(options.namespace_, "ray");
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = { { "15", 15000 },      { "15s", 15000 },    { "2m", 120000 },
		      { "11000ms", 11000 }, { "3600", 3600000 }, { "60m", 3600000 } };
	char *defaults[] = { "--leader-elect" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(defaults), defaults), 0);
	assert_int_equal(options.leader_elect_lease_duration_ms, 15000);
	assert_int_equal(options.leader_elect_renew_deadline_ms, 10000);
	assert_int_equal(options.leader_elect_retry_period_ms, 2000);
	assert_string_equal(options.leader_elect_resource_name, "rayscaler");
	for (size_t i = 0; i < COUNT(cases); i++) {
		AUTO(options_done) struct options one;
		char *words[] = { "--leader-elect-lease-duration", (char *)cases[i].text };

		assert_int_equal(parse(&one, &err, COUNT(words), words), 0);
		assert_int_equal(one.leader_elect_lease_duration_ms, cases[i].ms);
	}
}

static void test_sidecar(void **state)
{
	char *words[] = { "--cluster-name", "demo", "--cluster-namespace", "ray" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), 0);
	assert_true(options_sidecar(&options));
	assert_int_equal(options.settings.mode, MODE_SIDECAR);
}

static void test_help_wins(void **state)
{
	char *words[] = { "--help", "--nonsense" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), 0);
	assert_true(options.help);
}

static void test_refusals(void **state)
{
	static const struct {
		char *words[4];
		size_t count;
		const char *says;
	} cases[] = {
		{ { "namespace" }, 1, "\"namespace\" is not a flag" },
		{ { "--nonsense", "1" }, 2, "--nonsense: no such flag" },
		{ { "--idle-timeout", "1" },
		  2,
		  "--idle-timeout: no such flag; did you mean --idle-timeout-seconds?" },
		{ { "--namspace=x" }, 1, "--namspace: no such flag; did you mean --namespace?" },
		{ { "--namespace" }, 1, "--namespace: takes a value (name)" },
		{ { "--namespace=" }, 1, "--namespace: is empty; write a name" },
		{ { "--scan-interval-seconds", "0" }, 2, "from 1 to 3600" },
		{ { "--scan-interval-seconds", "1s" }, 2, "must be a whole number from " },
		{ { "--scan-interval-seconds=" }, 1, "must be a whole number from " },
		{ { "--idle-timeout-seconds", "-1" }, 2, "--idle-timeout-seconds" },
		{ { "--idle-timeout-seconds", "99999999999999999999" },
		  2,
		  "must be a whole number" },
		{ { "--packing", "best" }, 2, "must be one of ray|fewest-gpus" },
		{ { "--conserve-accelerators=maybe" }, 1, "must be true or false" },
		{ { "--namespace", "a,b" }, 2, "must be one name" },
		{ { "--accelerators=a, b" }, 1, "the name of a resource, not as \" b\"" },
		{ { "--metrics-bind-address=:99999" }, 1, "an address with its port" },
		{ { "--health-probe-bind-address=:http" }, 1, "an address with its port" },
		{ { "--cluster-name", "demo" }, 2, "go together; add --cluster-namespace" },
		{ { "--cluster-namespace", "ray" }, 2, "go together; add --cluster-name" },
		{ { "--backoff-initial-seconds=700" }, 1, "must be at most --backoff-max-seconds" },
		{ { "--leader-elect=yes" }, 1, "must be true or false, is \"yes\"" },
		{ { "--metrics-secure", "--cluster-name=a", "--cluster-namespace=b" },
		  3,
		  "--metrics-secure is for the controller" },
		{ { "--metrics-cert-dir=/x" }, 1, "no effect without --metrics-secure" },
		{ { "--leader-elect-lease-duration=0" }, 1, "must be a time from 1s to 3600s" },
		{ { "--leader-elect-lease-duration=" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=s" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=15h" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=1m5s" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=1.5" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=-20s" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=3601" }, 1, "to 3600s" },
		{ { "--leader-elect-lease-duration=9223372036854775807m" }, 1, "must be a time" },
		{ { "--leader-elect-lease-duration=12500ms" }, 1, "must be whole seconds" },
		{ { "--leader-elect-retry-period=99ms" }, 1, "from 100ms to" },
		{ { "--leader-elect-renew-deadline=15" }, 1, "below --leader-elect-lease-duration" },
		{ { "--leader-elect-retry-period=10s" }, 1, "below --leader-elect-renew-deadline" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		AUTO(options_done) struct options options;
		struct err err = { 0 };

		assert_int_equal(parse(&options, &err, cases[i].count, cases[i].words), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].says);
	}
}

static void test_namespace_is_not_for_the_sidecar(void **state)
{
	char *words[] = { "--cluster-name=a", "--cluster-namespace=b", "--namespace=c" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), -1);
	assert_non_null(strstr(err.text, "--namespace is for the controller"));
}

/* The sidecar has a single cluster: a quota over several would have no effect, so it is an
 * error. */
static void test_ceilings_over_clusters_are_not_for_the_sidecar(void **state)
{
	char *flags[] = { "--max-gpus-total=8", "--max-gpus-per-namespace=8" };

	(void)state;
	for (size_t i = 0; i < COUNT(flags); i++) {
		char *words[] = { "--cluster-name=a", "--cluster-namespace=b", flags[i] };
		AUTO(options_done) struct options options;
		struct err err;

		assert_int_equal(parse(&options, &err, COUNT(words), words), -1);
		assert_non_null(strstr(err.text, "use --max-gpus-per-cluster"));
	}
}

static void test_a_sidecar_never_elects(void **state)
{
	char *words[] = { "--cluster-name=a", "--cluster-namespace=b", "--leader-elect" };
	AUTO(options_done) struct options options;
	struct err err;

	(void)state;
	assert_int_equal(parse(&options, &err, COUNT(words), words), -1);
	assert_non_null(strstr(err.text, "--leader-elect is for the controller"));
}

/* --help names every flag once under a subject, and no line runs over the edge of a terminal. */
static void test_help_fits_a_terminal(void **state)
{
	char text[16384] = "", *line, *rest = text;
	FILE *file = fmemopen(text, sizeof(text) - 1, "w");
	const struct settings_row *rows;
	size_t count, flags = 0, options = 0;

	(void)state;
	assert_non_null(file);
	options_print(file);
	fclose(file);
	rows = settings_rows(&count);
	for (size_t i = 0; i < count; i++)
		if (!strstr(text, rows[i].name))
			fail_msg("%s is not in the help", rows[i].name);
#define X(...) options++;
	OPTIONS_TABLE(X)
#undef X
	while ((line = strsep(&rest, "\n")) && *line) {
		flags += strncmp(line, "  --", 4) == 0;
		if (strlen(line) > 80)
			fail_msg("%zu columns: %s", strlen(line), line);
	}
	assert_int_equal(flags, count + options);
}

/* The whole of a small file, or "" with the reason shown. */
static char *read_file(const char *path, char *buffer, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t length;

	if (!file)
		fail_msg("cannot open %s: run the tests from the top of the repository", path);
	length = fread(buffer, 1, size - 1, file);
	buffer[length] = '\0';
	fclose(file);
	return buffer;
}

/* docs/OPTIONS.md holds the table that the program's own makes. */
static void test_document_is_current(void **state)
{
	static char document[65536], table[32768];
	FILE *file = fmemopen(table, sizeof(table) - 1, "w");

	(void)state;
	assert_non_null(file);
	options_print_markdown(file);
	fclose(file);
	if (!strstr(read_file("docs/OPTIONS.md", document, sizeof(document)), table))
		fail_msg("docs/OPTIONS.md differs from the flags; its table should be:\n%s", table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_boolean_alone_is_true),
		cmocka_unit_test(test_boolean_option_alone_is_true),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_sidecar),
		cmocka_unit_test(test_help_wins),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_namespace_is_not_for_the_sidecar),
		cmocka_unit_test(test_ceilings_over_clusters_are_not_for_the_sidecar),
		cmocka_unit_test(test_a_sidecar_never_elects),
		cmocka_unit_test(test_help_fits_a_terminal),
		cmocka_unit_test(test_document_is_current),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
