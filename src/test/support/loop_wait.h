/* Runs the loop until a predicate holds, with a deadline of the virtual clock. */
#ifndef TEST_SUPPORT_LOOP_WAIT_H
#define TEST_SUPPORT_LOOP_WAIT_H

#include <stdbool.h>

#include "net/loop.h"
#include "test/support/virtual_clock.h"

#define LOOP_WAIT_LOOK_MS 50

/* False when the deadline passed first. The predicate may start something. It is called in each turn of the
 * loop before it waits, and every LOOP_WAIT_LOOK_MS for facts of other threads. */
bool loop_wait_until(struct loop *loop, bool (*holds)(void *context), void *context,
		     int64_t within_ms);

/* CPU time, and time of the virtual clock: more than a part of a turn has (net/loop.h). */
#define BURN_US 9000
void burn(void);

#endif
