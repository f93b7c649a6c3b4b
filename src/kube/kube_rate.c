#include "kube/kube_rate.h"

#define TOKEN_MILLI 1000

void kube_rate_init(struct kube_rate *rate, int64_t per_second, int64_t burst, int64_t now_ms)
{
	*rate = (struct kube_rate){
		.per_second = per_second,
		.burst = burst,
		.tokens_milli = burst * TOKEN_MILLI,
		.counted_ms = now_ms,
	};
}

bool kube_rate_take(struct kube_rate *rate, int64_t now_ms)
{
	int64_t full = rate->burst * TOKEN_MILLI;

	if (rate->per_second == 0)
		return true;
	rate->tokens_milli += (now_ms - rate->counted_ms) * rate->per_second;
	if (rate->tokens_milli > full)
		rate->tokens_milli = full;
	rate->counted_ms = now_ms;
	if (rate->tokens_milli < TOKEN_MILLI)
		return false;
	rate->tokens_milli -= TOKEN_MILLI;
	return true;
}

int64_t kube_rate_wait_ms(const struct kube_rate *rate)
{
	if (rate->per_second == 0 || rate->tokens_milli >= TOKEN_MILLI)
		return 0;
	return (TOKEN_MILLI - rate->tokens_milli + rate->per_second - 1) / rate->per_second;
}
