/* net/work: jobs off the loop, in the order of their starts; cancelling; memory that jobs still read;
 * the end of a loop while a job runs. No test depends on how fast a job is. */
#include "net/work.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/loop.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define JOBS 12
#define WAIT_MS 20000

struct fixture {
	struct loop *loop;
	sem_t gate, running; /* a job posts `running` and waits for `gate`, where it is gated */
	char done[256];      /* names of jobs in the order of their ends */
	size_t left;
	atomic_int busy, busiest;
};

struct task {
	struct fixture *fixture;
	struct work_job *job;
	const char *name;
	bool gated, watches; /* for the gate; for its own cancelling */
	pthread_t thread;
	struct task *then; /* started when it is done */
};

static void note(struct task *task, const char *prefix)
{
	struct fixture *f = task->fixture;
	size_t size = strlen(f->done);

	snprintf(f->done + size, sizeof(f->done) - size, "%s%s ", prefix, task->name);
	if (--f->left == 0)
		loop_stop(f->loop);
}

static void task_run(void *context, const struct work_job *job)
{
	struct task *task = context;
	struct fixture *f = task->fixture;
	int busy = atomic_fetch_add(&f->busy, 1) + 1;

	if (busy > atomic_load(&f->busiest))
		atomic_store(&f->busiest, busy);
	task->thread = pthread_self();
	if (task->gated || task->watches)
		sem_post(&f->running);
	while (task->gated && sem_wait(&f->gate) != 0)
		;
	while (task->watches && !work_is_cancelled(job))
		;
	atomic_fetch_sub(&f->busy, 1);
}

static void task_start(struct task *task);

static void task_done(void *context)
{
	struct task *task = context;

	task->job = NULL;
	if (task->then)
		task_start(task->then);
	note(task, "");
}

static void task_drop(void *context)
{
	struct task *task = context;

	task->job = NULL;
	note(task, "-");
}

static void task_start(struct task *task)
{
	static const struct work_functions functions = { task_run, task_done, task_drop };

	task->job = work_start(task->fixture->loop, &functions, task);
}

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	fixture.loop = loop_new();
	sem_init(&fixture.gate, 0, 0);
	sem_init(&fixture.running, 0, 0);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	sem_destroy(&f->gate);
	sem_destroy(&f->running);
	return 0;
}

static void open_gate(struct fixture *f, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sem_post(&f->gate);
}

static void await_running(struct fixture *f, size_t count)
{
	for (size_t i = 0; i < count; i++)
		while (sem_wait(&f->running) != 0)
			;
}

static void test_a_job_runs_on_another_thread_and_ends_on_the_loop(void **state)
{
	struct fixture *f = *state;
	struct task task = { .fixture = f, .name = "a" };

	f->left = 1;
	task_start(&task);
	assert_string_equal(f->done, ""); /* never in the call */
	loop_run(f->loop);
	assert_string_equal(f->done, "a ");
	assert_false(pthread_equal(task.thread, pthread_self()));
	assert_int_equal(work_count(f->loop), 0);
}

/* All but one of the places are taken, so the others run one after the other. */
static void burning_release(void *memory)
{
	burn();
	free(memory);
}

/* The memory that was kept for a job is not released in one turn. */
static void test_releases_take_turns(void **state)
{
	struct fixture *f = *state;
	struct task task = { .fixture = f, .name = "x" };

	f->left = 1;
	task_start(&task);
	for (size_t i = 0; i < JOBS; i++)
		work_retire(f->loop, burning_release, malloc(1));
	loop_run(f->loop);
	loop_run(f->loop); /* until nothing is left to release */
	assert_in_range(loop_longest_turn_cpu_us(f->loop), BURN_US, 4 * BURN_US);
}

static void test_first_come_first_served(void **state)
{
	static const char *const names[JOBS] = { "0", "1", "2", "3", "4", "5",
						 "6", "7", "8", "9", "a", "b" };
	struct fixture *f = *state;
	struct task blocks[WORK_JOBS_MAX], tasks[JOBS];
	struct task again = { .fixture = f, .name = "again" };
	size_t taken = work_at_once() - 1;

	assert_in_range(taken, 1, WORK_JOBS_MAX - 1);
	for (size_t i = 0; i < taken; i++) {
		blocks[i] = (struct task){ .fixture = f, .name = "block", .gated = true };
		task_start(&blocks[i]);
	}
	await_running(f, taken);
	for (size_t i = 0; i < JOBS; i++) {
		tasks[i] = (struct task){ .fixture = f, .name = names[i] };
		tasks[i].then = i == 0 ? &again : NULL;
		task_start(&tasks[i]);
	}
	assert_int_equal(work_count(f->loop), taken + JOBS);
	f->left = JOBS + 1;
	loop_run(f->loop);
	assert_string_equal(f->done, "0 1 2 3 4 5 6 7 8 9 a b again ");
	assert_int_equal(atomic_load(&f->busiest), taken + 1);
	f->left = SIZE_MAX;
	open_gate(f, taken);
	assert_true(work_stop(f->loop, WAIT_MS)); /* before the tasks go out of scope */
}

