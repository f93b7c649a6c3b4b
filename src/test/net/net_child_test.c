/* net/child: the output of a program and how it ends, its limits, and that it is killed. */
#include "net/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/support/support.h"

#define WAIT_MS 20000

static const char *const environment[] = { "PATH=/usr/bin:/bin", "GREETING=hello", NULL };

struct result {
	struct loop *loop;
	struct child *child;
	int done;
	char output[256];
	size_t size;
	struct err err;
};

static void on_done(void *context, const char *output, size_t size, const struct err *err)
{
	struct result *result = context;

	result->done++;
	result->size = size;
	assert_int_equal(strlen(output), size);
	(void)snprintf(result->output, sizeof(result->output), "%s", output);
	if (err)
		result->err = *err;
	loop_stop(result->loop);
}

static void start(struct result *result, const char *program, const char *script,
		  int64_t deadline_ms)
{
	const char *const arguments[] = { program, "-c", script, NULL };
	struct child_options options = {
		.arguments = arguments,
		.environment = environment,
		.ceiling_bytes = 100,
		.deadline_ms = deadline_ms,
		.done = on_done,
		.context = result,
	};

	*result = (struct result){ .loop = loop_new() };
	result->child = child_start(result->loop, &options, &result->err);
	assert_int_equal(result->done, 0);
}

static void run(struct result *result, const char *script, int64_t deadline_ms)
{
	start(result, "sh", script, deadline_ms);
	assert_non_null(result->child);
	loop_run(result->loop);
	assert_int_equal(result->done, 1);
	loop_free(result->loop);
}

static void test_output(void **state)
{
	struct result result;

	(void)state;
	run(&result, "printf \"$GREETING\"", WAIT_MS);
	assert_int_equal(result.err.kind, ERR_NONE);
	assert_string_equal(result.output, "hello");
	run(&result, ":", WAIT_MS);
	assert_int_equal(result.err.kind, ERR_NONE);
	assert_string_equal(result.output, "");
	run(&result, "printf 1; (sleep 0.1; printf 2) &",
	    WAIT_MS); /* ends before its output does */
	assert_string_equal(result.output, "12");
	run(&result, "printf 1; exec >&-; sleep 0.1", WAIT_MS); /* and the reverse */
	assert_string_equal(result.output, "1");
}

static void test_standard_input_is_empty(void **state)
{
	struct result result;

	(void)state;
	run(&result, "cat; printf end", WAIT_MS);
	assert_string_equal(result.output, "end");
}

static void test_no_open_file_is_handed_down(void **state)
{
	int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
	char script[128];
	struct result result;

	(void)state;
	assert_true(fd > 2);
	(void)snprintf(script, sizeof(script), "test -e /proc/self/fd/%d && printf open; :", fd);
	run(&result, script, WAIT_MS);
	assert_string_equal(result.output, "");
	close(fd);
}

static void test_ends(void **state)
{
	struct result result;

	(void)state;
	run(&result, "printf secret; exit 3", WAIT_MS);
	assert_int_equal(result.err.kind, ERR_INPUT);
	assert_string_equal(result.err.text, "ended with exit status 3");
	assert_string_equal(result.output, "");
	run(&result, "kill -TERM $$", WAIT_MS);
	assert_int_equal(result.err.kind, ERR_INPUT);
	assert_string_equal(result.err.text, "was ended by signal 15");
}

static void test_not_started(void **state)
{
	struct result result;

	(void)state;
	start(&result, "rayscaler-no-such-program", "", WAIT_MS);
	assert_null(result.child);
	assert_int_equal(result.err.kind, ERR_NOT_FOUND);
	loop_free(result.loop);
	start(&result, "/dev/null", "", WAIT_MS);
	assert_null(result.child);
	assert_int_equal(result.err.kind, ERR_INPUT);
	assert_non_null(strstr(result.err.text, "permission denied"));
	loop_free(result.loop);
}

static void test_too_much(void **state)
{
	struct result result;

	(void)state;
	run(&result, "printf '%0100d' 1", WAIT_MS);
	assert_int_equal(result.err.kind, ERR_NONE);
	assert_int_equal(result.size, 100);
	run(&result, "while :; do printf '%0101d' 1; done", WAIT_MS);
	assert_int_equal(result.err.kind, ERR_LIMIT);
	assert_string_equal(result.err.text, "printed more than 100 bytes");
	assert_string_equal(result.output, "");
}

static void test_deadline(void **state)
{
	struct result result;

	(void)state;
	run(&result, "printf 1; exec sleep 1000", 50);
	assert_int_equal(result.err.kind, ERR_TIMEOUT);
	assert_string_equal(result.output, "");
	/* A process that it has started holds the output open: the end of that one is not awaited
	 * either. */
	run(&result, "sleep 3 & :", 50);
	assert_int_equal(result.err.kind, ERR_TIMEOUT);
}

/* No child process is left, not even an unreaped one. */
static void test_a_killed_one_is_reaped(void **state)
{
	char name[] = "/tmp/rayscaler-test-XXXXXX", script[128], text[32] = "";
	int fd = mkstemp(name);
	struct result result;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	(void)snprintf(script, sizeof(script), "echo $$ > %s; printf '%%0101d' 1; exec sleep 1000",
		       name);
	run(&result, script, WAIT_MS);
	assert_int_equal(result.err.kind, ERR_LIMIT);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	pid = (pid_t)strtol(text, NULL, 10);
	assert_true(pid > 1);
	assert_true(kill(pid, 0) < 0 && errno == ESRCH);
	close(fd);
	unlink(name);
}

static void test_cancel(void **state)
{
	struct result result;

	(void)state;
	start(&result, "sh", "exec sleep 1000", WAIT_MS);
	assert_non_null(result.child);
	child_cancel(result.child);
	child_cancel(NULL);
	loop_run(result.loop); /* ends, because nothing is left */
	assert_int_equal(result.done, 0);
	loop_free(result.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_standard_input_is_empty),
		cmocka_unit_test(test_no_open_file_is_handed_down),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_a_killed_one_is_reaped),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
