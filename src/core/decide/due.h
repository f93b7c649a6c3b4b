/* The moment at which a decision would next differ while only the clock changes. Each comparison of
 * core/decide and core/report with the time uses these two functions, which note when the
 * answer changes; plan.next_age_change is the smallest of these moments. */
#ifndef CORE_DECIDE_DUE_H
#define CORE_DECIDE_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct due {
	time_ms now;  /* of the snapshot */
	time_ms next; /* the smallest moment noted; PLAN_NEVER_CHANGES: none */
};

/* The time is `at` or later; if not, `at` is noted. TIME_NONE has always been reached. */
bool due_reached(struct due *due, time_ms at);
/* The time `span_ms` after `since` has been reached: the age is at least the span. An age of more than
 * a span: span_ms + 1. */
bool due_passed(struct due *due, time_ms since, int64_t span_ms);
/* The decision acts: the next one differs at once. */
void due_now(struct due *due);

#endif
