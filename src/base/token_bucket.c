#include "base/token_bucket.h"

#define TOKEN_MILLI 1000

void token_bucket_init(struct token_bucket *bucket, int64_t per_second, int64_t burst,
		       int64_t now_ms)
{
	*bucket = (struct token_bucket){
		.per_second = per_second,
		.burst = burst,
		.tokens_milli = burst * TOKEN_MILLI,
		.counted_ms = now_ms,
	};
}

bool token_bucket_has(struct token_bucket *bucket, int64_t count, int64_t now_ms)
{
	int64_t full = bucket->burst * TOKEN_MILLI;

	if (bucket->per_second == 0)
		return true;
	bucket->tokens_milli += (now_ms - bucket->counted_ms) * bucket->per_second;
	if (bucket->tokens_milli > full)
		bucket->tokens_milli = full;
	bucket->counted_ms = now_ms;
	return count <= bucket->burst && bucket->tokens_milli >= count * TOKEN_MILLI;
}

bool token_bucket_take(struct token_bucket *bucket, int64_t count, int64_t now_ms)
{
	if (!token_bucket_has(bucket, count, now_ms))
		return false;
	if (bucket->per_second > 0)
		bucket->tokens_milli -= count * TOKEN_MILLI;
	return true;
}

int64_t token_bucket_wait_ms(const struct token_bucket *bucket)
{
	if (bucket->per_second == 0 || bucket->tokens_milli >= TOKEN_MILLI)
		return 0;
	return (TOKEN_MILLI - bucket->tokens_milli + bucket->per_second - 1) / bucket->per_second;
}
