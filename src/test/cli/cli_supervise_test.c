/* cli/controller/supervise: a worker that dies, a worker that is asked to end, and the end of the parent. */
#include "cli/controller/supervise.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/support.h"

#define RUNS_MAX 8
#define WAIT_MS 20000
#define HOUR_MS 3600000
#define KILLED (-1)   /* the worker kills itself with SIGKILL */
#define OBEDIENT (-2) /* lives until SIGTERM, then ends with status 7 */
#define STUBBORN (-3) /* lives and takes no SIGTERM */
#define A_WHILE (-4)  /* lives for a good run, then as KILLED */
#define OBEDIENT_STATUS 7

static const struct supervise_times quick = { 100, 300, 400, 200 };

/* Shared between the test, the parent and the workers. */
struct stage {
	struct supervise_times times;
	int script[RUNS_MAX]; /* of each run: above, or an exit status */
	atomic_int runs;
	_Atomic int64_t started_ms[RUNS_MAX], ended_ms[RUNS_MAX];
	_Atomic pid_t workers[RUNS_MAX];
	_Atomic int64_t asked_ms[RUNS_MAX]; /* the longest wait of the parent after this run */
	pid_t parent;
	int log; /* output of the parent */
};

/* That of this process, NULL before. */
static struct stage *of_parent;

/* Instead of libc's: for how long the parent asks to wait, which does not depend on the machine. */
int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
	static int (*next)(const sigset_t *set, siginfo_t *info, const struct timespec *limit);
	int64_t ms = limit->tv_sec * 1000 + limit->tv_nsec / 1000000;
	int run;

	if (!next)
		next = (int (*)(const sigset_t *, siginfo_t *,
				const struct timespec *))dlsym(RTLD_NEXT, "sigtimedwait");
	if (of_parent && getpid() == of_parent->parent) {
		run = of_parent->runs - 1;
		if (run < RUNS_MAX && ms > of_parent->asked_ms[run])
			of_parent->asked_ms[run] = ms;
	}
	return next(set, info, limit);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void live_until(int64_t ms, int number)
{
	struct timespec limit = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (sigtimedwait(&set, NULL, &limit) < 0 && errno == EINTR)
		;
}

/* _exit: the worker must not free or check the memory of the test. */
static int work(void *context)
{
	struct stage *stage = context;
	int run = atomic_fetch_add(&stage->runs, 1);

	if (run >= RUNS_MAX)
		_exit(OBEDIENT_STATUS);
	stage->started_ms[run] = now_ms();
	stage->workers[run] = getpid();
	if (stage->script[run] == OBEDIENT) {
		live_until(WAIT_MS, SIGTERM);
		_exit(OBEDIENT_STATUS);
	}
	if (stage->script[run] == STUBBORN) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		sigprocmask(SIG_BLOCK, &set, NULL);
		live_until(WAIT_MS, SIGUSR1);
	}
	if (stage->script[run] == A_WHILE)
		live_until(stage->times.good_run_ms + 50, SIGUSR1);
	stage->ended_ms[run] = now_ms();
	if (stage->script[run] < 0)
		raise(SIGKILL);
	_exit(stage->script[run]);
}

static struct stage *stage_new(const struct supervise_times *times, const int *script, size_t count)
{
	struct stage *stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent;

	assert_true(stage != MAP_FAILED);
	stage->times = *times;
	for (size_t i = 0; i < RUNS_MAX; i++)
		stage->script[i] = i < count ? script[i] : OBEDIENT;
	stage->log = memfd_create("log", 0);
	assert_true(stage->log >= 0);
	parent = fork();
	if (parent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(stage->log, STDERR_FILENO);
		of_parent = stage;
		stage->parent = getpid();
		_exit(supervise(&stage->times, work, stage));
	}
	assert_true(parent > 0);
	stage->parent = parent;
	return stage;
}

#define STAGE(...)                                                                                 \
	stage_new(&quick, (const int[]){ __VA_ARGS__ },                                            \
		  SUPPORT_COUNT(((const int[]){ __VA_ARGS__ })))

struct awaited {
	struct stage *stage;
	int run;
	bool gone;
};

static bool holds(void *context)
{
	const struct awaited *awaited = context;
	pid_t worker = awaited->stage->workers[awaited->run];

	return awaited->gone ? kill(worker, 0) < 0 && errno == ESRCH : worker != 0;
}

static void wait_for(struct stage *stage, int run, bool gone)
{
	struct awaited awaited = { stage, run, gone };

	for (int i = 0; !holds(&awaited); i++) {
		assert_true(i < WAIT_MS);
		(void)poll(NULL, 0, 1);
	}
}

