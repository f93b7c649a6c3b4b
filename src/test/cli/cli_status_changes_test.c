/* The lines of `status -w` below the table. */
#include "cli/status_changes.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "test/support/support.h"

#define NOW INT64_C(1763632800000) /* 2025-11-20T10:00:00Z */

static struct summary_group groups[2];
static struct summary summary = {
	.ray_reachable = true, .reason = "", .groups = groups, .group_count = 2
};
static struct view_cluster cluster = { .namespace_ = "a", .name = "demo", .summary = &summary };

static void update(struct status_changes *changes, int64_t target, size_t count)
{
	const struct view_clusters clusters = { .at = &cluster, .count = count };

	groups[0] = (struct summary_group){ .name = "gpu",
					    .hosts = 1,
					    .target_replicas = target,
					    .reason = target > 0 ? "ScaleUpDemand" : "",
					    .unserved_reason = "",
					    .waiting_reason = "" };
	groups[1] = groups[0];
	groups[1].name = "still";
	groups[1].target_replicas = 0;
	groups[1].reason = "";
	status_changes_update(changes, &clusters, NOW + target * MS_PER_SECOND);
}

static void expect(const struct status_changes *changes, const char *wanted)
{
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, 10000);
	status_changes_write(changes, false, &buf);
	assert_string_equal(buf_string(&buf), wanted);
}

static void test_changes(void **state)
{
	AUTO(status_changes_done) struct status_changes changes = { .count = 0 };

	(void)state;
	update(&changes, 0, 1);
	update(&changes, 0, 1);
	expect(&changes, "");
	update(&changes, 2, 1);
	update(&changes, 2, 1);
	expect(&changes, "\nLAST CHANGES\n"
			 "2025-11-20T10:00:02Z a/demo gpu: 0/0 - -> 0/2 ScaleUpDemand\n");
	update(&changes, 3, 0);
	update(&changes, 4, 1);
	expect(&changes, "\nLAST CHANGES\n"
			 "2025-11-20T10:00:02Z a/demo gpu: 0/0 - -> 0/2 ScaleUpDemand\n"
			 "2025-11-20T10:00:03Z a/demo gpu: deleted\n"
			 "2025-11-20T10:00:03Z a/demo still: deleted\n"
			 "2025-11-20T10:00:04Z a/demo gpu: new -> 0/4 ScaleUpDemand\n"
			 "2025-11-20T10:00:04Z a/demo still: new -> 0/0 -\n");
}

static void test_only_the_last_are_kept(void **state)
{
	AUTO(status_changes_done) struct status_changes changes = { .count = 0 };

	(void)state;
	for (int64_t target = 1; target <= STATUS_CHANGES_MAX + 5; target++)
		update(&changes, target, 1);
	assert_int_equal(changes.count, STATUS_CHANGES_MAX);
	assert_non_null(
		strstr(changes.lines[STATUS_CHANGES_MAX - 1], "0/14 ScaleUpDemand -> 0/15"));
	assert_non_null(strstr(changes.lines[0], " 0/5 ScaleUpDemand -> 0/6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_only_the_last_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