static bool one_has_ended(void *context)
{
	return ((struct fixture *)context)->left == SIZE_MAX - 1;
}

static void start_slow(struct task *task, int64_t since_ms)
{
	static const struct work_functions functions = { task_run, task_done, task_drop };

	task->job = work_start_slow(task->fixture->loop, &functions, task, since_ms);
}

/* They take half of the threads, however many there are. */
static void test_slow_jobs_leave_threads_to_the_others(void **state)
{
	struct fixture *f = *state;
	struct task slow[WORK_JOBS_MAX], quick = { .fixture = f, .name = "q" };

	f->left = SIZE_MAX;
	for (size_t i = 0; i < WORK_JOBS_MAX; i++) {
		slow[i] = (struct task){ .fixture = f, .name = "s", .gated = true };
		start_slow(&slow[i], 0);
	}
	task_start(&quick);
	assert_int_equal(work_count(f->loop), WORK_JOBS_MAX + 1);
	assert_int_equal(work_count_quick(f->loop), 1);
	assert_true(loop_wait_until(f->loop, one_has_ended, f, WAIT_MS));
	assert_string_equal(f->done, "q ");
	assert_int_equal(work_count_quick(f->loop), 0);
	open_gate(f, WORK_JOBS_MAX);
	f->left = WORK_JOBS_MAX;
	loop_run(f->loop);
	assert_in_range(atomic_load(&f->busiest), 1, work_slow_at_once() + 1);
}

/* It takes no place of the others, and a second one is not started. */
static void test_a_long_job_delays_no_other(void **state)
{
	static const struct work_functions functions = { task_run, task_done, task_drop };
	struct fixture *f = *state;
	struct task slow = { .fixture = f, .name = "s" }, quick = { .fixture = f, .name = "q" };
	struct task last = { .fixture = f, .name = "l", .gated = true };

	assert_true(work_long_is_free(f->loop));
	last.job = work_start_long(f->loop, &functions, &last);
	await_running(f, 1);
	assert_false(work_long_is_free(f->loop));
	f->left = SIZE_MAX;
	start_slow(&slow, 0);
	assert_true(loop_wait_until(f->loop, one_has_ended, f, WAIT_MS));
	f->left = SIZE_MAX;
	task_start(&quick);
	assert_int_equal(work_count_quick(f->loop), 1);
	assert_true(loop_wait_until(f->loop, one_has_ended, f, WAIT_MS));
	f->left = 1;
	open_gate(f, 1);
	loop_run(f->loop);
	assert_string_equal(f->done, "s q l ");
	assert_true(work_long_is_free(f->loop));
}

/* Quick jobs on all of their threads, beside a long one. */
static void test_a_long_job_runs_beside_all_others(void **state)
{
	static const struct work_functions functions = { task_run, task_done, task_drop };
	struct fixture *f = *state;
	struct task blocks[WORK_JOBS_MAX], last = { .fixture = f, .name = "l" };
	size_t taken = work_at_once() < WORK_JOBS_MAX ? work_at_once() : WORK_JOBS_MAX - 1;

	f->left = SIZE_MAX;
	for (size_t i = 0; i < taken; i++) {
		blocks[i] = (struct task){ .fixture = f, .name = "b", .gated = true };
		task_start(&blocks[i]);
	}
	await_running(f, taken);
	last.job = work_start_long(f->loop, &functions, &last);
	assert_true(loop_wait_until(f->loop, one_has_ended, f, WAIT_MS));
	assert_string_equal(f->done, "l ");
	open_gate(f, taken);
	assert_true(work_stop(f->loop, WAIT_MS));
}

static void test_slow_jobs_run_in_the_order_of_their_input(void **state)
{
	struct fixture *f = *state;
	struct task gated[WORK_JOBS_MAX];
	struct task late = { .fixture = f, .name = "30" }, early = { .fixture = f, .name = "10" };
	struct task middle = { .fixture = f, .name = "20" };
	size_t taken = work_slow_at_once();

	for (size_t i = 0; i < taken; i++) {
		gated[i] = (struct task){ .fixture = f, .name = "g", .gated = true };
		start_slow(&gated[i], 0);
	}
	await_running(f, taken);
	start_slow(&late, 30);
	start_slow(&early, 10);
	start_slow(&middle, 20);
	f->left = 4;
	open_gate(f, 1);
	loop_run(f->loop);
	assert_string_equal(f->done, "g 10 20 30 ");
	f->left = SIZE_MAX;
	open_gate(f, taken);
	assert_true(work_stop(f->loop, WAIT_MS));
}

