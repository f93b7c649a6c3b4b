#include "base/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/support.h"

static jmp_buf jump;
static char seen_condition[64], seen_function[64], seen_key[512];
static int seen_line;

static void record(const char *condition, const char *file, int line, const char *function,
		   const char *key)
{
	assert_non_null(strstr(file, "base_check_test.c"));
	snprintf(seen_condition, sizeof(seen_condition), "%s", condition);
	snprintf(seen_function, sizeof(seen_function), "%s", function);
	snprintf(seen_key, sizeof(seen_key), "%s", key);
	seen_line = line;
	longjmp(jump, 1);
}

static void test_true_condition_does_nothing(void **state)
{
	int evaluated = 0;

	(void)state;
	check_hook_set(record);
	CHECK(++evaluated == 1);
	check_hook_set(NULL);
	assert_int_equal(evaluated, 1);
}

static void test_hook_gets_condition_place_and_key(void **state)
{
	volatile int line = 0;

	(void)state;
	check_key_set("default/demo");
	check_hook_set(record);
	if (setjmp(jump) == 0) {
		line = __LINE__ + 1;
		CHECK(1 + 1 == 3);
	}
	assert_string_equal(seen_condition, "1 + 1 == 3");
	assert_string_equal(seen_function, "test_hook_gets_condition_place_and_key");
	assert_string_equal(seen_key, "default/demo");
	assert_int_equal(seen_line, line);
	check_key_set("");
}

static void test_long_key_is_cut(void **state)
{
	char key[1000];

	(void)state;
	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	check_key_set(key);
	check_hook_set(record);
	if (setjmp(jump) == 0)
		CHECK(0);
	assert_int_equal(strlen(seen_key), 255);
	check_key_set("");
}

static void returns(const char *condition, const char *file, int line, const char *function,
		    const char *key)
{
	(void)condition, (void)file, (void)line, (void)function, (void)key;
}

static void fails_itself(const char *condition, const char *file, int line, const char *function,
			 const char *key)
{
	(void)condition, (void)file, (void)line, (void)function, (void)key;
	CHECK(0);
}

/* The signal that ends a process whose CHECK fails with this hook. */
static int signal_of_failure(check_hook *hook)
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		check_hook_set(hook);
		CHECK(0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_failure_always_aborts(void **state)
{
	(void)state;
	assert_int_equal(signal_of_failure(NULL), SIGABRT);
	assert_int_equal(signal_of_failure(returns), SIGABRT);
	assert_int_equal(signal_of_failure(fails_itself), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_true_condition_does_nothing),
		cmocka_unit_test(test_hook_gets_condition_place_and_key),
		cmocka_unit_test(test_long_key_is_cut),
		cmocka_unit_test(test_failure_always_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
