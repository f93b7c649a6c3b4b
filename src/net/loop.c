#include "net/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <uv.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/list.h"
#include "base/memory.h"

/* Time of the callbacks with one name. */
struct loop_step {
	const char *name;
	uint64_t ns;
};
#define STEPS_MAX 24 /* the last one has all others */
#define STEPS_SHOWN 4

/* Of one turn: in the order of their first callbacks. */
struct loop_steps {
	struct loop_step at[STEPS_MAX];
	size_t count;
};

struct loop {
	uv_loop_t uv;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uv_idle_t soon_handle; /* active while `soon` is not empty: the loop then does not wait */
	struct list soon; /* timers of 0 ms, and those that were due when the turn's time was spent */
	uint64_t soon_turn;
	uint64_t part_ns; /* the first callback of this part of the turn: sockets, or timers; 0: none yet */
	int64_t part_cpu_us;
	uint64_t round; /* of sockets */
	bool left_out;  /* in this turn: a socket that had no callback in this round */
	struct loop_steps steps, longest_steps;
	struct loop_step *step; /* since step_ns; NULL: none, the loop waits */
	uint64_t step_ns;
	uint64_t short_ns; /* of steps since seen_cpu_us */
	int64_t seen_cpu_us;
	int64_t wall_offset_ms; /* wall clock minus libuv's clock */
	struct loop_work work;
	uint64_t turn_ns, idle_ns; /* at the end of the last turn: the time, and all time waited */
	int64_t turn_cpu_us;       /* of the thread, at the end of the last turn */
	uint64_t longest_turn_ns;
	int64_t longest_turn_cpu_us;
	uint64_t held_ns, held_before_ns; /* of all turns above HELD_NS, and at the last wait */
};

/* CPU time of the sockets, or of the timers, after which the rest of them waits for the next turn. */
#define PART_NS (UINT64_C(8) * 1000000)
/* A step that takes longer may have lost its processor: its CPU time counts. */
#define STEP_CLOCK_NS (UINT64_C(1) * 1000000)
/* A turn that takes longer holds up what its peers have sent. */
#define HELD_NS (UINT64_C(20) * 1000000)
#define WALL_READING_NS (UINT64_C(1) * 1000000)
#define WALL_STEP_MS 5

struct loop_timer {
	uv_timer_t uv; /* first, as in loop_signal: freed by loop_handle_free */
	struct loop *loop;
	struct list_item item; /* in loop->soon */
	uint64_t soon_turn;
	const char *name;
	loop_callback *callback;
	void *context;
};

struct loop_signal {
	uv_signal_t uv;
	loop_callback *callback;
	void *context;
};

/* libuv reads only the monotonic clock. The wall clock is that plus an offset, so that both are
 * constant during a turn and agree; a step of the wall clock is seen in the next turn. The clocks are
 * read one after the other, and the thread may lose its processor in between: such a reading does not
 * count, nor a difference below a step, else the wall clock would go back and forth. */
