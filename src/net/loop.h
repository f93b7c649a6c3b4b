/* The one event loop of the program: timers, signals, and "now", read once per turn. The loop owns
 * its timers' handles; the creator of a timer frees it. Callbacks run on the loop's thread, must
 * not block, and must not free the object they were called on. libuv is used only behind this
 * header, except for the modules of net/. */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdint.h>

#include "base/time.h"

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

struct loop_timer *loop_timer_new(struct loop *loop, loop_callback *callback, void *context);
/* One shot, after_ms from now; starting again replaces. 0: as soon as the callbacks that are due now have
 * run, without a wait; sockets are read in between when such a timer starts itself again. */
void loop_timer_start(struct loop_timer *timer, int64_t after_ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* NULL is fine; safe inside its own callback */

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_callback *callback,
				    void *context);
void loop_signal_free(struct loop_signal *signal);

/* The longest turn since the start: from one wait for the next event to the next wait, all
 * callbacks in between. The loop handles no other event in that time. Not counted before the first
 * wait. */
int64_t loop_longest_turn_us(const struct loop *loop);
/* The most CPU time of one turn: the time of the callbacks themselves. On a busy machine the time
 * above includes waits for a processor. */
int64_t loop_longest_turn_cpu_us(const struct loop *loop);

struct uv_loop_s *loop_uv(struct loop *loop); /* only for net/ */
/* Closes the handle of libuv, then frees the memory that begins with it. Only for net/. */
void loop_handle_free(void *handle);

/* The queue of net/work, NULL at first, and what ends its jobs before loop_free. Only for net/work. */
struct loop_work {
	struct work *queue;
	void (*stop)(struct loop *loop);
};
struct loop_work *loop_work(struct loop *loop);

#endif
