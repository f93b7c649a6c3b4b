/* Runs the loop until a predicate holds, with a deadline. */
#ifndef TEST_SUPPORT_LOOP_WAIT_H
#define TEST_SUPPORT_LOOP_WAIT_H

#include <stdbool.h>

#include "net/loop.h"

struct loop_wait {
	struct loop *loop;
	struct loop_timer *timer;
	bool (*holds)(void *context);
	void *context;
	int64_t deadline_ms;
	bool held;
};

/* False when the deadline passed first. */
bool loop_wait_until(struct loop *loop, bool (*holds)(void *context), void *context,
		     int64_t within_ms);

#endif
