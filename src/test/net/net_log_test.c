/* net/log: every line is one JSON object, for any logged values; repeated errors are logged
 * once. */
#include "net/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "codec/text/json.h"
#include "net/log_limit.h"
#include "test/support/log_capture.h"
#include "test/support/support.h"

static void expect_members(const char *line, size_t size, const char *const *pairs)
{
	static const struct json_limits limits = { 1 << 20, 10, 1000, true };
	struct arena arena = ARENA_INIT;
	struct cJSON *json = NULL;
	struct err err;
	struct json_reader reader = { .arena = &arena, .err = &err };
	struct json_at root;

	if (json_parse(line, size, &limits, &json, &err) < 0)
		fail_msg("%s: %.*s", err.text, (int)size, line);
	root = json_root(json, "", &reader);
	for (; *pairs; pairs += 2) {
		const char *value;

		assert_int_equal(json_text(&root, pairs[0], &value), 0);
		assert_string_equal(value, pairs[1]);
	}
	json_free(json);
	arena_done(&arena);
}

#define EXPECT(...)                                                                                \
	expect_members(output, strlen(output), (const char *const[]){ __VA_ARGS__, NULL })

static void test_one_line(void **state)
{
	(void)state;
	CAPTURE_LOG(log_info("scaled", "cluster", "a/b", "reason", "Demand", NULL));
	EXPECT("level", "info", "message", "scaled", "cluster", "a/b", "reason", "Demand");
	assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
	assert_int_equal(strncmp(output, "{\"time\":\"20", 11), 0);
	assert_int_equal(output[32], 'Z');
}

static void test_any_text_is_valid_json(void **state)
{
	(void)state;
	CAPTURE_LOG(
		log_error("m", "k", "a\"b\\c\nd\te\x01\x7f \xc3\xa9 \xff\xc3", "null", NULL, NULL));
	EXPECT("level", "error", "message", "m", "k",
	       "a\"b\\c\nd\te\x01\x7f \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd", "null", "");
}

static void test_invisible_characters_are_escaped(void **state)
{
	(void)state;
	CAPTURE_LOG(log_error("m", "k", "a\xe2\x80\xae\xc2\x9b\xc3\xa9", NULL));
	assert_non_null(strstr(output, "a\\u202e\\u009b\xc3\xa9"));
}

static void test_ceilings(void **state)
{
	char *huge = memory_alloc(100001);
	size_t size;

	(void)state;
	memset(huge, 'x', 100000);
	CAPTURE_LOG(log_warning("m", "k", huge, "after", "it", NULL));
	size = strlen(output);
	assert_in_range(size, 8192, 9000);
	EXPECT("after", "it");
	assert_non_null(strstr(output, "xxx...\""));

	/* more pairs than fit in a line: those at the end are left out, the line is complete */
	memset(huge, '\x01', 100000);
	CAPTURE_LOG(log_warning("m", "a", huge, "b", huge, "c", huge, "d", huge, "e", huge, "f",
				huge, NULL));
	size = strlen(output);
	assert_in_range(size, 100000, 262144);
	EXPECT("message", "m");
	memory_free(huge);
}

static void test_levels(void **state)
{
	static const char *const words[] = { "debug", "info", "warning", "error" };
	enum log_level level = LOG_ERROR;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(words); i++) {
		assert_int_equal(log_level_parse(words[i], &level), 0);
		assert_int_equal(level, i);
	}
	assert_int_equal(log_level_parse("loud", &level), -1);
	assert_int_equal(level, LOG_ERROR);
	CAPTURE_LOG(log_debug("hidden", NULL));
	assert_string_equal(output, "");
	log_level_set(LOG_DEBUG);
	CAPTURE_LOG(log_debug("shown", NULL));
	EXPECT("level", "debug", "message", "shown");
	log_level_set(LOG_ERROR);
	CAPTURE_LOG(log_warning("hidden", NULL));
	assert_string_equal(output, "");
	log_level_set(LOG_INFO);
}

static void test_repeated_error(void **state)
{
	struct log_repeat repeat = { .text = NULL };
	bool logged = false;

	(void)state;
	CAPTURE_LOG(logged = log_repeat_error(&repeat, "unreachable", "a/b", "refused"));
	assert_true(logged);
	EXPECT("level", "warning", "message", "unreachable", "object", "a/b", "error", "refused");
	CAPTURE_LOG(logged = log_repeat_error(&repeat, "unreachable", "a/b", "refused"));
	assert_false(logged);
	assert_string_equal(output, "");
	CAPTURE_LOG(logged = log_repeat_error(&repeat, "unreachable", "a/b", "timeout"));
	assert_true(logged);
	EXPECT("error", "timeout");
	CAPTURE_LOG(log_repeat_end(&repeat, "unreachable", "a/b"));
	EXPECT("level", "info", "message", "unreachable ended", "object", "a/b", "times", "3");
	CAPTURE_LOG(log_repeat_end(&repeat, "unreachable", "a/b"));
	assert_string_equal(output, "");
	log_repeat_done(&repeat);
}

