/* ctl/report/metrics and ctl/report/metrics_text: the exposition, its escaping and its limits. */
#include "ctl/report/metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ctl/report/metrics_text.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "test/support/metrics_lines.h"
#include "test/support/metrics_markdown.h"
#include "test/support/support.h"

struct fixture {
	struct metrics *metrics;
	struct buf text;
};

static int setup(void **state)
{
	struct fixture *fixture = memory_alloc(sizeof(*fixture));

	fixture->metrics = metrics_new(1700000000500);
	buf_init(&fixture->text, 1 << 20);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	metrics_free(fixture->metrics);
	buf_done(&fixture->text);
	memory_free(fixture);
	return 0;
}

static void expose(struct fixture *fixture)
{
	const struct metrics_now now = { .leader = true };

	buf_clear(&fixture->text);
	metrics_write(fixture->metrics, &now, &fixture->text);
}

static void test_program(void **state)
{
	struct fixture *fixture = *state;

	expose(fixture);
	metrics_expect_line(&fixture->text, "# TYPE rayscaler_leader gauge");
	metrics_expect_line(&fixture->text, "rayscaler_leader 1");
	metrics_expect_line(&fixture->text, "rayscaler_clusters{state=\"managed\"} 0");
	metrics_expect_line(&fixture->text, "rayscaler_clusters{state=\"hands_off\"} 0");
	metrics_expect_line(&fixture->text, "process_start_time_seconds 1700000000.5");
	assert_non_null(strstr(buf_string(&fixture->text), "\nprocess_resident_memory_bytes "));
}

static void test_memory(void **state)
{
	struct fixture *fixture = *state;
	struct memory_budgets memory;
	const struct metrics_now now = { .memory = &memory };
	struct options options;
	struct budget *a;

	options_init(&options);
	memory_budgets_init(&memory, &options, (size_t)256 << 20);
	memory.root->measure = NULL; /* without the heap of this test */
	a = budget_children_get(&memory.objects, "a");
	(void)budget_take(a, 5000);
	budget_release(a, 1000);
	buf_clear(&fixture->text);
	metrics_write(fixture->metrics, &now, &fixture->text);
	metrics_expect_line(&fixture->text,
			    "rayscaler_memory_limit_bytes{budget=\"all\"} 150994944");
	metrics_expect_line(&fixture->text, "rayscaler_memory_used_bytes{budget=\"all\"} 4000");
	metrics_expect_line(&fixture->text, "rayscaler_memory_used_bytes{budget=\"objects\"} 4000");
	metrics_expect_line(&fixture->text, "rayscaler_memory_peak_bytes{budget=\"objects\"} 5000");
	metrics_expect_line(&fixture->text, "rayscaler_memory_used_bytes{budget=\"views\"} 0");
	metrics_expect_line(&fixture->text,
			    "rayscaler_memory_limit_bytes{budget=\"beside\"} 9437184");
	metrics_expect_line(&fixture->text, "rayscaler_memory_used_bytes{budget=\"passes\"} 0");
	budget_release(a, 4000);
	budget_free(a);
	memory_budgets_done(&memory);
	options_done(&options);
}

/* rate() and increase() see nothing of a series that starts with its first 1. */
static void test_what_can_be_known_begins_with_0(void **state)
{
	struct fixture *fixture = *state;

	expose(fixture);
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"up\",reason=\"ScaleUpDemand\"} 0");
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"down\",reason=\"ScaleDownIdle\"} 0");
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"up\",reason=\"ReplicasRepaired\"} 0");
	assert_null(strstr(buf_string(&fixture->text), "{direction=\"up\",reason=\"ScaleDown"));
	metrics_expect_line(&fixture->text, "rayscaler_skipped_scale_events_total{direction=\"up\","
					    "reason=\"MaxReplicas\"} 0");
	metrics_expect_line(&fixture->text,
			    "rayscaler_skipped_scale_events_total{direction=\"down\","
			    "reason=\"NeededByDemand\"} 0");
	assert_null(strstr(buf_string(&fixture->text), "{direction=\"down\",reason=\"Busy"));
	metrics_expect_line(&fixture->text,
			    "rayscaler_events_sent_total{reason=\"TriggeredScaleUp\"} 0");
	metrics_expect_line(&fixture->text,
			    "rayscaler_demand_to_patch_seconds_bucket{le=\"+Inf\"} 0");
	metrics_expect_line(&fixture->text, "rayscaler_patch_to_pod_seconds_count 0");
}

