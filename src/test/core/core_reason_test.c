#include "core/model/reason.h"

#include "test/support/support.h"

/* The word of a reason is read as the same reason. */
static void test_words(void **state)
{
	(void)state;
	for (enum reason reason = REASON_NONE + 1; reason < REASON_UNKNOWN; reason++)
		assert_int_equal(reason_read(reason_table_of(reason), reason_word(reason)), reason);
	assert_string_equal(reason_word(REASON_NONE), "");
	assert_int_equal(reason_read(REASONS_OF_GROUPS, ""), REASON_NONE);
	assert_int_equal(reason_read(REASONS_OF_GROUPS, "Idle"), REASON_UNKNOWN);
	assert_int_equal(reason_read(REASONS_OF_TERMINATIONS, "Idle"), REASON_IDLE);
}

/* The same word means another thing in another table. */
static void test_table(void **state)
{
	(void)state;
	assert_int_equal(reason_read(REASONS_OF_BACK_OFFS, "StartTimeout"),
			 REASON_RAYLET_START_TIMEOUT);
	assert_int_equal(reason_read(REASONS_OF_TERMINATIONS, "StartTimeout"),
			 REASON_START_TIMEOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
