/* The log lines of conditions, and how many lines a tenant can cause. */
#include "ctl/report/trouble.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/reason.h"
#include "test/support/log_capture.h"
#include "test/support/support.h"

#define MESSAGE "Pod cannot be read, it counts as busy"
#define RATE_MS 10000 /* for one line */

static bool unreadable(struct trouble_lines *lines, int64_t now_ms)
{
	return trouble_unreadable(lines, MESSAGE, "pod", "a/w1", "spec: must be an object", now_ms);
}

/* A Pod that changes 100 times a second for a minute. */
static void test_unreadable_objects_are_logged_only_so_often(void **state)
{
	struct trouble_lines lines;
	int logged = 0;

	(void)state;
	trouble_lines_init(&lines, 0);
	for (int64_t now_ms = 0; now_ms < 60000; now_ms += 10)
		logged += unreadable(&lines, now_ms);
	assert_int_equal(logged, TROUBLE_LINES + 5);
	assert_true(lines.held_back > 0);
	assert_true(unreadable(&lines, 60000 + RATE_MS));
	assert_int_equal(lines.held_back, 0);
}

/* Each cluster has lines of its own, and those about Pods take none from those about conditions. */
static void test_one_cluster_holds_back_no_other(void **state)
{
	struct trouble loud, other;

	(void)state;
	trouble_init(&loud, 0);
	trouble_init(&other, 0);
	for (int i = 0; i < TROUBLE_LINES; i++)
		assert_true(unreadable(&loud.pod_lines, 0));
	assert_false(unreadable(&loud.pod_lines, 0));
	assert_true(unreadable(&other.pod_lines, 0));
	assert_true(token_bucket_has(&loud.condition_lines.bucket, 1, 0));
	trouble_done(&loud);
	trouble_done(&other);
}

/* Logs a decision with these conditions into `output`. */
static void conditions(struct trouble *trouble, int64_t now_ms, const struct plan_condition *at,
		       size_t count)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan plan = { .cluster_name = "demo" };

	for (size_t i = 0; i < count; i++)
		VEC_PUSH(&arena, &plan.conditions, at[i]);
	CAPTURE_LOG(trouble_conditions(trouble, "a/demo", &plan, now_ms));
}

static void expect_lines(int count)
{
	int lines = 0;

	for (const char *at = output; *at; at++)
		lines += *at == '\n';
	if (lines != count)
		fail_msg("%d lines, not %d:\n%s", lines, count, output);
}

#define ACTIVE                                                                                     \
	{                                                                                          \
		.type = "ScalingActive", .status = "True", .reason = REASON_DEMAND_READ,           \
		.message = "read"                                                                  \
	}
#define PAUSED                                                                                     \
	{                                                                                          \
		.type = "ScalingActive", .status = "False", .reason = REASON_PAUSED,               \
		.message = "spec.paused"                                                           \
	}
#define LIMITED(text)                                                                              \
	{                                                                                          \
		.type = "ScalingLimited", .status = "True", .reason = REASON_TOO_MANY_REPLICAS,    \
		.message = (text)                                                                  \
	}
#define BROKEN(text)                                                                               \
	{                                                                                          \
		.type = "TemplateBroken", .status = "True", .reason = REASON_TEMPLATE_BROKEN,      \
		.message = (text)                                                                  \
	}

#define LOGS(ms, ...)                                                                              \
	conditions(&trouble, ms, (const struct plan_condition[]){ __VA_ARGS__ },                   \
		   sizeof((const struct plan_condition[]){ __VA_ARGS__ }) /                        \
			   sizeof(struct plan_condition))

static void test_a_condition_begins_and_ends_by_name(void **state)
{
	struct trouble trouble;

	(void)state;
	trouble_init(&trouble, 0);
	LOGS(0, ACTIVE);
	expect_lines(0);
	LOGS(0, PAUSED, LIMITED("2 GPUs run above maxGPUs 1"));
	expect_lines(2);
	assert_non_null(strstr(output, "\"message\":\"condition\",\"object\":\"a/demo\","
				       "\"condition\":\"ScalingActive\",\"error\":\"Paused: "
				       "spec.paused\""));
	assert_non_null(strstr(output, "\"condition\":\"ScalingLimited\",\"error\":"
				       "\"TooManyReplicas: 2 GPUs run above maxGPUs 1\""));
	/* One ends, the other stays. */
	LOGS(1000, ACTIVE, LIMITED("2 GPUs run above maxGPUs 1"));
	expect_lines(1);
	assert_non_null(strstr(output, "\"message\":\"condition ended\",\"object\":\"a/demo\","
				       "\"condition\":\"ScalingActive\",\"reason\":\"Paused\","
				       "\"times\":\"1\""));
	LOGS(2000, ACTIVE);
	expect_lines(1);
	assert_non_null(strstr(output, "\"condition\":\"ScalingLimited\",\"reason\":"
				       "\"TooManyReplicas\",\"times\":\"2\""));
	trouble_done(&trouble);
}

/* A changed message is logged, but not of a limit: its message has figures of the demand. */
static void test_a_changed_message_is_logged(void **state)
{
	struct trouble trouble;

	(void)state;
	trouble_init(&trouble, 0);
	LOGS(0, BROKEN("w-a lacks GPU"), LIMITED("3 bundles wait"));
	expect_lines(2);
	LOGS(0, BROKEN("w-b lacks GPU"), LIMITED("4 bundles wait"));
	expect_lines(1);
	assert_non_null(strstr(output, "w-b lacks GPU"));
	trouble_done(&trouble);
}

/* Lines that are held back are logged later. */
static void test_conditions_that_flap_are_logged_only_so_often(void **state)
{
	struct trouble trouble;
	int lines = 0;

	(void)state;
	trouble_init(&trouble, 0);
	for (int64_t now_ms = 0; now_ms < 60000; now_ms += 500) {
		if (now_ms % 1000)
			LOGS(now_ms, PAUSED);
		else
			LOGS(now_ms, ACTIVE);
		lines += output[0] != '\0';
	}
	assert_in_range(lines, TROUBLE_LINES, TROUBLE_LINES + 6);
	LOGS(60000, PAUSED);
	LOGS(60000 + RATE_MS, PAUSED);
	LOGS(60000 + 2 * RATE_MS, ACTIVE);
	expect_lines(1);
	trouble_done(&trouble);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unreadable_objects_are_logged_only_so_often),
		cmocka_unit_test(test_one_cluster_holds_back_no_other),
		cmocka_unit_test(test_a_condition_begins_and_ends_by_name),
		cmocka_unit_test(test_a_changed_message_is_logged),
		cmocka_unit_test(test_conditions_that_flap_are_logged_only_so_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