#define KIND_COUNTER(name) metrics_expect_sample(&fixture->text, name)
#define KIND_HISTOGRAM(name) KIND_COUNTER(name)
#define KIND_GAUGE(name) ((void)0)

/* A counter that appears with its first error has no increase in that moment. */
static void test_every_counter_exists_from_the_start(void **state)
{
	struct fixture *fixture = *state;
	static const char *const errors[] = {
		"rayscaler_gcs_errors_total{kind=\"Timeout\"} 0",
		"rayscaler_gcs_errors_total{kind=\"Denied\"} 0",
		"rayscaler_api_requests_total{code=\"error\",verb=\"watch\"} 0",
		"rayscaler_api_requests_total{code=\"403\",verb=\"get\"} 0",
		"rayscaler_api_requests_total{code=\"409\",verb=\"patch\"} 0",
		"rayscaler_api_requests_total{code=\"503\",verb=\"create\"} 0",
		"rayscaler_idle_terminations_total{action=\"Suspend\"} 0",
		"rayscaler_decisions_total{direction=\"none\",reason=\"DemandUnavailable\"} 0",
		"rayscaler_reconcile_duration_seconds_count{phase=\"draining\"} 0",
	};

	expose(fixture);
#define X(kind, identifier, name, ...) KIND_##kind(name);
	METRICS_PROGRAM_TABLE(X)
	METRICS_PROCESS_TABLE(X)
#undef X
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		metrics_expect_line(&fixture->text, errors[i]);
	assert_null(strstr(buf_string(&fixture->text), "reason=\"ReadyForNewScale\""));
	assert_null(strstr(buf_string(&fixture->text), "\"other\""));
}

static void test_counters(void **state)
{
	struct fixture *fixture = *state;

	metrics_count(fixture->metrics, METRICS_DECISIONS, "up", "ScaleUpDemand");
	metrics_count(fixture->metrics, METRICS_DECISIONS, "up", "ScaleUpDemand");
	metrics_count(fixture->metrics, METRICS_DECISIONS, "down", "ScaleDownIdle");
	metrics_count(fixture->metrics, METRICS_GCS_ERRORS, "Timeout", "");
	metrics_count(NULL, METRICS_GCS_ERRORS, "Timeout", "");
	expose(fixture);
	metrics_expect_line(&fixture->text, "# TYPE rayscaler_decisions_total counter");
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"up\",reason=\"ScaleUpDemand\"} 2");
	metrics_expect_line(
		&fixture->text,
		"rayscaler_decisions_total{direction=\"down\",reason=\"ScaleDownIdle\"} 1");
	metrics_expect_line(&fixture->text, "rayscaler_gcs_errors_total{kind=\"Timeout\"} 1");
}

static void test_histogram(void **state)
{
	struct fixture *fixture = *state;

	metrics_duration(fixture->metrics, METRICS_DEMAND_TO_PATCH, "", 0.25);
	metrics_duration(fixture->metrics, METRICS_DEMAND_TO_PATCH, "", 0.3);
	metrics_duration(fixture->metrics, METRICS_DEMAND_TO_PATCH, "", 1000);
	metrics_duration(fixture->metrics, METRICS_RECONCILE_DURATION, "reading", 0.002);
	expose(fixture);
	metrics_expect_line(&fixture->text, "# TYPE rayscaler_demand_to_patch_seconds histogram");
	metrics_expect_line(&fixture->text,
			    "rayscaler_demand_to_patch_seconds_bucket{le=\"0.1\"} 0");
	metrics_expect_line(&fixture->text,
			    "rayscaler_demand_to_patch_seconds_bucket{le=\"0.25\"} 1");
	metrics_expect_line(&fixture->text,
			    "rayscaler_demand_to_patch_seconds_bucket{le=\"0.5\"} 2");
	metrics_expect_line(&fixture->text,
			    "rayscaler_demand_to_patch_seconds_bucket{le=\"300\"} 2");
	metrics_expect_line(&fixture->text,
			    "rayscaler_demand_to_patch_seconds_bucket{le=\"+Inf\"} 3");
	metrics_expect_line(&fixture->text, "rayscaler_demand_to_patch_seconds_sum 1000.55");
	metrics_expect_line(&fixture->text, "rayscaler_demand_to_patch_seconds_count 3");
	metrics_expect_line(&fixture->text,
			    "rayscaler_reconcile_duration_seconds_bucket{phase=\"reading\","
			    "le=\"0.005\"} 1");
}

