/* Growing, jittered waits between attempts: 0.5 s doubling to 15 s, each between half and all of
 * it. Plain data, owned by the caller. Reads no clock; randomness only spreads many programs. */
#ifndef KUBE_KUBE_BACKOFF_H
#define KUBE_KUBE_BACKOFF_H

#include <stdint.h>

struct kube_backoff {
	unsigned attempts; /* failures in a row */
	uint64_t random;
};

void kube_backoff_init(struct kube_backoff *backoff);
void kube_backoff_reset(struct kube_backoff *backoff); /* after a success */
/* The wait before the next attempt, at least what the server asked for (0: nothing), capped at 60
 * s. */
int64_t kube_backoff_next_ms(struct kube_backoff *backoff, int64_t retry_after_ms);

#endif