static size_t lines_with(const char *text)
{
	size_t count = 0;

	for (const char *at = output; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void log_many(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		log_info("m", "cluster", "noisy/demo", NULL);
		if (i % 10 == 0)
			log_warning("m", "object", "quiet/demo", NULL);
		if (i % 2 == 0)
			log_info("m", "lease", "noisy/rayscaler", NULL);
		if (i % 2 == 1)
			log_info("m", "directory", "/noisy/demo", NULL);
	}
}

/* Of one namespace; lines of others and of the controller itself are all there. */
static void test_lines_of_a_namespace_are_bounded(void **state)
{
	(void)state;
	CAPTURE_LOG(log_many(2000));
	assert_in_range(lines_with("noisy/demo\"}"), LOG_LIMIT_BURST + 1000,
			LOG_LIMIT_BURST + 1100);
	assert_in_range(lines_with("\"/noisy/demo"), 1000, 1000);
	assert_in_range(lines_with("noisy/rayscaler"), 1000, 1000);
	assert_in_range(lines_with("quiet/demo"), 200, 200);
}

static void log_namespaces(size_t count)
{
	for (size_t i = 0; i < count; i++)
		log_info("m", "count", "3", "namespace", "named", "namespaces", "7", NULL);
}

static void test_a_namespace_counts_by_its_key(void **state)
{
	(void)state;
	CAPTURE_LOG(log_namespaces(2 * LOG_LIMIT_BURST));
	assert_in_range(lines_with("\"named\""), LOG_LIMIT_BURST, LOG_LIMIT_BURST + 100);
}

static struct {
	int reports;
	uint64_t lines;
} left_out;

static void add_report(const char *namespace_, uint64_t lines)
{
	left_out.reports += strcmp(namespace_, "noisy") == 0;
	left_out.lines += lines;
}

/* The lines that were left out are reported once, and after a rest there are as many as at first. */
static void test_what_is_left_out_is_reported(void **state)
{
	int64_t now_ms = (int64_t)1 << 40;
	uint64_t taken = 0;

	(void)state;
	log_limit_report(now_ms, add_report);
	left_out.reports = 0;
	left_out.lines = 0;
	for (int i = 0; i < 1000; i++)
		taken += log_limit_take("noisy", now_ms + 1);
	assert_int_equal(taken, LOG_LIMIT_BURST);
	log_limit_report(now_ms + LOG_LIMIT_REPORT_MS, add_report);
	assert_int_equal(left_out.reports, 0);
	log_limit_report(now_ms + 1 + LOG_LIMIT_REPORT_MS, add_report);
	assert_int_equal(left_out.reports, 1);
	assert_int_equal(left_out.lines, 1000 - LOG_LIMIT_BURST);
	log_limit_report(now_ms + 2 * LOG_LIMIT_REPORT_MS, add_report);
	assert_int_equal(left_out.reports, 1);
	now_ms += (int64_t)1 << 30;
	for (int i = 0; i < LOG_LIMIT_BURST; i++)
		assert_true(log_limit_take("noisy", now_ms));
}

/* Namespaces above the number that is remembered share a part; those at rest are forgotten. */
static void test_many_namespaces(void **state)
{
	int64_t now_ms = (int64_t)1 << 50;
	uint64_t taken = 0;
	char name[32];

	(void)state;
	for (int i = 0; i < 2 * LOG_LIMIT_NAMESPACES; i++) {
		(void)snprintf(name, sizeof(name), "ns-%d", i);
		taken += log_limit_take(name, now_ms);
	}
	assert_in_range(taken, LOG_LIMIT_NAMESPACES, LOG_LIMIT_NAMESPACES + LOG_LIMIT_BURST);
	assert_true(log_limit_take("new", now_ms + 1000 * LOG_LIMIT_BURST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_any_text_is_valid_json),
		cmocka_unit_test(test_invisible_characters_are_escaped),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_repeated_error),
		cmocka_unit_test(test_lines_of_a_namespace_are_bounded),
		cmocka_unit_test(test_a_namespace_counts_by_its_key),
		cmocka_unit_test(test_what_is_left_out_is_reported),
		cmocka_unit_test(test_many_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