static void test_labels_are_escaped(void **state)
{
	struct fixture *fixture = *state;
	struct metrics_family family = METRICS_FAMILY(&fixture->text, METRICS_GROUP_REPLICAS);

	metrics_text_integer(&family, (const char *const[]){ "a\"b", "c\\d\ne", "\xC3\xA4\xFF" },
			     -1);
	metrics_expect_line(
		&fixture->text,
		"rayscaler_group_replicas{namespace=\"a\\\"b\",raycluster=\"c\\\\d\\ne\","
		"group=\"\xC3\xA4\xEF\xBF\xBD\"} -1");
	metrics_text_integer(
		&family, (const char *const[]){ "n", "a\x1b[2J\xC2\x9B", "\xE2\x80\xAEx\x7F" }, 1);
	metrics_expect_line(&fixture->text,
			    "rayscaler_group_replicas{namespace=\"n\",raycluster=\"a\\\\u001b[2J"
			    "\\\\u009b\",group=\"\\\\u202ex\\\\u007f\"} 1");
}

static void test_amounts(void **state)
{
	struct fixture *fixture = *state;
	struct metrics_family family = METRICS_FAMILY(&fixture->text, METRICS_GPUS_PENDING);
	const char *const values[] = { "n", "c" };

	metrics_text_amount(&family, values, 80000);
	metrics_text_amount(&family, values, 2500);
	metrics_text_amount(&family, values, 10001);
	metrics_expect_line(&fixture->text,
			    "rayscaler_gpus_pending{namespace=\"n\",raycluster=\"c\"} 8");
	metrics_expect_line(&fixture->text,
			    "rayscaler_gpus_pending{namespace=\"n\",raycluster=\"c\"} 0.2500");
	metrics_expect_line(&fixture->text,
			    "rayscaler_gpus_pending{namespace=\"n\",raycluster=\"c\"} 1.0001");
}

static void test_series_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	size_t series = 0;
	char code[32];

	for (int i = 0; i < 10 * METRICS_SERIES_MAX; i++) {
		(void)snprintf(code, sizeof(code), "%d", i);
		metrics_count(fixture->metrics, METRICS_API_REQUESTS, code, "GET");
	}
	expose(fixture);
	for (const char *at = buf_string(&fixture->text);
	     (at = strstr(at, "rayscaler_api_requests_total{")); at++)
		series++;
	assert_int_equal(series, METRICS_SERIES_MAX + 1);
	assert_non_null(strstr(buf_string(&fixture->text), "{code=\"other\",verb=\"other\"} 2"));
}

static void test_document_is_current(void **state)
{
	static char document[65536], made[65536];
	FILE *file = fmemopen(made, sizeof(made) - 1, "w");
	size_t length;

	(void)state;
	assert_non_null(file);
	metrics_print(file);
	fclose(file);
	file = fopen("docs/METRICS.md", "re");
	if (!file)
		fail_msg("no docs/METRICS.md: run the tests from the top of the repository");
	length = fread(document, 1, sizeof(document) - 1, file);
	document[length] = '\0';
	fclose(file);
	if (strcmp(document, made) != 0)
		fail_msg("docs/METRICS.md differs from ctl/report/metrics_table.h: make docs");
}

static void expect_conventions(const struct metrics_row *row)
{
	const char *total = strstr(row->name, "_total");
	bool ends = total && total[6] == '\0';

	if (ends != (row->kind == METRICS_COUNTER))
		fail_msg("%s: counters and nothing else end with _total", row->name);
	assert_true(row->help[0] && row->help[strlen(row->help) - 1] == '.');
	assert_null(strpbrk(row->help, "|\n\\"));
	assert_null(strcasestr(row->labels, "pod"));
}

/* The checks of promtool, and that no label is a Pod. */
static void test_names_follow_the_conventions(void **state)
{
	(void)state;
	for (size_t i = 0; i < METRICS_COUNT; i++)
		expect_conventions(&metrics_rows[i]);
	for (size_t f = 0; features_listed[f]; f++)
		for (size_t m = 0; m < features_listed[f]->metric_count; m++)
			expect_conventions(&features_listed[f]->metrics[m].row);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_program),
		TEST(test_memory),
		TEST(test_every_counter_exists_from_the_start),
		TEST(test_what_can_be_known_begins_with_0),
		TEST(test_counters),
		TEST(test_histogram),
		TEST(test_labels_are_escaped),
		TEST(test_amounts),
		TEST(test_series_are_bounded),
		TEST(test_document_is_current),
		TEST(test_names_follow_the_conventions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