static void test_a_cancelled_job_that_waits_never_runs(void **state)
{
	struct fixture *f = *state;
	struct task busy[WORK_JOBS_MAX], waits = { .fixture = f, .name = "w", .gated = true };

	f->left = WORK_JOBS_MAX + 1;
	for (size_t i = 0; i < WORK_JOBS_MAX; i++) {
		busy[i] = (struct task){ .fixture = f, .name = "b", .gated = true };
		task_start(&busy[i]);
	}
	task_start(&waits);
	work_cancel(waits.job);
	assert_string_equal(f->done, "-w "); /* at once */
	open_gate(f, WORK_JOBS_MAX);
	loop_run(f->loop);
	assert_null(strstr(f->done + 3, "w"));
}

static void test_a_cancelled_job_that_runs_is_dropped_when_it_ends(void **state)
{
	struct fixture *f = *state;
	struct task runs = { .fixture = f, .name = "r", .gated = true };

	f->left = 1;
	task_start(&runs);
	await_running(f, 1);
	work_cancel(runs.job);
	assert_string_equal(f->done, ""); /* it still reads its own objects */
	open_gate(f, 1);
	loop_run(f->loop);
	assert_string_equal(f->done, "-r ");
}

static void release(void *memory)
{
	(*(int *)memory)++;
}

static void test_memory_is_kept_while_an_earlier_job_runs(void **state)
{
	struct fixture *f = *state;
	struct task first = { .fixture = f, .name = "1", .gated = true };
	struct task second = { .fixture = f, .name = "2", .watches = true };
	int early = 0, between = 0, late = 0;

	work_retire(f->loop, release, &early);
	assert_int_equal(early, 1); /* no job: at once */
	f->left = 1;
	task_start(&first);
	work_retire(f->loop, release, &between);
	task_start(&second);
	work_retire(f->loop, release, &late);
	await_running(f, 2);
	assert_int_equal(between, 0);
	open_gate(f, 1);
	loop_run(f->loop); /* until the first has ended */
	(void)between;
	f->left = 1;
	work_cancel(second.job);
	loop_run(f->loop);
	assert_int_equal(between, 1);
	assert_int_equal(late, 1);
	assert_string_equal(f->done, "1 -2 ");
}

static void test_stopping_cancels_and_awaits_what_runs(void **state)
{
	struct fixture *f = *state;
	struct task runs = { .fixture = f, .name = "r", .watches = true };
	int retired = 0;

	f->left = SIZE_MAX;
	task_start(&runs);
	await_running(f, 1);
	work_retire(f->loop, release, &retired);
	assert_true(work_stop(f->loop, WAIT_MS));
	assert_string_equal(f->done, "-r ");
	assert_int_equal(retired, 1);
	assert_true(work_stop(f->loop, WAIT_MS)); /* again is fine */
}

/* A job that does not ask whether it was cancelled. */
static void test_stopping_has_a_limit(void **state)
{
	struct fixture *f = *state;
	struct task stubborn = { .fixture = f, .name = "s", .gated = true };

	f->left = SIZE_MAX;
	task_start(&stubborn);
	await_running(f, 1);
	/* The limit is over before libuv begins to wait, as on a busy machine. */
	virtual_clock_sleep(20);
	assert_false(work_stop(f->loop, 10));
	assert_string_equal(f->done, "");
	open_gate(f, 1);
	assert_true(work_stop(f->loop, WAIT_MS));
	assert_string_equal(f->done, "-s ");
}

static void test_a_loop_is_freed_while_a_job_runs(void **state)
{
	struct fixture *f = *state;
	struct task runs = { .fixture = f, .name = "r", .watches = true };
	struct task waits[JOBS];

	f->left = SIZE_MAX;
	task_start(&runs);
	await_running(f, 1);
	for (size_t i = 0; i < JOBS; i++) {
		waits[i] = (struct task){ .fixture = f, .name = "w" };
		task_start(&waits[i]);
	}
	loop_free(f->loop);
	assert_non_null(strstr(f->done, "-r "));
	f->loop = loop_new(); /* for teardown */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_job_runs_on_another_thread_and_ends_on_the_loop),
		TEST(test_releases_take_turns),
		TEST(test_first_come_first_served),
		TEST(test_slow_jobs_leave_threads_to_the_others),
		TEST(test_a_long_job_delays_no_other),
		TEST(test_a_long_job_runs_beside_all_others),
		TEST(test_slow_jobs_run_in_the_order_of_their_input),
		TEST(test_a_cancelled_job_that_waits_never_runs),
		TEST(test_a_cancelled_job_that_runs_is_dropped_when_it_ends),
		TEST(test_memory_is_kept_while_an_earlier_job_runs),
		TEST(test_stopping_cancels_and_awaits_what_runs),
		TEST(test_stopping_has_a_limit),
		TEST(test_a_loop_is_freed_while_a_job_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