static void loop_read_wall(struct loop *loop)
{
	uint64_t before_ns = uv_hrtime();
	struct timespec now;
	int64_t offset_ms;

	CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
	if (loop->wall_offset_ms != 0 && uv_hrtime() - before_ns >= WALL_READING_NS)
		return;
	offset_ms = (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000 -
		    (int64_t)(before_ns / 1000000);
	if (llabs(offset_ms - loop->wall_offset_ms) >= WALL_STEP_MS)
		loop->wall_offset_ms = offset_ms;
}

/* In this turn so far, without the time waited. */
static uint64_t loop_busy_ns(struct loop *loop)
{
	uint64_t passed_ns = uv_hrtime() - loop->turn_ns;
	uint64_t waited_ns = uv_metrics_idle_time(&loop->uv) - loop->idle_ns;

	return loop->turn_ns > 0 && passed_ns > waited_ns ? passed_ns - waited_ns : 0;
}

/* libuv reads its clock after a wait and before timers: here as well, so that loop_attended_ms never
 * decreases. */
static void loop_count_held(struct loop *loop)
{
	uint64_t busy_ns = loop_busy_ns(loop);

	if (busy_ns <= HELD_NS)
		return;
	loop->held_ns = loop->held_before_ns + busy_ns - HELD_NS;
	uv_update_time(&loop->uv);
}

/* ---- the parts of a turn ---- */

static struct loop_step *loop_find_step(struct loop_steps *steps, const char *name)
{
	struct loop_step *step = steps->at;

	while (step < steps->at + steps->count && step->name != name)
		step++;
	if (step == steps->at + STEPS_MAX)
		return step - 1;
	if (step == steps->at + steps->count)
		steps->at[steps->count++] = (struct loop_step){ .name = name };
	return step;
}

/* Ends the step. Its CPU time is read only if it was long, as that is a system call. */
static uint64_t loop_end_step(struct loop *loop)
{
	uint64_t now_ns = uv_hrtime(), took_ns = now_ns - loop->step_ns;

	loop->short_ns += took_ns;
	if (took_ns >= STEP_CLOCK_NS) {
		int64_t cpu_us = loop_cpu_us();
		uint64_t used_ns = (uint64_t)(cpu_us - loop->seen_cpu_us) * 1000;

		loop->short_ns -= took_ns;
		took_ns = used_ns > loop->short_ns ? used_ns - loop->short_ns : 0;
		loop->short_ns = 0;
		loop->seen_cpu_us = cpu_us;
	}
	if (loop->step)
		loop->step->ns += took_ns;
	loop->step_ns = now_ns;
	return now_ns;
}

void loop_step(struct loop *loop, const char *name)
{
	uint64_t now_ns = loop_end_step(loop);

	loop->step = loop_find_step(&loop->steps, name);
	if (loop->part_ns == 0)
		loop->part_ns = now_ns;
}

static void loop_begin_part(struct loop *loop, int64_t cpu_us)
{
	(void)loop_end_step(loop);
	loop->step = NULL;
	loop->part_ns = 0;
	loop->part_cpu_us = loop->seen_cpu_us = cpu_us;
	loop->short_ns = 0;
}

bool loop_is_spent(const struct loop *loop)
{
	return loop->part_ns > 0 && uv_hrtime() - loop->part_ns >= PART_NS &&
	       (uint64_t)(loop_cpu_us() - loop->part_cpu_us) * 1000 >= PART_NS;
}

bool loop_enter(struct loop *loop, struct loop_place *place, const char *name)
{
	if (place->round == loop->round)
		return false;
	if (loop_is_spent(loop)) {
		loop->left_out = true;
		return false;
	}
	place->round = loop->round;
	loop_step(loop, name);
	return true;
}

static int compare_steps(const void *a, const void *b)
{
	const struct loop_step *one = a, *other = b;

	return (one->ns < other->ns) - (one->ns > other->ns);
}

const char *loop_longest_turn_steps(const struct loop *loop, struct arena *arena)
{
	struct loop_steps steps = loop->longest_steps;
	const char *text = "";

	qsort(steps.at, steps.count, sizeof(steps.at[0]), compare_steps);
	for (size_t i = 0; i < steps.count && i < STEPS_SHOWN; i++)
		text = arena_printf(arena, "%s%s%s %.1f ms", text, i > 0 ? ", " : "",
				    steps.at[i].name, (double)steps.at[i].ns / 1e6);
	return text;
}

/* Callbacks of sockets run before the check handle, those of timers after it: so a turn is the time
 * between two waits, less the time waited. */
static void loop_count_turn(struct loop *loop)
{
	uint64_t busy_ns = loop_busy_ns(loop);
	int64_t cpu_us = loop_cpu_us();

	if (busy_ns > loop->longest_turn_ns)
		loop->longest_turn_ns = busy_ns;
	loop_count_held(loop);
	loop->held_before_ns = loop->held_ns;
	loop_begin_part(loop, cpu_us);
	if (loop->turn_ns > 0 && cpu_us - loop->turn_cpu_us > loop->longest_turn_cpu_us) {
		loop->longest_turn_cpu_us = cpu_us - loop->turn_cpu_us;
		loop->longest_steps = loop->steps;
	}
	loop->steps.count = 0;
	/* In a round that is continued, sockets that had a callback let the others be first. */
	loop->round += !loop->left_out;
	loop->left_out = false;
	loop->turn_cpu_us = cpu_us;
	loop->turn_ns = uv_hrtime();
	loop->idle_ns = uv_metrics_idle_time(&loop->uv);
}

static void loop_on_prepare(uv_prepare_t *handle)
{
	loop_read_wall(handle->data);
	loop_count_turn(handle->data);
}

static void loop_on_check(uv_check_t *handle)
{
	loop_begin_part(handle->data, loop_cpu_us());
	loop_count_held(handle->data);
	loop_read_wall(handle->data);
}

static void loop_call(struct loop_timer *timer)
{
	loop_step(timer->loop, timer->name);
	timer->callback(timer->context);
}

/* Runs after the timers and before the next look at the sockets. Timers that the callbacks start with
 * 0 ms run in the next turn, so one that always starts itself again starves no socket. */
static void loop_on_soon(uv_idle_t *handle)
{
	struct loop *loop = handle->data;
	uint64_t turn = ++loop->soon_turn;
	struct loop_timer *timer;

	do {
		timer = LIST_MEMBER(loop->soon.first, struct loop_timer, item);
		if (!timer || timer->soon_turn == turn)
			break;
		list_remove(&timer->item);
		loop_call(timer);
	} while (!loop_is_spent(loop));
	if (!loop->soon.first)
		CHECK(uv_idle_stop(handle) == 0);
}

struct loop *loop_new(void)
{
	struct loop *loop = memory_alloc(sizeof(*loop));

	/* A peer that closes its socket must give an error from write, not end the program. */
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK(uv_loop_init(&loop->uv) == 0);
	CHECK(uv_loop_configure(&loop->uv, UV_METRICS_IDLE_TIME) == 0);
	CHECK(uv_prepare_init(&loop->uv, &loop->before_poll) == 0);
	CHECK(uv_check_init(&loop->uv, &loop->after_poll) == 0);
	CHECK(uv_idle_init(&loop->uv, &loop->soon_handle) == 0);
	loop->soon_handle.data = loop;
	loop->round = 1; /* a place of all zero has had none */
	loop->before_poll.data = loop;
	loop->after_poll.data = loop;
	CHECK(uv_prepare_start(&loop->before_poll, loop_on_prepare) == 0);
	CHECK(uv_check_start(&loop->after_poll, loop_on_check) == 0);
	uv_unref((uv_handle_t *)&loop->before_poll);
	uv_unref((uv_handle_t *)&loop->after_poll);
	loop_read_wall(loop);
	return loop;
}

void loop_run(struct loop *loop)
{
	loop_read_wall(loop);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	if (loop->work.queue)
		loop->work.stop(loop);
	uv_close((uv_handle_t *)&loop->before_poll, NULL);
	uv_close((uv_handle_t *)&loop->after_poll, NULL);
	uv_close((uv_handle_t *)&loop->soon_handle, NULL);
	/* Runs the close callbacks of handles that were freed before; the first run does nothing
	 * after a loop_stop that was not processed. A handle that is still open (a leak of the
	 * caller) makes uv_loop_close fail. */
	(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
	(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
	CHECK(uv_loop_close(&loop->uv) == 0);
	memory_free(loop);
}

time_ms loop_wall(const struct loop *loop)
{
	return (int64_t)uv_now(&loop->uv) + loop->wall_offset_ms;
}

int64_t loop_monotonic_ms(const struct loop *loop)
{
	return (int64_t)uv_now(&loop->uv);
}

int64_t loop_attended_ms(const struct loop *loop)
{
	return loop_monotonic_ms(loop) - (int64_t)(loop->held_ns / 1000000);
}

int64_t loop_boot_ms(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
	return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000;
}

int64_t loop_cpu_us(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t loop_precise_us(void)
{
	return (int64_t)(uv_hrtime() / 1000);
}

static void loop_start_soon(struct loop_timer *timer)
{
	timer->soon_turn = timer->loop->soon_turn;
	list_add(&timer->loop->soon, &timer->item);
	CHECK(uv_idle_start(&timer->loop->soon_handle, loop_on_soon) == 0);
}

static void loop_on_timer(uv_timer_t *handle)
{
	struct loop_timer *timer = handle->data;

	if (loop_is_spent(timer->loop))
		loop_start_soon(timer);
	else
		loop_call(timer);
}

struct loop_timer *(loop_timer_new)(struct loop *loop, loop_callback *callback, void *context,
				    const char *name)
{
	struct loop_timer *timer = memory_alloc(sizeof(*timer));

	CHECK(uv_timer_init(&loop->uv, &timer->uv) == 0);
	timer->uv.data = timer;
	timer->loop = loop;
	timer->name = name;
	timer->callback = callback;
	timer->context = context;
	return timer;
}

/* libuv 1.44 runs a timer of 0 ms again within the same turn, and one of 1 ms lets the program sleep in
 * between, which costs more than a short callback. */
void loop_timer_start(struct loop_timer *timer, int64_t after_ms)
{
	loop_timer_stop(timer);
	if (after_ms > 0) {
		CHECK(uv_timer_start(&timer->uv, loop_on_timer, (uint64_t)after_ms, 0) == 0);
		return;
	}
	loop_start_soon(timer);
}

void loop_timer_start_sooner(struct loop_timer *timer, int64_t after_ms)
{
	bool runs = uv_is_active((const uv_handle_t *)&timer->uv) != 0;

	if (!timer->item.list && (!runs || after_ms < (int64_t)uv_timer_get_due_in(&timer->uv)))
		loop_timer_start(timer, after_ms);
}

void loop_timer_stop(struct loop_timer *timer)
{
	list_remove(&timer->item);
	CHECK(uv_timer_stop(&timer->uv) == 0);
}

static void loop_on_closed(uv_handle_t *handle)
{
	memory_free(handle);
}

void loop_handle_free(void *handle)
{
	uv_close(handle, loop_on_closed);
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	loop_timer_stop(timer);
	loop_handle_free(timer);
}

static void loop_on_signal(uv_signal_t *handle, int number UNUSED)
{
	struct loop_signal *signal = handle->data;

	signal->callback(signal->context);
}

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_callback *callback,
				    void *context)
{
	struct loop_signal *signal = memory_alloc(sizeof(*signal));

	CHECK(uv_signal_init(&loop->uv, &signal->uv) == 0);
	signal->uv.data = signal;
	signal->callback = callback;
	signal->context = context;
	CHECK(uv_signal_start(&signal->uv, loop_on_signal, number) == 0);
	return signal;
}

void loop_signal_free(struct loop_signal *signal)
{
	if (signal)
		loop_handle_free(signal);
}

int64_t loop_longest_turn_us(const struct loop *loop)
{
	return (int64_t)(loop->longest_turn_ns / 1000);
}

int64_t loop_longest_turn_cpu_us(const struct loop *loop)
{
	return loop->longest_turn_cpu_us;
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
	return &loop->uv;
}

struct loop_work *loop_work(struct loop *loop)
{
	return &loop->work;
}

const struct loop_work *loop_work_read(const struct loop *loop)
{
	return &loop->work;
}
