/* kube/kube_lease: who holds the Lease when, and that no process believes to hold it longer than
 * the others wait. */
#include "test/support/lease_bench.h"

static void test_a_free_lease_is_taken(void **state)
{
	const char *time;

	(void)state;
	enter(&one, "x");
	assert_false(kube_lease_held(one.lease));
	assert_string_equal(kube_lease_holder(one.lease), "");
	until(leads, &one);
	assert_int_equal(lease_server.creates, 1);
	assert_string_equal(written(0, "holderIdentity"), "\"x\"");
	assert_string_equal(written(0, "leaseDurationSeconds"), "1");
	assert_string_equal(written(0, "leaseTransitions"), "0");
	assert_string_equal(written(0, "resourceVersion"), "");
	time = written(0, "renewTime"); /* "2026-11-21T08:00:00.123000Z" */
	assert_int_equal(strlen(time), 29);
	assert_int_equal(time[20], '.');
	assert_int_equal(time[27], 'Z');
	assert_string_equal(kube_lease_holder(one.lease), "x");
	assert_string_equal(one.holder, "x");
}

static void test_it_is_renewed_without_reading(void **state)
{
	char acquired[512], renewed[512];

	(void)state;
	enter(&one, "x");
	until(is_settled, &one);
	assert_true(kube_lease_held(one.lease));
	assert_int_equal(one.leading, 1);
	assert_int_equal(lease_server.reads, 1);
	assert_true(lease_server_accepted() >= 10);
	(void)snprintf(acquired, sizeof(acquired), "%s", written(0, "acquireTime"));
	(void)snprintf(renewed, sizeof(renewed), "%s", written(0, "renewTime"));
	assert_string_equal(written(8, "acquireTime"), acquired);
	assert_string_not_equal(written(8, "renewTime"), renewed);
	assert_string_equal(written(8, "leaseTransitions"), "0");
}

/* The time counts from when we first read the record, whatever renewTime it has. */
static void test_a_silent_holder_loses_it_after_its_own_time(void **state)
{
	static const char *const records[] = {
		"{'holderIdentity': 'gone', 'leaseDurationSeconds': 1, 'leaseTransitions': 7,"
		" 'renewTime': '1970-01-01T00:00:00.000000Z'}",
		"{'holderIdentity': 'gone', 'leaseDurationSeconds': 1, 'leaseTransitions': 7,"
		" 'renewTime': '9999-01-01T00:00:00.000000Z'}",
		/* No duration in the record: our own one is used. */
		"{'holderIdentity': 'gone', 'leaseTransitions': 7}",
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(records); i++) {
		int64_t started_ms = loop_boot_ms();
		size_t number = lease_server_accepted();

		one = (struct elector){ .lease = NULL };
		lease_server_set(records[i]);
		enter(&one, "x");
		until(leads, &one);
		assert_in_range(one.leading_ms - started_ms, LEASE_MS,
				LEASE_MS + RETRY_MS + LATE_MS);
		assert_string_equal(written(number, "leaseTransitions"), "8");
		assert_string_equal(written(number, "acquireTime"), written(number, "renewTime"));
		kube_lease_free(steal(&one.lease));
	}
}

/* Its own period is much longer than the rest of the Lease. */
static void test_a_follower_looks_when_the_lease_runs_out(void **state)
{
	struct kube_lease_options options = usual_options(&one, "x");
	int64_t started_ms = loop_boot_ms();

	(void)state;
	options.lease_duration_ms = 60000;
	options.renew_deadline_ms = 50000;
	options.retry_period_ms = 40000;
	lease_server_set("{'holderIdentity': 'gone', 'leaseDurationSeconds': 1}");
	one.lease = kube_lease_new(lease_script.client, &options);
	until(leads, &one);
	assert_in_range(one.leading_ms - started_ms, LEASE_MS, LEASE_MS + LATE_MS);
}

static void renew_the_other(void *context)
{
	static int beats;
	char spec[256];

	(void)snprintf(spec, sizeof(spec),
		       "{'holderIdentity': 'other', 'leaseDurationSeconds': 1, 'renewTime':"
		       " '2026-01-01T00:00:00.%06dZ'}",
		       beats++);
	lease_server_set(spec);
	loop_timer_start(*(struct loop_timer **)context, 200);
}

static void test_a_renewed_lease_is_left_alone(void **state)
{
	struct loop_timer *timer = NULL;
	int64_t started_ms = loop_boot_ms();

	(void)state;
	timer = loop_timer_new(lease_script.loop, renew_the_other, &timer);
	renew_the_other(&timer);
	enter(&one, "x");
	while (loop_boot_ms() - started_ms < 2 * LEASE_MS + LEASE_MS / 2) {
		one.goods = 0;
		until(is_settled, &one);
		assert_false(kube_lease_held(one.lease));
	}
	loop_timer_free(timer);
	assert_int_equal(one.leading, 0);
	assert_int_equal(lease_server_accepted(), 0);
	assert_string_equal(kube_lease_holder(one.lease), "other");
	assert_string_equal(one.holder, "other");
}

static bool never_both(void *context)
{
	bool both = one.lease && two.lease && kube_lease_held(one.lease) &&
		    kube_lease_held(two.lease);

	assert_false(both);
	return is_settled(context) && (one.leading || two.leading);
}

