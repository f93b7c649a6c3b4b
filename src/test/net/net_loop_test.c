/* net/loop: timers, signals, and the time, which is constant within an iteration. */
#include "net/loop.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"
#include "test/support/virtual_clock.h"

struct record {
	struct loop *loop;
	struct loop_timer *timer;
	int count, limit;
	int64_t after_ms;
};

static char order[64];
static size_t order_size;

static int setup(void **state)
{
	*state = loop_new();
	order_size = 0;
	return 0;
}

static int teardown(void **state)
{
	loop_free(*state);
	return 0;
}

static void note(void *context)
{
	order[order_size++] = *(const char *)context;
	order[order_size] = '\0';
}

static void test_timers_fire_in_order_and_once(void **state)
{
	struct loop *loop = *state;
	struct loop_timer *a = loop_timer_new(loop, note, "a");
	struct loop_timer *b = loop_timer_new(loop, note, "b");
	struct loop_timer *c = loop_timer_new(loop, note, "c");
	struct loop_timer *stopped = loop_timer_new(loop, note, "x");
	int64_t begin_ms = loop_monotonic_ms(loop);

	loop_timer_start(a, 60);
	loop_timer_start(b, 1);
	loop_timer_start(c, 1000);
	loop_timer_start(c, 30); /* starting again replaces */
	loop_timer_start_sooner(c, 100);
	loop_timer_start_sooner(a, 20);
	loop_timer_start(stopped, 10);
	loop_timer_stop(stopped);
	loop_run(loop); /* ends by itself: nothing is left to wait for */
	assert_string_equal(order, "bac");
	assert_in_range(loop_monotonic_ms(loop) - begin_ms, 30, 900);
	loop_timer_free(a);
	loop_timer_free(b);
	loop_timer_free(c);
	loop_timer_free(stopped);
	loop_timer_free(NULL);
}

static void again(void *context)
{
	struct record *record = context;

	if (++record->count == record->limit) {
		loop_timer_free(record->timer); /* inside its own callback */
		loop_stop(record->loop);
	} else {
		loop_timer_start(record->timer, record->after_ms);
	}
}

static void signalled(void *context)
{
	struct record *record = context;

	record->count++;
	loop_stop(record->loop);
}

/* A timer that always starts itself with 0 (or less) leaves time for the others. */
static void test_zero_does_not_starve(void **state)
{
	struct loop *loop = *state;
	struct record record = { .loop = loop, .limit = INT_MAX, .after_ms = 0 };
	struct record end = { .loop = loop };
	struct loop_timer *other = loop_timer_new(loop, signalled, &end);

	record.timer = loop_timer_new(loop, again, &record);
	loop_timer_start(record.timer, -5);
	loop_timer_start(other, 2);
	loop_run(loop);
	assert_true(record.count > 1);
	assert_int_equal(end.count, 1);
	loop_timer_free(record.timer);
	loop_timer_free(other);
}

/* The loop does not sleep before a timer of 0: also in a chain of 1,000 of them. */
static void test_zero_does_not_sleep(void **state)
{
	struct loop *loop = *state;
	struct record record = { .loop = loop, .limit = 1000, .after_ms = 0 };
	unsigned waits = virtual_clock_waits();

	record.timer = loop_timer_new(loop, again, &record);
	loop_timer_start(record.timer, 0);
	loop_run(loop);
	assert_int_equal(record.count, 1000);
	assert_int_equal(virtual_clock_waits(), waits);
}

static void stop_other(void *context)
{
	struct record *record = context;

	record->count++;
	loop_timer_stop(record->timer);
}

/* Of two that are due in one turn the first stops the second. */
static void test_zero_is_stopped_by_another(void **state)
{
	struct loop *loop = *state;
	struct record records[] = { { .loop = loop }, { .loop = loop } };
	struct loop_timer *first = loop_timer_new(loop, stop_other, &records[0]);
	struct loop_timer *second = loop_timer_new(loop, stop_other, &records[1]);

	records[0].timer = second;
	records[1].timer = first;
	loop_timer_start(first, 0);
	loop_timer_start(second, 0);
	loop_timer_start(first, 0); /* starting again replaces: it is the last one now */
	loop_run(loop);
	assert_int_equal(records[0].count, 0);
	assert_int_equal(records[1].count, 1);
	loop_timer_free(first);
	loop_timer_free(second);
}

static void raise_usr1(void *context)
{
	(void)context;
	assert_int_equal(raise(SIGUSR1), 0);
}

static void test_signal(void **state)
{
	struct loop *loop = *state;
	struct record record = { .loop = loop };
	struct loop_signal *signal = loop_signal_new(loop, SIGUSR1, signalled, &record);
	struct loop_timer *timer = loop_timer_new(loop, raise_usr1, NULL);

	loop_timer_start(timer, 1);
	loop_run(loop);
	assert_int_equal(record.count, 1);
	loop_signal_free(signal);
	loop_signal_free(NULL);
	loop_timer_free(timer);
}

