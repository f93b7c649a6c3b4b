/* Work from one answer of a GCS or several: items, their times, and what is left out. */
#include "feature/record/core/recorded_work.h"

#include <string.h>

#include "feature/record/core/pod_start_time.h"
#include "test/support/support.h"

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)
#define AT(seconds) (DAY + (seconds)*SECOND)

static struct arena arena;
static struct recorded_work *work;
static struct ray_work_row rows[100];
static struct ray_work_job jobs[4];
static struct ray_work_page page;
static struct recorded_items items;

static const struct resource gpu[] = { { "GPU", RESOURCE_UNIT } };
static const struct resource two_gpus[] = { { "GPU", 2 * RESOURCE_UNIT } };
static const struct work_bundle one = { .resources = { gpu, 1 } };
static const struct work_bundle large[] = { { .resources = { two_gpus, 1 } },
					    { .resources = { two_gpus, 1 } } };

static int setup(void **state)
{
	(void)state;
	work = recorded_work_new();
	page = (struct ray_work_page){ .rows = rows, .jobs = jobs };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorded_work_free(work);
	arena_done(&arena);
	return 0;
}

static struct ray_work_row *add(enum work_kind kind, const char *id, time_ms submitted,
				time_ms started, time_ms ended)
{
	struct ray_work_row *row = &rows[page.row_count++];

	*row = (struct ray_work_row){ .kind = kind,
				      .id = id,
				      .job = "01",
				      .group = "",
				      .node = "",
				      .submitted = submitted,
				      .started = started,
				      .ended = ended,
				      .over = ended != TIME_NONE,
				      .bundles = kind == WORK_PLACEMENT_GROUP ? large : &one,
				      .bundle_count = kind == WORK_PLACEMENT_GROUP ? 2 : 1 };
	return row;
}

static void answer(time_ms at)
{
	page.at = at;
	recorded_work_add(work, &page);
	page.row_count = page.job_count = 0;
}

static void make(time_ms since, time_ms until)
{
	recorded_work_items(work, since, until, &arena, &items);
}

static void expect(size_t index, enum work_kind kind, time_ms submitted, int64_t duration_ms,
		   int64_t count)
{
	assert_true(index < items.count);
	assert_int_equal(items.at[index].kind, kind);
	assert_int_equal(items.at[index].submitted, submitted);
	assert_int_equal(items.at[index].duration_ms, duration_ms);
	assert_int_equal(items.at[index].count, count);
}

static void equal_work_becomes_one_item(void **state)
{
	(void)state;
	add(WORK_TASK, "a", AT(10) + 20, AT(12), AT(22) + 4);
	add(WORK_TASK, "b", AT(10) + 90, AT(30), AT(40));
	add(WORK_TASK, "c", AT(10) + 100, AT(30), AT(40));
	add(WORK_TASK, "d", AT(10), AT(30), AT(40))->job = "02";
	jobs[page.job_count++] = (struct ray_work_job){ "01", "raysubmit_1", TIME_NONE };
	answer(AT(60));
	make(0, AT(60));
	assert_int_equal(items.count, 3);
	expect(0, WORK_TASK, AT(10), 10 * SECOND, 1);
	assert_string_equal(items.at[0].job, "02");
	expect(1, WORK_TASK, AT(10), 10 * SECOND, 2);
	assert_string_equal(items.at[1].job, "raysubmit_1");
	expect(2, WORK_TASK, AT(10) + 100, 10 * SECOND, 1);
	assert_int_equal(items.by_kind[WORK_TASK], 4);
	assert_int_equal(items.open, 0);
}

static void other_shapes_are_other_items(void **state)
{
	static const struct label spot[] = { { "market", "spot" } };
	static const struct work_bundle labelled = { .resources = { gpu, 1 },
						     .selector = { spot, 1 } };

	(void)state;
	add(WORK_TASK, "a", AT(10), AT(12), AT(22));
	add(WORK_TASK, "b", AT(10), AT(12), AT(22))->bundles = &large[0];
	add(WORK_TASK, "c", AT(10), AT(12), AT(22))->bundles = &labelled;
	add(WORK_ACTOR, "d", AT(10), AT(12), AT(22));
	answer(AT(60));
	make(0, AT(60));
	assert_int_equal(items.count, 4);
}

