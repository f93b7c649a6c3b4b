/* A token bucket: how many requests may leave, and when the next one may. The caller owns the struct and
 * tells the time (monotonic ms); nothing waits here. */
#ifndef KUBE_RATE_H
#define KUBE_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct kube_rate {
	int64_t per_second;   /* 0: no limit */
	int64_t burst;        /* at least 1 */
	int64_t tokens_milli; /* 1000 are one request */
	int64_t counted_ms;   /* when they were counted */
};

void kube_rate_init(struct kube_rate *rate, int64_t per_second, int64_t burst, int64_t now_ms);
/* Takes a token; false: there is none. */
bool kube_rate_take(struct kube_rate *rate, int64_t now_ms);
/* Until there is one, as of the last take; 0 without a limit. */
int64_t kube_rate_wait_ms(const struct kube_rate *rate);

#endif
