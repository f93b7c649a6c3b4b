/* A token bucket: limits bursts and the average rate, and computes when the next token is
 * available. Plain data of the caller, who also reads the clock (monotonic ms); nothing waits
 * here. */
#ifndef BASE_TOKEN_BUCKET_H
#define BASE_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
	int64_t per_second;   /* 0: no limit; at most 2^31 */
	int64_t burst;        /* 1 to 2^31 */
	int64_t tokens_milli; /* 1000 are one token */
	int64_t counted_ms;   /* when they were counted */
};

/* The bucket starts full. */
void token_bucket_init(struct token_bucket *bucket, int64_t per_second, int64_t burst,
		       int64_t now_ms);
bool token_bucket_has(struct token_bucket *bucket, int64_t count, int64_t now_ms);
/* Takes `count` tokens, or takes none and returns false when there are fewer. */
bool token_bucket_take(struct token_bucket *bucket, int64_t count, int64_t now_ms);
/* Time until one token is available, counted from the last take; 0 without a limit. */
int64_t token_bucket_wait_ms(const struct token_bucket *bucket);

#endif
