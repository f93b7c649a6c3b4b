/* The address under which Ray finds our metrics; the rest is tried on a real Ray. */
#include "ctl/registration.h"

#include "base/arena.h"
#include "base/memory.h"
#include "test/support.h"

static void expect(const char *bind, int port, const char *pod_ip, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	assert_string_equal(registration_address(bind, port, pod_ip, &arena), wanted);
}

static void test_address(void **state)
{
	(void)state;
	expect(":44217", 44217, "10.0.0.7", "10.0.0.7:44217");
	expect(":0", 40123, "10.0.0.7", "10.0.0.7:40123");
	expect("0.0.0.0:44217", 44217, "10.0.0.7", "10.0.0.7:44217");
	expect("[::]:44217", 44217, "fd00::7", "[fd00::7]:44217");
	expect("127.0.0.5:0", 40123, "10.0.0.7", "127.0.0.5:40123");
	expect("[fd00::9]:44217", 44217, "10.0.0.7", "[fd00::9]:44217");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_address) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
