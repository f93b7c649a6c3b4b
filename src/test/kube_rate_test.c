/* The token bucket of the API server's client. */
#include "kube/kube_rate.h"
#include "test/support.h"

static void test_burst_then_rate(void **state)
{
	struct kube_rate rate;
	(void)state;
	kube_rate_init(&rate, 10, 3, 1000);
	for (int i = 0; i < 3; i++)
		assert_true(kube_rate_take(&rate, 1000));
	assert_false(kube_rate_take(&rate, 1000));
	assert_int_equal(kube_rate_wait_ms(&rate), 100);
	assert_false(kube_rate_take(&rate, 1099));
	assert_int_equal(kube_rate_wait_ms(&rate), 1);
	assert_true(kube_rate_take(&rate, 1100));
	assert_false(kube_rate_take(&rate, 1100));
}

static void test_no_more_than_the_burst_is_saved(void **state)
{
	struct kube_rate rate;
	(void)state;
	kube_rate_init(&rate, 10, 2, 0);
	assert_true(kube_rate_take(&rate, 3600000));
	assert_true(kube_rate_take(&rate, 3600000));
	assert_false(kube_rate_take(&rate, 3600000));
}

static void test_no_limit(void **state)
{
	struct kube_rate rate;
	(void)state;
	kube_rate_init(&rate, 0, 1, 0);
	for (int i = 0; i < 1000; i++)
		assert_true(kube_rate_take(&rate, 0));
	assert_int_equal(kube_rate_wait_ms(&rate), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_then_rate),
		cmocka_unit_test(test_no_more_than_the_burst_is_saved),
		cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
