#include "net/backoff.h"

#include <sys/random.h>

#define RETRY_AFTER_MAX_MS 60000

int64_t backoff_jitter_ms(int64_t span_ms)
{
	uint32_t random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return (int64_t)((uint64_t)random % (uint64_t)(span_ms + 1));
}

int64_t backoff_next_ms(struct backoff *backoff, int64_t retry_after_ms)
{
	int64_t wait_ms = backoff->first_ms;

	for (unsigned i = 0; i < backoff->failures && wait_ms < backoff->last_ms; i++)
		wait_ms *= 2;
	if (wait_ms > backoff->last_ms)
		wait_ms = backoff->last_ms;
	backoff->failures++;
	wait_ms -= backoff_jitter_ms(wait_ms / 2);
	if (retry_after_ms > RETRY_AFTER_MAX_MS)
		retry_after_ms = RETRY_AFTER_MAX_MS;
	return wait_ms > retry_after_ms ? wait_ms : retry_after_ms;
}
