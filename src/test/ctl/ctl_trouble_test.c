/* How many log lines a tenant can cause. */
#include "ctl/report/trouble.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unreadable_objects_are_logged_only_so_often),
		cmocka_unit_test(test_one_cluster_holds_back_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