static int64_t wall_now(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000;
}

static void check_times(void *context)
{
	struct loop *loop = context;
	time_ms wall = loop_wall(loop);
	int64_t monotonic = loop_monotonic_ms(loop);

	assert_in_range(wall_now() - wall + 100, 0, 1000);
	virtual_clock_sleep(30); /* a slow callback */
	assert_int_equal(loop_wall(loop), wall);
	assert_int_equal(loop_monotonic_ms(loop), monotonic);
	order[order_size++] = 't';
}

static void test_time_stands_still_within_a_turn(void **state)
{
	struct loop *loop = *state;
	struct loop_timer *first = loop_timer_new(loop, check_times, loop);
	struct loop_timer *second = loop_timer_new(loop, check_times, loop);
	time_ms before = loop_wall(loop);

	loop_timer_start(first, 1);
	loop_timer_start(second, 60);
	loop_run(loop);
	assert_int_equal(order_size, 2);
	assert_true(loop_wall(loop) >= before + 59);
	loop_timer_free(first);
	loop_timer_free(second);
}

/* Between the readings of two clocks the thread may lose its processor for some milliseconds. */
static void test_wall_clock_does_not_go_back_by_reading(void **state)
{
	struct loop *loop = *state;
	time_ms before;

	jump_wall_ms = 100;
	loop_run(loop);
	before = loop_wall(loop);
	for (int late = 4; late >= 0; late--) {
		jump_wall_ms = 100 + late;
		loop_run(loop);
		assert_true(loop_wall(loop) >= before);
		before = loop_wall(loop);
	}
	jump_wall_ms = 0; /* a step */
	loop_run(loop);
	assert_in_range(before - loop_wall(loop), 80, 100);
	jump_reset();
}

static void test_stop_before_run_is_no_hang(void **state)
{
	struct loop *loop = *state;
	struct loop_timer *timer = loop_timer_new(loop, note, "t");

	loop_timer_start(timer, 1);
	loop_stop(loop);
	loop_timer_free(timer);
}

static void burn_some(void *context)
{
	burn();
	note(context);
}

/* Callbacks that are due together: each is short, but not all of them. */
static void test_a_turn_has_no_more_timers_than_time(void **state)
{
	struct loop *loop = *state;
	struct loop_timer *timers[10], *soon[10];
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < SUPPORT_COUNT(timers); i++) {
		timers[i] = loop_timer_new(loop, burn_some, "t");
		soon[i] = loop_timer_new(loop, burn_some, "s");
		loop_timer_start(timers[i], 1);
		loop_timer_start(soon[i], 0);
	}
	loop_run(loop);
	assert_int_equal(order_size, 20);
	assert_in_range(loop_longest_turn_cpu_us(loop), BURN_US, 4 * BURN_US);
	assert_non_null(
		strstr(loop_longest_turn_steps(loop, &arena), "net_loop_test.c burn_some "));
	for (size_t i = 0; i < SUPPORT_COUNT(timers); i++) {
		loop_timer_free(timers[i]);
		loop_timer_free(soon[i]);
	}
}

struct sources {
	struct loop *loop;
	struct loop_timer *timer;
	struct loop_place places[3];
	int turns;
};

/* As sockets that are always ready, in the same order in each turn. */
static void offer(void *context)
{
	struct sources *sources = context;

	for (size_t i = 0; i < SUPPORT_COUNT(sources->places); i++)
		if (loop_enter(sources->loop, &sources->places[i], "source")) {
			order[order_size++] = (char)('a' + i);
			burn();
		}
	order[order_size++] = ' ';
	if (++sources->turns < 7)
		loop_timer_start(sources->timer, 0);
}

static void test_sources_take_turns(void **state)
{
	struct sources sources = { .loop = *state };

	sources.timer = loop_timer_new(sources.loop, offer, &sources);
	loop_timer_start(sources.timer, 0);
	loop_run(sources.loop);
	order[order_size] = 0;
	assert_string_equal(order, "a b c a b c a ");
	loop_timer_free(sources.timer);
}

/* Writing to a closed peer is an error value, not the end of the program. */
static void test_no_sigpipe(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(write(ends[1], "x", 1), -1);
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_timers_fire_in_order_and_once),
		TEST(test_zero_does_not_starve),
		TEST(test_zero_does_not_sleep),
		TEST(test_zero_is_stopped_by_another),
		TEST(test_signal),
		TEST(test_time_stands_still_within_a_turn),
		TEST(test_wall_clock_does_not_go_back_by_reading),
		TEST(test_stop_before_run_is_no_hang),
		TEST(test_a_turn_has_no_more_timers_than_time),
		TEST(test_sources_take_turns),
		TEST(test_no_sigpipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