/* A group has its resources until the last work in it ends; that work becomes no item. */
static void work_in_a_placement_group_counts_once(void **state)
{
	struct ray_work_row *group;

	(void)state;
	group = add(WORK_PLACEMENT_GROUP, "g", AT(5), AT(10), TIME_NONE);
	group->over = true;
	group->strategy = PLACEMENT_STRICT_SPREAD;
	add(WORK_TASK, "a", AT(10), AT(11), AT(21))->group = "g";
	add(WORK_ACTOR, "b", AT(10), AT(11), AT(41))->group = "g";
	add(WORK_TASK, "c", AT(10), AT(11), AT(21))->group = "forgotten";
	answer(AT(60));
	make(0, AT(60));
	assert_int_equal(items.count, 2);
	expect(0, WORK_PLACEMENT_GROUP, AT(5), 31 * SECOND, 1);
	assert_int_equal(items.at[0].strategy, PLACEMENT_STRICT_SPREAD);
	assert_int_equal(items.at[0].bundle_count, 2);
	expect(1, WORK_TASK, AT(10), 10 * SECOND, 1);
}

static void a_removed_group_ends_with_its_job_or_is_left_out(void **state)
{
	(void)state;
	add(WORK_PLACEMENT_GROUP, "g", AT(5), AT(10), TIME_NONE)->over = true;
	add(WORK_PLACEMENT_GROUP, "h", AT(5), AT(10), TIME_NONE)->over = true;
	rows[1].job = "02";
	jobs[page.job_count++] = (struct ray_work_job){ "01", "", AT(40) };
	answer(AT(60));
	make(0, AT(60));
	assert_int_equal(items.count, 1);
	expect(0, WORK_PLACEMENT_GROUP, AT(5), 30 * SECOND, 1);
	assert_string_equal(items.at[0].job, "01");
	assert_int_equal(items.endless, 1);
}

static void a_group_that_is_removed_meanwhile_ends_then(void **state)
{
	(void)state;
	add(WORK_PLACEMENT_GROUP, "g", AT(5), AT(10), TIME_NONE);
	answer(AT(20));
	add(WORK_PLACEMENT_GROUP, "g", AT(5), AT(10), TIME_NONE)->over = true;
	answer(AT(30));
	add(WORK_PLACEMENT_GROUP, "g", AT(5), AT(10), TIME_NONE)->over = true;
	answer(AT(40));
	make(0, AT(40));
	expect(0, WORK_PLACEMENT_GROUP, AT(5), 20 * SECOND, 1);
}

/* The table of actors does not say when an actor was submitted, its creation task does. */
static void an_actor_is_joined_with_its_creation(void **state)
{
	(void)state;
	add(WORK_ACTOR, "a", TIME_NONE, AT(20), AT(50));
	add(WORK_ACTOR, "a", AT(5), TIME_NONE, TIME_NONE)->bundle_count = 0;
	add(WORK_ACTOR, "b", TIME_NONE, AT(20), AT(50));
	add(WORK_ACTOR, "gone", AT(1), TIME_NONE, TIME_NONE)->bundle_count = 0;
	answer(AT(60));
	make(0, AT(60));
	assert_int_equal(items.count, 2);
	expect(0, WORK_ACTOR, AT(5), 30 * SECOND, 1);
	expect(1, WORK_ACTOR, AT(20), 30 * SECOND, 1);
	assert_int_equal(items.open, 0);
}

static void what_has_not_ended_gets_the_time_until_now(void **state)
{
	(void)state;
	add(WORK_ACTOR, "a", AT(5), AT(20), TIME_NONE);
	add(WORK_TASK, "waits", AT(30), TIME_NONE, TIME_NONE);
	add(WORK_TASK, "cancelled", AT(30), TIME_NONE, AT(40));
	add(WORK_TASK, "unknown", TIME_NONE, TIME_NONE, TIME_NONE);
	answer(AT(60));
	make(0, AT(60));
	assert_int_equal(items.count, 2);
	expect(0, WORK_ACTOR, AT(5), 40 * SECOND, 1);
	expect(1, WORK_TASK, AT(30), 30 * SECOND, 1);
	assert_int_equal(items.open, 2);
}

static void the_recording_has_limits_in_time(void **state)
{
	(void)state;
	add(WORK_TASK, "before", AT(0), AT(1), AT(10));
	add(WORK_TASK, "across", AT(0), AT(5), AT(30));
	add(WORK_TASK, "after", AT(90), AT(95), AT(99));
	add(WORK_TASK, "late", AT(50), AT(51), AT(99));
	answer(AT(60));
	make(AT(10), AT(60));
	assert_int_equal(items.count, 2);
	expect(0, WORK_TASK, AT(10), 20 * SECOND, 1);
	expect(1, WORK_TASK, AT(50), 9 * SECOND, 1);
}

