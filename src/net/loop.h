/* The one event loop of the program: timers, signals, and "now", read once per turn. The loop owns
 * its timers' handles; the creator of a timer frees it. Callbacks run on the loop's thread, must
 * not block, and must not free the object they were called on. libuv is used only behind this
 * header, except for the modules of net/. */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct arena;
struct loop;
struct loop_timer;
struct loop_signal;

typedef void loop_callback(void *context);

struct loop *loop_new(void);
void loop_run(struct loop *loop);  /* until loop_stop, or nothing is left to wait for */
void loop_stop(struct loop *loop); /* callable from a callback */
void loop_free(struct loop *loop); /* after loop_run returned; all timers must be freed before */

time_ms loop_wall(const struct loop *loop);         /* wall clock at the start of this turn */
int64_t loop_monotonic_ms(const struct loop *loop); /* never decreases; deadlines use this */
/* The same without the time for which turns above 20 ms have held up the loop: for deadlines of a peer,
 * whose answer may wait to be read meanwhile. Never decreases. A difference is never more than that of
 * the clock above; 20 ms of it pass in a turn at least, if the turn takes as long. */
int64_t loop_attended_ms(const struct loop *loop);
/* Read at the time of the call, in the middle of a turn, for code that must not act on a time that
 * has passed since the turn began (a stopped process). Continues while the machine sleeps; not
 * comparable with the above. */
int64_t loop_boot_ms(void);

/* The present monotonic clock, in microseconds from any start: to measure durations within a turn.
 * Not for decisions. */
int64_t loop_precise_us(void);
/* CPU time of the calling thread so far, in microseconds. */
int64_t loop_cpu_us(void);

/* `name`: see loop_step. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_callback *callback, void *context,
				  const char *name);
#define loop_timer_new(loop, callback, context)                                                    \
	loop_timer_new(loop, callback, context, __FILE__ " " #callback)
/* One shot, after_ms from now; starting again replaces. 0: as soon as the callbacks that are due now have
 * run, without a wait; sockets are read in between when such a timer starts itself again. */
void loop_timer_start(struct loop_timer *timer, int64_t after_ms);
/* Unless it runs before that already. */
void loop_timer_start_sooner(struct loop_timer *timer, int64_t after_ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* NULL is fine; safe inside its own callback */

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_callback *callback,
				    void *context);
void loop_signal_free(struct loop_signal *signal);

/* A turn has two parts, timers and sockets. Here is the bound of the callbacks of a part, not in each
 * of them: after 8 ms of CPU time the rest of the part waits for the next turn, which does not wait for
 * events. Timers do so by themselves. Only one callback can be longer, so each one does a bounded piece. */

/* Of a socket, or another source of events: zeroed at first. */
struct loop_place {
	uint64_t round; /* of its last callback */
};

/* At the begin of a callback of a source. False: it returns at once and reads nothing, so that the event
 * comes again in the next turn. A source that has had a callback does not have the next one before all
 * others that are due have had theirs. */
bool loop_enter(struct loop *loop, struct loop_place *place, const char *name);
/* For a callback that does many pieces of work: the rest waits for a timer of 0 ms. */
bool loop_is_spent(const struct loop *loop);
/* The step of the loop from now on, in this turn: for loop_longest_turn_steps. The same pointer for the same
 * name. */
void loop_step(struct loop *loop, const char *name);

/* The longest turn since the start: from one wait for the next event to the next wait, all
 * callbacks in between. The loop handles no other event in that time. Not counted before the first
 * wait. */
int64_t loop_longest_turn_us(const struct loop *loop);
/* The most CPU time of one turn: the time of the callbacks themselves. On a busy machine the time
 * above includes waits for a processor. */
int64_t loop_longest_turn_cpu_us(const struct loop *loop);

/* "NAME 12.3 ms, NAME 4.5 ms": the steps of that turn that took most, by the time of the processor. */
const char *loop_longest_turn_steps(const struct loop *loop, struct arena *arena);

struct uv_loop_s *loop_uv(struct loop *loop); /* only for net/ */
/* Closes the handle of libuv, then frees the memory that begins with it. Only for net/. */
void loop_handle_free(void *handle);

/* The queue of net/work, NULL at first, and what ends its jobs before loop_free. Only for net/work. */
struct loop_work {
	struct work *queue;
	void (*stop)(struct loop *loop);
};
struct loop_work *loop_work(struct loop *loop);
const struct loop_work *loop_work_read(const struct loop *loop);

#endif
