/* Clocks of a test program that runs an event loop: time passes while every thread of the program
 * waits, and then at once. A computation, however slow the machine is, takes next to no time; a timer
 * of a minute takes milliseconds. So a test may have an upper bound on a time.
 *
 * Unit tests are linked with this (VIRTUAL_CLOCK in mk/test.mk) and call the functions of this file
 * instead of those of libc: clock_gettime, and epoll_wait, in which loops wait. A thread that waits in
 * another call waits as long as the machine does. CPU clocks are as they are. While a child process
 * runs, time passes at most as fast as for it.
 *
 * A turn of a loop takes VIRTUAL_CLOCK_TURN_US, and VIRTUAL_CLOCK_EMPTY_TURN_US if it and the one
 * before had no event and did not wait: a loop that never waits does not stop the clocks. While other
 * threads compute, time passes VIRTUAL_CLOCK_SLOWER times slower than for the machine: one that never
 * ends does not stop them either. A thread that reads a clock until it is late does, for itself:
 * virtual_clock_sleep. */
#ifndef TEST_SUPPORT_VIRTUAL_CLOCK_H
#define TEST_SUPPORT_VIRTUAL_CLOCK_H

#include <stdint.h>

#define VIRTUAL_CLOCK_TURN_US 50
#define VIRTUAL_CLOCK_EMPTY_TURN_US 1000
#define VIRTUAL_CLOCK_SLOWER 20

/* How often a loop has begun to wait so far. */
unsigned virtual_clock_waits(void);

/* Does nothing: with a reference to it the linker adds this file. */
void virtual_clock_use(void);

void virtual_clock_sleep(int64_t ms);

/* CLOCK_REALTIME and CLOCK_BOOTTIME are so much later. Timers do not fire by it: the program sees the same as
 * after it was stopped, or the machine slept or was given another time. */
extern _Atomic int64_t jump_wall_s, jump_boot_s;
/* CLOCK_REALTIME is so much later, as if it were read so much later than CLOCK_MONOTONIC. */
extern _Atomic int64_t jump_wall_ms;
void jump_reset(void);

#endif
