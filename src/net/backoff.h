/* Growing, jittered waits between attempts: first_ms doubling to last_ms, each between half and all
 * of it. Plain data of the owner. Reads no clock; randomness only spreads many programs. */
#ifndef NET_BACKOFF_H
#define NET_BACKOFF_H

#include <stdint.h>

struct backoff {
	int64_t first_ms, last_ms;
	unsigned failures; /* in a row: set to 0 after a success */
};

/* The wait before the next attempt, at least what the server asked for (0: nothing), capped at 60
 * s. Counts a failure. */
int64_t backoff_next_ms(struct backoff *backoff, int64_t retry_after_ms);

/* Random, from 0 to span_ms. */
int64_t backoff_jitter_ms(int64_t span_ms);

#endif
