/* Ray's greedy order once more, node by node and request by request, as in ray 2.60's
 * autoscaler/v2/scheduler.py: it separates a second launch that Ray's own order makes from one that
 * is our own fault. Slow and plain on purpose; shares no code with core/schedule/schedule. */
#ifndef TEST_LAWS_GREEDY_H
#define TEST_LAWS_GREEDY_H

#include "core/schedule/schedule.h"

/* Ties that Ray leaves to the order in which nodes and demands reach it, which is that of hash maps. */
enum laws_greedy_ties {
	LAWS_GREEDY_FIRST = 0,
	LAWS_GREEDY_LAST_DEMAND = 1,
	LAWS_GREEDY_LAST_NODE = 2,
	LAWS_GREEDY_TIES = 4, /* how many there are, combined */
};

/* How many nodes Ray's order launches; -1 when the problem is too large for the arrays here. Nodes that
 * `taken` marks (may be NULL) are no capacity. `ties`: LAWS_GREEDY_ flags. */
int64_t laws_greedy_launches(const struct schedule_problem *problem, const bool *taken, int ties);
/* Whether Ray's order places all that the result of the same requests places; what it leaves over is
 * tried as well, in its turn. False when the problem is too large. */
bool laws_greedy_serves(const struct schedule_problem *problem,
			const struct schedule_result *result, int ties);

#endif
