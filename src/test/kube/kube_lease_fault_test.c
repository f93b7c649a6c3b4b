/* kube/kube_lease against a server that fails, does not answer, loses answers, or serves an object
 * that is not a Lease. */
#include "test/support/lease_bench.h"

static void test_a_release_against_a_change_is_tried_again(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	pthread_mutex_lock(&lease_server.lock);
	lease_server.version++; /* another client labels it */
	pthread_mutex_unlock(&lease_server.lock);
	assert_true(kube_lease_release(one.lease, lease_bench_on_released, &one));
	until(has_released, &one);
	assert_true(one.released_well);
	assert_string_equal(written(lease_server_accepted() - 1, "holderIdentity"), "\"\"");
}

static bool has_written(void *context)
{
	(void)context;
	return lease_server_accepted() > 0;
}

/* Released between a takeover and its answer: the others need not wait for the Lease to expire. */
static void test_a_takeover_on_its_way_is_given_back(void **state)
{
	(void)state;
	lease_server.delay = 1;
	enter(&one, "x");
	until(has_written, &one);
	assert_string_equal(written(0, "holderIdentity"), "\"x\"");
	assert_true(kube_lease_release(one.lease, lease_bench_on_released, &one));
	until(has_released, &one);
	assert_true(one.released_well);
	assert_int_equal(one.leading, 0);
	assert_string_equal(written(1, "holderIdentity"), "\"\"");
}

static void test_a_release_without_an_answer_ends(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	lease_server.hold = true;
	assert_true(kube_lease_release(one.lease, lease_bench_on_released, &one));
	until(has_released, &one);
	assert_false(one.released_well);
	assert_non_null(strstr(one.released_err.text, "leases"));
}

/* Not before the deadline, and before the others may take it. */
static void test_a_server_that_fails_ends_it_in_time(void **state)
{
	static const int statuses[] = { 500, 429, 403, 0 };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(statuses); i++) {
		int64_t failing_ms;

		one = (struct elector){ .lease = NULL };
		lease_server_reset();
		enter(&one, "x");
		until(leads, &one);
		failing_ms = loop_boot_ms();
		lease_server.status = statuses[i];
		lease_server.hold = statuses[i] == 0;
		until(has_lost, &one);
		assert_in_range(loop_boot_ms() - failing_ms, RENEW_MS - RETRY_MS - TIMEOUT_MS,
				LEASE_MS + LATE_MS);
		assert_non_null(strstr(one.why, "it was not renewed for "));
		assert_non_null(strstr(one.why, "leases.coordination.k8s.io a/rayscaler"));
		kube_lease_free(steal(&one.lease));
	}
}

static void test_a_short_failure_costs_nothing(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	lease_server.status = 503;
	until(has_errors, &one);
	lease_server.status = 0;
	one.goods = 0;
	until(is_settled, &one);
	assert_true(kube_lease_held(one.lease));
	assert_int_equal(one.lost, 0);
}

static void test_a_missing_right_is_declared_with_the_cure(void **state)
{
	(void)state;
	lease_server.status = 403;
	enter(&one, "x");
	until(has_errors, &one);
	assert_int_equal(one.err.kind, ERR_DENIED);
	assert_non_null(strstr(one.err.text, "resources: [\"leases\"]"));
	assert_non_null(strstr(one.err.text, "Role in namespace a"));
	assert_int_equal(one.leading, 0);
}

static void test_a_write_whose_answer_was_lost(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	lease_server.lose = 2;
	one.goods = 0;
	until(is_settled, &one);
	assert_int_equal(lease_server.lose, 0);
	assert_int_equal(one.lost, 0);
	assert_true(kube_lease_held(one.lease));
}

