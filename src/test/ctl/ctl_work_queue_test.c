/* ctl/queue/work_queue: the number of passes that start in one loop iteration, their order, and the
 * other work of the loop in between. */
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "ctl/queue/work_queue.h"
#include "net/work.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define WAITERS (3 * TURNS_BEGIN_MAX + 5)
#define WAIT_MS 10000

static struct {
	struct loop *loop;
	struct queue *queue;
	struct turn places[WAITERS];
	unsigned order[2 * WAITERS];
	unsigned begun;
	unsigned batches;         /* moments at which another timer saw that more had begun */
	unsigned seen, largest;   /* at that timer: begun so far, most between two of its runs */
	struct loop_timer *other; /* runs in every iteration */
	unsigned again;           /* this one asks again from inside, once */
	unsigned always;          /* this one each time, until the last one has begun */
	bool last_begun;
} bench;

static void begin(void *context)
{
	unsigned number = (unsigned)(uintptr_t)context;

	assert_false(work_queue_waits(&bench.places[number]));
	bench.order[bench.begun++] = number;
	bench.last_begun |= number == WAITERS - 1;
	if (number == bench.again || (number == bench.always && !bench.last_begun)) {
		bench.again = WAITERS;
		work_queue_ask(bench.queue, &bench.places[number], begin, context);
	}
}

static void look(void *context)
{
	(void)context;
	if (bench.begun > bench.seen)
		bench.batches++;
	if (bench.begun - bench.seen > bench.largest)
		bench.largest = bench.begun - bench.seen;
	bench.seen = bench.begun;
	loop_timer_start(bench.other, 0);
}

static void ask(unsigned number)
{
	work_queue_ask(bench.queue, &bench.places[number], begin, (void *)(uintptr_t)number);
}

static bool nobody_waits(void *context)
{
	(void)context;
	return work_queue_waiting(bench.queue) == 0;
}

static bool the_last_has_begun(void *context)
{
	(void)context;
	return bench.last_begun;
}

static void run(void)
{
	assert_true(loop_wait_until(bench.loop, nobody_waits, NULL, WAIT_MS));
}

static int setup(void **state)
{
	(void)state;
	memset(&bench, 0, sizeof(bench));
	bench.again = bench.always = WAITERS;
	bench.loop = loop_new();
	bench.queue = work_queue_new(bench.loop);
	bench.other = loop_timer_new(bench.loop, look, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	work_queue_free(bench.queue);
	loop_timer_free(bench.other);
	loop_free(bench.loop);
	return 0;
}

static void passes_begin_in_order_on_a_later_turn(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WAITERS; i++)
		ask(i);
	assert_int_equal(bench.begun, 0);
	assert_int_equal(work_queue_waiting(bench.queue), WAITERS);
	run();
	assert_int_equal(bench.begun, WAITERS);
	for (unsigned i = 0; i < WAITERS; i++)
		assert_int_equal(bench.order[i], i);
}

static void timers_run_between_batches_of_passes(void **state)
{
	(void)state;
	loop_timer_start(bench.other, 0);
	for (unsigned i = 0; i < WAITERS; i++)
		ask(i);
	run();
	look(NULL);
	assert_in_range(bench.largest, 1, TURNS_BEGIN_MAX);
	assert_true(bench.batches >= 4);
}

static void second_request_of_a_waiting_cluster_is_ignored(void **state)
{
	(void)state;
	ask(1);
	ask(2);
	ask(1);
	run();
	assert_int_equal(bench.begun, 2);
	assert_int_equal(bench.order[0], 1);
}

static void request_from_a_pass_is_queued_last(void **state)
{
	(void)state;
	bench.again = 0;
	for (unsigned i = 0; i < 3; i++)
		ask(i);
	run();
	assert_int_equal(bench.begun, 4);
	assert_int_equal(bench.order[3], 0);
}

/* It asks again whenever its pass starts: a later one still waits for one round only. */
static void repeated_requests_delay_others_by_one_round(void **state)
{
	unsigned honest = 0;

	(void)state;
	bench.always = 0;
	for (unsigned i = 0; i < WAITERS; i++)
		ask(i);
	for (unsigned i = 1; i < WAITERS; i++) /* asked again before its pass: it keeps its place */
		ask(0);
	assert_true(loop_wait_until(bench.loop, the_last_has_begun, NULL, WAIT_MS));
	for (unsigned i = 0; bench.order[i] != WAITERS - 1; i++)
		honest += bench.order[i] != 0;
	assert_int_equal(honest, WAITERS - 2);
	assert_in_range(bench.begun, WAITERS, 2 * WAITERS - 1);
	bench.always = WAITERS;
	run();
}

static void cancelled_requests_are_not_called(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		ask(i);
	work_queue_leave(&bench.places[0]);
	work_queue_leave(&bench.places[2]);
	work_queue_leave(&bench.places[4]);
	work_queue_leave(&bench.places[4]);
	run();
	assert_int_equal(bench.begun, 2);
	assert_int_equal(bench.order[0], 1);
	assert_int_equal(bench.order[1], 3);
	ask(4);
	run();
	assert_int_equal(bench.order[2], 4);
}

static atomic_bool released;

static void job_run(void *context, const struct work_job *job)
{
	(void)context;
	while (!atomic_load(&released) && !work_is_cancelled(job))
		(void)poll(NULL, 0, 1);
}

static void job_ended(void *context)
{
	++*(unsigned *)context;
}

static bool some_time_has_passed(void *context)
{
	return loop_boot_ms() >= *(int64_t *)context;
}

static bool one_has_begun(void *context)
{
	(void)context;
	return bench.begun > 0;
}

/* The memory of passes whose decisions wait for a thread is bounded. */
static void no_pass_begins_while_many_jobs_wait(void **state)
{
	static const struct work_functions functions = { .run = job_run,
							 .done = job_ended,
							 .drop = job_ended };
	int64_t until_ms = loop_boot_ms() + 10 * TURNS_HELD_MS;
	unsigned ended = 0;

	(void)state;
	atomic_store(&released, false);
	for (unsigned i = 0; i < TURNS_JOBS_MAX; i++)
		(void)work_start(bench.loop, &functions, &ended);
	ask(0);
	assert_true(loop_wait_until(bench.loop, some_time_has_passed, &until_ms, WAIT_MS));
	assert_int_equal(bench.begun, 0);
	/* One that takes no job does not wait for those that do. */
	bench.places[1].small = true;
	ask(1);
	assert_true(loop_wait_until(bench.loop, one_has_begun, NULL, WAIT_MS));
	assert_int_equal(bench.order[0], 1);
	atomic_store(&released, true);
	run();
	assert_int_equal(bench.begun, 2);
	assert_in_range(ended, 1, TURNS_JOBS_MAX);
	assert_true(work_stop(bench.loop, WAIT_MS));
	assert_int_equal(ended, TURNS_JOBS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(passes_begin_in_order_on_a_later_turn, setup,
						teardown),
		cmocka_unit_test_setup_teardown(timers_run_between_batches_of_passes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(second_request_of_a_waiting_cluster_is_ignored,
						setup, teardown),
		cmocka_unit_test_setup_teardown(request_from_a_pass_is_queued_last, setup,
						teardown),
		cmocka_unit_test_setup_teardown(repeated_requests_delay_others_by_one_round, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cancelled_requests_are_not_called, setup, teardown),
		cmocka_unit_test_setup_teardown(no_pass_begins_while_many_jobs_wait, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
