/* Ray's greedy order once more, node by node and request by request, as ray 2.60's
 * autoscaler/v2/scheduler.py has it: to tell a second launch that Ray's own order makes from one that
 * is our own fault. Slow and plain on purpose; shares no code with core/schedule. */
#ifndef TEST_LAWS_GREEDY_H
#define TEST_LAWS_GREEDY_H

#include "core/schedule.h"

/* How many nodes Ray's order launches; -1 when the problem is too large for the arrays here. Nodes that
 * `taken` marks (may be NULL) are no capacity. */
int64_t laws_greedy_launches(const struct schedule_problem *problem, const bool *taken);

#endif
