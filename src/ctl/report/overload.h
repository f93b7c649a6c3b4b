/* When a write that failed is sent again. Which cluster waits after a Retry-After of the API server, and when all of
 * them do. API priority and
 * fairness, and admission plugins such as EventRateLimit, refuse by flow: one namespace may be above its
 * share while the others are not. So an answer delays its own cluster, which the caller does; all
 * clusters wait only when a second namespace gets such an answer while the first one still waits.
 * Namespaces are compared, not clusters: one tenant may have many clusters.
 * Plain data; owned by each writer of ctl/report. */
#ifndef CTL_REPORT_OVERLOAD_H
#define CTL_REPORT_OVERLOAD_H

#include <stdint.h>

#include "base/err.h"

#define OVERLOAD_REFUSED_MS 60000

struct overload {
	uint64_t namespace_;       /* the hash of the one that was refused last */
	int64_t until_ms;          /* it waits; monotonic, here and below */
	int64_t all_not_before_ms; /* nothing is sent for any cluster */
};

#define OVERLOAD_INIT                                                                              \
	{                                                                                          \
		.until_ms = INT64_MIN, .all_not_before_ms = INT64_MIN                              \
	}

/* The time until the next try, one rule for statuses and Pods. After a conflict 1 s: the watch brings the version of the
 * other writer. After a refusal, for missing rights or an invalid object, OVERLOAD_REFUSED_MS: a person has to act.
 * After any other error 5 s. Never before the Retry-After of the API server; 0: it sent none. */
int64_t overload_retry_ms(const struct err *err, int64_t retry_after_ms);
/* A request for a cluster of this namespace was answered with a Retry-After, above 0. */
void overload_refused(struct overload *overload, const char *namespace_, int64_t now_ms,
		      int64_t retry_after_ms);

#endif
