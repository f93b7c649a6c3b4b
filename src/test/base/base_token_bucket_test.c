/* The token bucket. */
#include "base/token_bucket.h"
#include "test/support/support.h"

static void test_burst_then_rate(void **state)
{
	struct token_bucket bucket;
	(void)state;
	token_bucket_init(&bucket, 10, 3, 1000);
	for (int i = 0; i < 3; i++)
		assert_true(token_bucket_take(&bucket, 1, 1000));
	assert_false(token_bucket_take(&bucket, 1, 1000));
	assert_int_equal(token_bucket_wait_ms(&bucket), 100);
	assert_false(token_bucket_take(&bucket, 1, 1099));
	assert_int_equal(token_bucket_wait_ms(&bucket), 1);
	assert_true(token_bucket_take(&bucket, 1, 1100));
	assert_false(token_bucket_take(&bucket, 1, 1100));
}

static void test_no_more_than_the_burst_is_saved(void **state)
{
	struct token_bucket bucket;
	(void)state;
	token_bucket_init(&bucket, 10, 2, 0);
	assert_true(token_bucket_take(&bucket, 1, 3600000));
	assert_true(token_bucket_take(&bucket, 1, 3600000));
	assert_false(token_bucket_take(&bucket, 1, 3600000));
}

static void test_take_is_all_or_nothing(void **state)
{
	struct token_bucket bucket;
	(void)state;
	token_bucket_init(&bucket, 1000, 100, 0);
	assert_true(token_bucket_take(&bucket, 60, 0));
	assert_false(token_bucket_take(&bucket, 41, 0));
	assert_true(token_bucket_take(&bucket, 40, 0));
	assert_true(token_bucket_take(&bucket, 0, 0));
	assert_false(token_bucket_take(&bucket, INT64_MAX, 3600000));
	assert_true(token_bucket_take(&bucket, 100, 3600000));
}

static void test_no_limit(void **state)
{
	struct token_bucket bucket;
	(void)state;
	token_bucket_init(&bucket, 0, 1, 0);
	for (int i = 0; i < 1000; i++)
		assert_true(token_bucket_take(&bucket, 1, 0));
	assert_int_equal(token_bucket_wait_ms(&bucket), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_then_rate),
		cmocka_unit_test(test_no_more_than_the_burst_is_saved),
		cmocka_unit_test(test_take_is_all_or_nothing),
		cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
