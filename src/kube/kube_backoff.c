#include "kube/kube_backoff.h"

#include <sys/random.h>

#define KUBE_BACKOFF_FIRST_MS 500
#define KUBE_BACKOFF_LAST_MS 15000
#define KUBE_RETRY_AFTER_MAX_MS 60000

void kube_backoff_init(struct kube_backoff *backoff)
{
	backoff->attempts = 0;
	if (getrandom(&backoff->random, sizeof(backoff->random), GRND_NONBLOCK) < 0 ||
	    backoff->random == 0)
		backoff->random = (uintptr_t)backoff | 1;
}

void kube_backoff_reset(struct kube_backoff *backoff)
{
	backoff->attempts = 0;
}

static uint64_t kube_backoff_random(struct kube_backoff *backoff)
{
	/* xorshift64 */
	backoff->random ^= backoff->random << 13;
	backoff->random ^= backoff->random >> 7;
	backoff->random ^= backoff->random << 17;
	return backoff->random;
}

int64_t kube_backoff_next_ms(struct kube_backoff *backoff, int64_t retry_after_ms)
{
	int64_t wait_ms = KUBE_BACKOFF_FIRST_MS;

	for (unsigned i = 0; i < backoff->attempts && wait_ms < KUBE_BACKOFF_LAST_MS; i++)
		wait_ms *= 2;
	if (wait_ms > KUBE_BACKOFF_LAST_MS)
		wait_ms = KUBE_BACKOFF_LAST_MS;
	backoff->attempts++;
	wait_ms -= (int64_t)(kube_backoff_random(backoff) % (uint64_t)(wait_ms / 2 + 1));
	if (retry_after_ms > KUBE_RETRY_AFTER_MAX_MS)
		retry_after_ms = KUBE_RETRY_AFTER_MAX_MS;
	return wait_ms > retry_after_ms ? wait_ms : retry_after_ms;
}
