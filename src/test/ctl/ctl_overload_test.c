/* When a Retry-After counts for all clusters. */
#include "ctl/report/overload.h"

#include "test/support/support.h"

static void test_one_namespace_stops_no_other(void **state)
{
	struct overload overload = OVERLOAD_INIT;

	(void)state;
	for (int64_t now_ms = 0; now_ms < 10000; now_ms += 100)
		overload_refused(&overload, "a", now_ms, 60000);
	assert_int_equal(overload.all_not_before_ms, INT64_MIN);
}

static void test_two_namespaces_at_once_stop_all(void **state)
{
	struct overload overload = OVERLOAD_INIT;

	(void)state;
	overload_refused(&overload, "a", 1000, 5000);
	overload_refused(&overload, "b", 5999, 1000);
	assert_int_equal(overload.all_not_before_ms, 6999);
	/* A shorter answer ends no longer pause. */
	overload_refused(&overload, "c", 6000, 10000);
	overload_refused(&overload, "d", 6001, 1000);
	assert_int_equal(overload.all_not_before_ms, 16000);
}

static void test_refusals_one_after_the_other_stop_no_cluster(void **state)
{
	struct overload overload = OVERLOAD_INIT;

	(void)state;
	overload_refused(&overload, "a", 1000, 5000);
	overload_refused(&overload, "b", 6000, 5000);
	overload_refused(&overload, "a", 11000, 5000);
	assert_int_equal(overload.all_not_before_ms, INT64_MIN);
}

static void test_when_a_write_is_sent_again(void **state)
{
	static const struct {
		enum err_kind kind;
		int64_t after_ms;
	} cases[] = {
		{ ERR_CONFLICT, 1000 }, { ERR_DENIED, 60000 },   { ERR_INPUT, 60000 },
		{ ERR_TIMEOUT, 5000 },  { ERR_NOT_FOUND, 5000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct err err = { .kind = cases[i].kind };

		assert_int_equal(overload_retry_ms(&err, 0), cases[i].after_ms);
		assert_int_equal(overload_retry_ms(&err, 90000), 90000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_namespace_stops_no_other),
		cmocka_unit_test(test_two_namespaces_at_once_stop_all),
		cmocka_unit_test(test_refusals_one_after_the_other_stop_no_cluster),
		cmocka_unit_test(test_when_a_write_is_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
