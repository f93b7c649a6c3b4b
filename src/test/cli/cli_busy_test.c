/* Commands and an API server that has no time for them. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

/* Each kind of object answers so for a moment after its definition was made. */
static void test_a_busy_server_is_asked_again(void **state)
{
	(void)state;
	cli_server_start(with_controller);
	cli_server.busy = 2;
	CLI_RUN(&result, cli_status, "status", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "demo");
	assert_string_equal(result.errors, "");
	cli_server.busy = 1000;
	cli_server.asked = 0;
	CLI_RUN(&result, cli_status, "status", "demo");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "storage is (re)initializing");
	assert_in_range(cli_server.asked, 2, 40);
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_busy_server_is_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