static void test_what_is_no_lease_is_declared_and_not_taken(void **state)
{
	static const struct {
		const char *raw, *says;
	} cases[] = {
		{ "", "the text is empty" },
		{ "[]", "must be an object" },
		{ "{'metadata': {}, 'spec': {}}", "metadata.name" },
		{ "{'metadata': {'name': 'r'}, 'spec': []}", "spec: must be an object" },
		{ "{'metadata': {'name': 'r'}, 'spec': {'holderIdentity': 5}}",
		  "spec.holderIdentity: must be a string" },
		{ "{'metadata': {'name': 'r'}, 'spec': {'leaseTransitions': 1e300}}",
		  "spec.leaseTransitions" },
		{ "{'metadata': {'name': 'r'}, 'spec': {'leaseTransitions': 2147483648}}",
		  "must be 0 to 2147483647" },
		{ "{'metadata': {'name': 'r'}, 'spec': {'leaseDurationSeconds': -1}}",
		  "must be 0 to 2147483647" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		one = (struct elector){ .lease = NULL };
		lease_server.raw = memory_strdup(cases[i].raw);
		enter(&one, "x");
		until(has_errors, &one);
		assert_int_equal(one.leading, 0);
		if (!strstr(one.err.text, cases[i].says) || !strstr(one.err.text, "delete it"))
			fail_msg("\"%s\" does not say \"%s\"", one.err.text, cases[i].says);
		kube_lease_free(steal(&one.lease));
		lease_server_reset();
	}
	assert_int_equal(lease_server_accepted(), 0);
}

static void test_huge_values(void **state)
{
	(void)state;
	lease_server_set("{'holderIdentity': '', 'leaseDurationSeconds': 2147483647,"
			 " 'leaseTransitions': 2147483647}");
	enter(&one, "x");
	until(leads, &one);
	assert_string_equal(written(0, "leaseTransitions"), "2147483647");
	assert_string_equal(written(0, "leaseDurationSeconds"), "1");
	kube_lease_free(steal(&one.lease));
	one = (struct elector){ .lease = NULL };
	lease_server.raw = memory_alloc(KUBE_LEASE_BODY_MAX + 2);
	memset(lease_server.raw, ' ', KUBE_LEASE_BODY_MAX + 1);
	enter(&one, "x");
	until(has_errors, &one);
	assert_int_equal(one.err.kind, ERR_LIMIT);
}

/* 2147483647 seconds were written by none of us. */
static void test_a_stolen_duration_is_not_waited_for(void **state)
{
	(void)state;
	lease_server_set("{'holderIdentity': 'y', 'leaseDurationSeconds': 2147483647}");
	enter(&one, "x");
	until(leads, &one);
	assert_true(kube_lease_held(one.lease));
}

/* --- a Lease that is deleted again and again --- */

#define DELETIONS 60

static struct {
	int left;
	bool two_led;
	struct loop_timer *timer;
} deletions;

static void note_leaders(void)
{
	deletions.two_led |= kube_lease_held(one.lease) && kube_lease_held(two.lease);
}

static void delete_lease(void *context)
{
	(void)context;
	note_leaders();
	lease_server_set("");
	if (--deletions.left > 0)
		loop_timer_start(deletions.timer, RETRY_MS);
}

static bool is_deleted_enough(void *context)
{
	(void)context;
	note_leaders();
	return deletions.left == 0;
}

static bool one_of_them_leads(void *context)
{
	(void)context;
	note_leaders();
	return kube_lease_held(one.lease) != kube_lease_held(two.lease);
}

/* The second one has seen the first one's record: it never leads beside it. */
static void test_a_lease_that_is_deleted_again_and_again_has_one_leader(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	enter(&two, "y");
	until(is_settled, &two);
	assert_string_equal(two.holder, "x");
	deletions.two_led = false;
	deletions.left = DELETIONS;
	deletions.timer = loop_timer_new(lease_script.loop, delete_lease, NULL);
	loop_timer_start(deletions.timer, 0);
	until(is_deleted_enough, NULL);
	until(one_of_them_leads, NULL);
	loop_timer_free(deletions.timer);
	assert_false(deletions.two_led);
}

/* The first one ends while its Lease is deleted: the second one takes over all the same. */
static void test_a_lease_that_is_deleted_with_its_holder(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	enter(&two, "y");
	until(is_settled, &two);
	kube_lease_free(steal(&one.lease));
	lease_server_set("");
	until(leads, &two);
	assert_true(kube_lease_held(two.lease));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lease_bench_setup, lease_bench_teardown)
		TEST(test_a_release_against_a_change_is_tried_again),
		TEST(test_a_takeover_on_its_way_is_given_back),
		TEST(test_a_release_without_an_answer_ends),
		TEST(test_a_server_that_fails_ends_it_in_time),
		TEST(test_a_short_failure_costs_nothing),
		TEST(test_a_missing_right_is_declared_with_the_cure),
		TEST(test_a_write_whose_answer_was_lost),
		TEST(test_what_is_no_lease_is_declared_and_not_taken),
		TEST(test_huge_values),
		TEST(test_a_stolen_duration_is_not_waited_for),
		TEST(test_a_lease_that_is_deleted_again_and_again_has_one_leader),
		TEST(test_a_lease_that_is_deleted_with_its_holder),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