/* Later answers end what earlier ones began, and do not need to list it again. */
static void answers_are_merged(void **state)
{
	(void)state;
	add(WORK_TASK, "a", AT(5), AT(10), TIME_NONE);
	add(WORK_TASK, "b", AT(5), AT(10), AT(15));
	answer(AT(20));
	add(WORK_TASK, "a", AT(5), AT(10), AT(30));
	answer(AT(40));
	make(0, AT(40));
	assert_int_equal(items.count, 2);
	expect(0, WORK_TASK, AT(5), 5 * SECOND, 1);
	expect(1, WORK_TASK, AT(5), 20 * SECOND, 1);
}

static void durations_keep_three_digits(void **state)
{
	static const struct {
		int64_t ms, rounded;
	} cases[] = { { 1, 1 },         { 999, 999 }, { 1004, 1000 },  { 1005, 1010 },
		      { 61234, 61200 }, { 0, 1 },     { 9999, 10000 }, { 86399999, 86400000 } };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		recorded_work_free(work);
		work = recorded_work_new();
		add(WORK_TASK, "a", 0, DAY, DAY + cases[i].ms);
		answer(3 * DAY);
		make(0, 3 * DAY);
		assert_int_equal(items.at[0].duration_ms, cases[i].rounded);
	}
}

static void starts_of_pods(void **state)
{
	static const struct container container = { .name = "ray" };
	static const struct label worker[] = { { LABEL_NODE_TYPE, "worker" } };
	static const struct label head[] = { { LABEL_NODE_TYPE, "head" } };
	struct container_status status = { .name = "ray", .state = CONTAINER_RUNNING };
	struct condition ready = { .type = "Ready", .status = "True", .last_transition = AT(25) };
	struct pod pod = pod_empty;

	(void)state;
	pod.labels = (struct labels){ worker, 1 };
	pod.created = AT(5);
	pod.spec.containers = &container;
	pod.spec.container_count = 1;
	pod.container_statuses = &status;
	pod.container_status_count = 1;
	pod.conditions = &ready;
	pod.condition_count = 1;
	assert_int_equal(pod_start_time_ms(&pod), 20 * SECOND);
	status.restart_count = 1;
	assert_int_equal(pod_start_time_ms(&pod), -1);
	status.restart_count = 0;
	ready.status = "False";
	assert_int_equal(pod_start_time_ms(&pod), -1);
	ready.status = "True";
	ready.last_transition = AT(4);
	assert_int_equal(pod_start_time_ms(&pod), -1);
	ready.last_transition = AT(5) + DAY + 1;
	assert_int_equal(pod_start_time_ms(&pod), -1);
	ready.last_transition = AT(25);
	pod.labels.at = head;
	assert_int_equal(pod_start_time_ms(&pod), -1);
}

static void the_start_of_processes(void **state)
{
	size_t count;

	(void)state;
	assert_int_equal(recorded_work_process_ms(work, &count), -1);
	recorded_work_node(work, "n", AT(10));
	recorded_work_node(work, "m", AT(0));
	recorded_work_node(work, "n", AT(20)); /* the first counts */
	add(WORK_TASK, "waits for its worker", AT(5), AT(11), AT(25))->node = "n";
	add(WORK_ACTOR, "b", AT(20), AT(23), TIME_NONE)->node = "n";
	add(WORK_TASK, "c", AT(1), AT(3), TIME_NONE)->node = "m";
	add(WORK_TASK, "takes a process", AT(30), AT(30), TIME_NONE)->node = "n";
	add(WORK_TASK, "waits for work", AT(6), AT(35), TIME_NONE)->node = "n";
	add(WORK_TASK, "in a group", AT(1), AT(9), TIME_NONE)->node = "m";
	rows[page.row_count - 1].group = "p";
	add(WORK_TASK, "of an unknown worker", AT(1), AT(9), TIME_NONE)->node = "o";
	add(WORK_TASK, "not begun", AT(1), TIME_NONE, TIME_NONE)->node = "m";
	answer(AT(40));
	assert_int_equal(recorded_work_process_ms(work, &count), 2000);
	assert_int_equal(count, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_work_becomes_one_item),
		TEST(other_shapes_are_other_items),
		TEST(work_in_a_placement_group_counts_once),
		TEST(a_removed_group_ends_with_its_job_or_is_left_out),
		TEST(a_group_that_is_removed_meanwhile_ends_then),
		TEST(an_actor_is_joined_with_its_creation),
		TEST(what_has_not_ended_gets_the_time_until_now),
		TEST(the_recording_has_limits_in_time),
		TEST(answers_are_merged),
		TEST(durations_keep_three_digits),
		TEST(starts_of_pods),
		TEST(the_start_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
