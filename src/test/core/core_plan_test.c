#include "core/model/plan.h"

#include "test/support/support.h"

/* docs/internals/snapshot.md: these words are read by users and scripts. */
static void test_names_are_those_of_the_contract(void **state)
{
	(void)state;
	assert_string_equal(terminate_action_name(TERMINATE_DRAIN), "drain");
	assert_string_equal(terminate_action_name(TERMINATE_DELETE), "delete");
	assert_string_equal(terminate_action_name(TERMINATE_STOP), "stop");
	assert_string_equal(worker_state_name(WORKER_PENDING), "Pending");
	assert_string_equal(worker_state_name(WORKER_STARTING), "Starting");
	assert_string_equal(worker_state_name(WORKER_RUNNING), "Running");
	assert_string_equal(worker_state_name(WORKER_IDLE), "Idle");
	assert_string_equal(worker_state_name(WORKER_DRAINING), "Draining");
	assert_string_equal(worker_state_name(WORKER_GONE), "Gone");
	assert_string_equal(demand_kind_name(DEMAND_REQUEST), "request");
	assert_string_equal(demand_kind_name(DEMAND_GANG), "gang");
	assert_string_equal(demand_kind_name(DEMAND_CONSTRAINT), "constraint");
	assert_string_equal(demand_source_name(SOURCE_RAY), "ray");
	assert_string_equal(demand_source_name(SOURCE_ANNOTATION), "annotation");
}

static void test_unset_values_have_no_name(void **state)
{
	(void)state;
	assert_string_equal(terminate_action_name(TERMINATE_NONE), "");
	assert_string_equal(worker_state_name(WORKER_NONE), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_of_the_contract),
		cmocka_unit_test(test_unset_values_have_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