static void test_of_two_one_leads_and_the_other_follows_a_release(void **state)
{
	struct elector *leader, *follower;
	int64_t released_ms;
	size_t number;

	(void)state;
	enter(&one, "x");
	enter(&two, "y");
	assert_true(loop_wait_until(lease_script.loop, never_both, &one, WAIT_MS));
	assert_true(loop_wait_until(lease_script.loop, never_both, &two, WAIT_MS));
	assert_int_equal(one.leading + two.leading, 1);
	leader = one.leading ? &one : &two;
	follower = one.leading ? &two : &one;
	assert_string_equal(kube_lease_holder(follower->lease), leader->identity);
	assert_true(kube_lease_release(leader->lease, lease_bench_on_released, leader));
	assert_false(kube_lease_held(leader->lease));
	until(has_released, leader);
	released_ms = loop_boot_ms();
	assert_true(leader->released_well);
	assert_int_equal(leader->lost, 0);
	number = lease_server_accepted() - 1;
	if (strcmp(written(number, "holderIdentity"), "\"\"") == 0)
		assert_string_equal(written(number, "leaseDurationSeconds"), "1");
	until(leads, follower);
	assert_in_range(follower->leading_ms - released_ms, 0, RETRY_MS + LATE_MS);
	assert_string_equal(written(lease_server_accepted() - 1, "leaseTransitions"), "1");
	assert_false(kube_lease_release(leader->lease, lease_bench_on_released, leader));
}

static void test_a_follower_has_nothing_to_release(void **state)
{
	(void)state;
	lease_server_set("{'holderIdentity': 'other', 'leaseDurationSeconds': 60}");
	enter(&one, "x");
	until(is_settled, &one);
	assert_false(kube_lease_release(one.lease, lease_bench_on_released, &one));
	assert_int_equal(lease_server_accepted(), 0);
}

static void test_another_holder_ends_it_at_once(void **state)
{
	int64_t taken_ms;

	(void)state;
	enter(&one, "x");
	until(is_settled, &one);
	lease_server_set("{'holderIdentity': 'y', 'leaseDurationSeconds': 1}");
	taken_ms = loop_boot_ms();
	until(has_lost, &one);
	assert_in_range(loop_boot_ms() - taken_ms, 0, RENEW_MS - 1);
	assert_string_equal(one.why, "\"y\" has taken it");
	assert_int_equal(one.lost, 1);
}

/* The same Pod, its container started again. */
static void test_ones_own_lease_is_gone_on_with(void **state)
{
	(void)state;
	lease_server_set(
		"{'holderIdentity': 'x', 'leaseDurationSeconds': 60, 'leaseTransitions': 3,"
		" 'acquireTime': '2026-01-01T00:00:00.000000Z'}");
	enter(&one, "x");
	until(leads, &one);
	assert_string_equal(written(0, "leaseTransitions"), "3");
	assert_string_equal(written(0, "acquireTime"), "\"2026-01-01T00:00:00.000000Z\"");
}

static void test_a_deleted_lease_is_made_again(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	lease_server_set("");
	one.goods = 0;
	until(is_settled, &one);
	assert_int_equal(lease_server.creates, 2);
	assert_true(kube_lease_held(one.lease));
}

static void test_labels_are_kept(void **state)
{
	(void)state;
	lease_server_set("{'holderIdentity': ''}");
	(void)snprintf(lease_server.labels, sizeof(lease_server.labels), "%s",
		       ", \"labels\": {\"app\": \"rs\"}, \"annotations\": {\"a/b\": \"c\"}");
	enter(&one, "x");
	until(is_settled, &one);
	assert_string_equal(written(5, "app"), "\"rs\"");
	assert_string_equal(written(5, "a/b"), "\"c\"");
}

/* As SIGSTOP within a loop iteration: no timer has fired, and still it is not held. */
static void test_a_process_that_stood_still_holds_nothing(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	assert_true(kube_lease_held(one.lease));
	virtual_clock_sleep(RENEW_MS + 1);
	assert_false(kube_lease_held(one.lease));
	assert_int_equal(one.lost, 0);
	assert_false(kube_lease_release(one.lease, lease_bench_on_released, &one));
	assert_string_equal(written(lease_server_accepted() - 1, "holderIdentity"), "\"x\"");
}

static void test_a_process_that_stood_still_ends(void **state)
{
	(void)state;
	enter(&one, "x");
	until(is_settled, &one);
	virtual_clock_sleep(RENEW_MS + RETRY_MS);
	until(has_lost, &one);
	assert_non_null(strstr(one.why, "this process was stopped"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lease_bench_setup, lease_bench_teardown)
		TEST(test_a_free_lease_is_taken),
		TEST(test_it_is_renewed_without_reading),
		TEST(test_a_silent_holder_loses_it_after_its_own_time),
		TEST(test_a_follower_looks_when_the_lease_runs_out),
		TEST(test_a_renewed_lease_is_left_alone),
		TEST(test_of_two_one_leads_and_the_other_follows_a_release),
		TEST(test_a_follower_has_nothing_to_release),
		TEST(test_another_holder_ends_it_at_once),
		TEST(test_ones_own_lease_is_gone_on_with),
		TEST(test_a_deleted_lease_is_made_again),
		TEST(test_labels_are_kept),
		TEST(test_a_process_that_stood_still_holds_nothing),
		TEST(test_a_process_that_stood_still_ends),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
