/* The published values of FNV-1a, 64 bits. */
#include "base/hash.h"

#include "test/support/support.h"

static void test_known_values(void **state)
{
	(void)state;
	assert_true(hash_text("") == UINT64_C(0xcbf29ce484222325));
	assert_true(hash_text("a") == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(hash_text("foobar") == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_known_values) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
