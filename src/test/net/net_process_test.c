/* net/process: the limit on open files. */
#include <sys/resource.h>

#include "net/process.h"
#include "test/support/support.h"

#define SOFT_LIMIT 200

static void the_soft_limit_becomes_the_hard_one(void **state)
{
	struct process_figures figures;
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_max > SOFT_LIMIT);
	limit.rlim_cur = SOFT_LIMIT;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	process_read(&figures);
	assert_int_equal(figures.max_fds, SOFT_LIMIT);
	process_raise_files();
	process_read(&figures);
	if (limit.rlim_max == RLIM_INFINITY)
		assert_int_equal(figures.max_fds, -1);
	else
		assert_int_equal(figures.max_fds, (int64_t)limit.rlim_max);
}

static void what_is_open_and_used_is_counted(void **state)
{
	struct process_figures figures;

	(void)state;
	process_read(&figures);
	assert_true(figures.open_fds >= 3);
	assert_true(figures.resident_bytes > 0);
	assert_true(figures.cpu_seconds >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_soft_limit_becomes_the_hard_one),
		cmocka_unit_test(what_is_open_and_used_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
