/* rayStartParams: numbers as Python's int() takes them, custom resources as KubeRay and Ray read them. */
#include "core/capacity/start_params.h"

#include <string.h>

#include "base/memory.h"
#include "core/capacity/tpu.h"
#include "test/support/support.h"

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t units; /* -1: refused */
	} rows[] = {
		{ "0", 0 },       { "12", 12 },   { " 7", 7 },
		{ "\t7\r\n", 7 }, { "+3", 3 },    { "-0", 0 },
		{ "-1", -1 },     { "", -1 },     { " ", -1 },
		{ "+", -1 },      { "--1", -1 },  { "1.5", -1 },
		{ "1 2", -1 },    { "0x10", -1 }, { "four", -1 },
		{ "007", 7 },     { "1e3", -1 },  { "99999999999999999999", -1 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		int64_t amount = 77;
		bool taken = start_params_number(rows[i].text, &amount);

		if (taken != (rows[i].units >= 0) ||
		    amount != (taken ? rows[i].units * RESOURCE_UNIT : 77))
			fail_msg("\"%s\": %d, %lld", rows[i].text, taken, (long long)amount);
	}
}

/* One resource as "name=units in 1/10000", several with spaces between; "-" refused. */
static void expect_resources(const char *text, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct resources resources;
	const char *found = "";

	if (!start_params_resources(text, &arena, &resources)) {
		assert_string_equal("-", wanted);
		return;
	}
	for (size_t i = 0; i < resources.count; i++)
		found = arena_printf(&arena, "%s%s%s=%lld", found, i > 0 ? " " : "",
				     resources.at[i].name, (long long)resources.at[i].amount);
	if (strcmp(found, wanted) != 0)
		fail_msg("%s: %s, not %s", text, found, wanted);
}

static void test_resources(void **state)
{
	static const char *const rows[][2] = {
		{ "'{\"A\": 1}'", "A=10000" },
		{ "\"{\\\"A\\\": 1, \\\"B\\\": 0.5}\"", "A=10000 B=5000" },
		{ "'{}'", "" },
		{ "' { \"b\" :\t2 ,\n\"a\": 3 } '", "a=30000 b=20000" },
		{ "'{\"A\": 0.00014}'", "A=1" },     /* to the nearest 1/10000 */
		{ "'{\"A\": 0.00015}'", "A=2" },     /* the fifth digit counts, */
		{ "'{\"A\": 0.000149}'", "A=1" },    /* those behind it do not */
		{ "'{\"A\": 0.99995}'", "A=10000" }, /* it may carry */
		{ "'{\"A\": 0}'", "A=0" },
		/* Not a flat object of numbers. */
		{ "'[1]'", "-" },
		{ "'{\"A\": 1'", "-" },
		{ "'{\"A\": 1} x'", "-" },
		{ "'{\"A\": 1,}'", "-" },
		{ "'{\"A\": 1;\"B\": 2}'", "-" },
		{ "'{\"A\" 1}'", "-" },
		{ "'{A: 1}'", "-" },
		{ "'{\"\": 1}'", "-" },
		{ "'{\"A: 1}'", "-" },
		{ "'{\"A\tB\": 1}'", "-" },
		{ "'{\"A\": \"1\"}'", "-" },
		{ "'{\"A\": -1}'", "-" },
		{ "'{\"A\": 01}'", "-" },
		{ "'{\"A\": 1.}'", "-" },
		{ "'{\"A\": .5}'", "-" },
		{ "'{\"A\": 99999999999999999999}'", "-" },
		{ "''", "-" },
		{ "", "-" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++)
		expect_resources(rows[i][0], rows[i][1]);
}

static void test_resources_have_a_ceiling(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct resources resources;
	const char *text = "'{\"r0\":1";

	(void)state;
	for (int i = 1; i < START_PARAMS_RESOURCES_MAX; i++)
		text = arena_printf(&arena, "%s,\"r%d\":1", text, i);
	assert_true(start_params_resources(arena_printf(&arena, "%s}'", text), &arena, &resources));
	assert_int_equal(resources.count, START_PARAMS_RESOURCES_MAX);
	assert_false(start_params_resources(arena_printf(&arena, "%s,\"more\":1}'", text), &arena,
					    &resources));
}

static void test_what_kuberay_reads(void **state)
{
	(void)state;
	assert_true(start_params_kuberay_reads("'{\"A\": 1}'"));
	assert_false(start_params_kuberay_reads("\"{\\\"A\\\": 1}\""));
}

static void test_tpu_types(void **state)
{
	static const char *const rows[][3] = {
		{ "tpu-v4-podslice", "2x2x2", "v4-16" },
		{ "tpu-v6e-slice", "4X4", "v6e-16" },
		{ "tpu-v5-lite-podslice", "1x1", "v5litepod-1" },
		{ "tpu7x", "2", "v7x-4" },
		{ "tpu-v9-slice", "2x2", NULL },
		{ "tpu-v6e-slice", "", NULL },
		{ "tpu-v6e-slice", "2x", NULL },
		{ "tpu-v6e-slice", "x2", NULL },
		{ "tpu-v6e-slice", "2y2", NULL },
		{ "tpu-v6e-slice", "a", NULL },
		{ "tpu-v6e-slice", "2000000", NULL },
		{ "tpu-v6e-slice", "2000x2000", NULL },
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		const char *found = tpu_type(&arena, rows[i][0], rows[i][1]);

		if (!rows[i][2])
			assert_null(found);
		else
			assert_string_equal(found, rows[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_resources_have_a_ceiling),
		cmocka_unit_test(test_what_kuberay_reads),
		cmocka_unit_test(test_tpu_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
