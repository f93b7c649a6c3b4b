/* The filter of test/support/confine.h allows the listed calls, and ends a process that makes
 * another one: without this a test under it would show nothing. */
#include "test/support/confine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test/support/support.h"

static const char program[] = "/bin/true";
static char other_program[] = "/bin/true";
static char directory[] = "/tmp/confineXXXXXX";
static char path[64];

static void do_nothing(void)
{
}

static void do_read(void)
{
	char byte;
	int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (file < 0 || read(file, &byte, 1) != 1)
		_exit(1);
}

static void do_talk(void)
{
	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		_exit(1);
}

static void do_start_program(void)
{
	(void)execl(program, program, NULL);
	_exit(1);
}

static void do_write(void)
{
	(void)open(path, O_WRONLY | O_CLOEXEC);
}

static void do_create(void)
{
	(void)open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}

static void do_append(void)
{
	(void)open(path, O_RDWR | O_APPEND | O_CLOEXEC);
}

static void do_nameless(void)
{
	(void)open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void do_remove(void)
{
	(void)unlink(path);
}

static void do_rename(void)
{
	(void)rename(path, directory);
}

static void do_make_directory(void)
{
	(void)mkdir(path, 0700);
}

static void do_start_other_program(void)
{
	(void)execl(other_program, other_program, NULL);
}

static void do_write_code(void)
{
	(void)mprotect((void *)((uintptr_t)path & ~(uintptr_t)4095), 4096,
		       PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void do_look_into_others(void)
{
	(void)syscall(SYS_ptrace, 0, 0, 0, 0);
}

/* The status of a confined child that calls `doing`, as waitpid returns it. */
static int status_of(void (*doing)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		if (confine(program))
			_exit(3);
		doing();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void test_what_is_allowed(void **state)
{
	static void (*const rows[])(void) = { do_nothing, do_read, do_talk, do_start_program };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		int status = status_of(rows[i]);

		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("row %zu: status %d", i, status);
	}
}

static void test_forbidden_calls_end_the_process(void **state)
{
	static void (*const rows[])(void) = {
		do_write,      do_create,           do_append,         do_nameless,
		do_remove,     do_rename,           do_make_directory, do_start_other_program,
		do_write_code, do_look_into_others,
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		int status = status_of(rows[i]);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("row %zu: status %d", i, status);
	}
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_allowed),
		cmocka_unit_test(test_forbidden_calls_end_the_process),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/file", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(directory);
	return failed;
}