/* Waits for the parent's end; its exit status. Counts the lines of its log. */
static int stage_end(struct stage *stage, int *ret_runs, int *ret_lines)
{
	char text[4096];
	ssize_t size;
	int status = 0;

	assert_int_equal(waitpid(stage->parent, &status, 0), stage->parent);
	size = pread(stage->log, text, sizeof(text), 0);
	*ret_runs = stage->runs;
	*ret_lines = 0;
	for (ssize_t i = 0; i < size; i++)
		*ret_lines += text[i] == '\n';
	close(stage->log);
	munmap(stage, sizeof(*stage));
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int declared_to_end(struct stage *stage, int *ret_runs, int *ret_lines)
{
	kill(stage->parent, SIGTERM);
	return stage_end(stage, ret_runs, ret_lines);
}

static void test_a_worker_that_is_killed_comes_back(void **state)
{
	struct stage *stage = STAGE(KILLED, OBEDIENT);
	int runs, lines;

	(void)state;
	wait_for(stage, 1, false);
	kill(stage->workers[1], SIGKILL); /* by another process */
	wait_for(stage, 2, false);
	assert_int_equal(declared_to_end(stage, &runs, &lines), OBEDIENT_STATUS);
	assert_int_equal(runs, 3);
	assert_int_equal(lines, 2);
}

static void test_worker_that_ends_by_itself_is_restarted(void **state)
{
	/* 0: SIGTERM to the worker alone. 2: a file that could not be read after the restart. */
	struct stage *stage = STAGE(0, 2, 1);
	int runs, lines;

	(void)state;
	wait_for(stage, 3, false);
	assert_int_equal(declared_to_end(stage, &runs, &lines), OBEDIENT_STATUS);
	assert_int_equal(runs, 4);
	assert_int_equal(lines, 3);
}

static void test_wrong_usage_ends_it(void **state)
{
	int runs, lines;

	(void)state;
	assert_int_equal(stage_end(STAGE(2), &runs, &lines), 2);
	assert_int_equal(runs, 1);
	assert_int_equal(lines, 0);
}

static int64_t pause_ms(const struct stage *stage, int run)
{
	return stage->started_ms[run + 1] - stage->ended_ms[run];
}

static void test_back_off_doubles_up_to_its_end(void **state)
{
	struct stage *stage = STAGE(KILLED, KILLED, KILLED, KILLED, KILLED, KILLED);
	int runs, lines;

	(void)state;
	wait_for(stage, 6, false);
	assert_true(pause_ms(stage, 0) >= quick.first_delay_ms);
	assert_true(pause_ms(stage, 1) >= 2 * quick.first_delay_ms);
	for (int run = 2; run < 6; run++) {
		assert_true(pause_ms(stage, run) >= quick.last_delay_ms);
		assert_true(stage->asked_ms[run] <= quick.last_delay_ms);
	}
	(void)declared_to_end(stage, &runs, &lines);
}

static void test_a_good_run_ends_the_back_off(void **state)
{
	struct stage *stage = STAGE(KILLED, KILLED, A_WHILE, A_WHILE, A_WHILE);
	int runs, lines;

	(void)state;
	wait_for(stage, 5, false);
	for (int run = 2; run < 5; run++) {
		assert_true(pause_ms(stage, run) >= quick.first_delay_ms);
		assert_true(stage->asked_ms[run] <= quick.first_delay_ms);
	}
	(void)declared_to_end(stage, &runs, &lines);
}

static void test_a_worker_that_does_not_end_is_killed(void **state)
{
	struct stage *stage = STAGE(STUBBORN);
	int64_t declared_ms;
	pid_t worker;
	int runs, lines;

	(void)state;
	wait_for(stage, 0, false);
	worker = stage->workers[0];
	declared_ms = now_ms();
	assert_int_equal(declared_to_end(stage, &runs, &lines), 128 + SIGKILL);
	assert_true(now_ms() - declared_ms >= quick.end_ms);
	assert_int_equal(runs, 1);
	assert_int_equal(lines, 0);
	assert_true(kill(worker, 0) < 0);
}

static void test_sigterm_between_two_workers(void **state)
{
	/* Longer than a test program may run. */
	static const struct supervise_times slow = { HOUR_MS, HOUR_MS, HOUR_MS, HOUR_MS };
	struct stage *stage = stage_new(&slow, (const int[]){ KILLED }, 1);
	int runs, lines;

	(void)state;
	wait_for(stage, 0, false);
	wait_for(stage, 0, true); /* and reaped */
	assert_int_equal(declared_to_end(stage, &runs, &lines), 0);
	assert_int_equal(runs, 1);
}

static void test_a_worker_does_not_outlive_its_parent(void **state)
{
	struct stage *stage = STAGE(OBEDIENT);
	int status;

	(void)state;
	wait_for(stage, 0, false);
	prctl(PR_SET_CHILD_SUBREAPER,
	      1); /* to see the end of the orphan, whatever process 1 does */
	kill(stage->parent, SIGKILL);
	assert_int_equal(waitpid(stage->parent, &status, 0), stage->parent);
	assert_int_equal(waitpid(stage->workers[0], &status, 0), stage->workers[0]);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(stage->log);
	munmap(stage, sizeof(*stage));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_worker_that_is_killed_comes_back),
		cmocka_unit_test(test_worker_that_ends_by_itself_is_restarted),
		cmocka_unit_test(test_wrong_usage_ends_it),
		cmocka_unit_test(test_back_off_doubles_up_to_its_end),
		cmocka_unit_test(test_a_good_run_ends_the_back_off),
		cmocka_unit_test(test_a_worker_that_does_not_end_is_killed),
		cmocka_unit_test(test_sigterm_between_two_workers),
		cmocka_unit_test(test_a_worker_does_not_outlive_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
