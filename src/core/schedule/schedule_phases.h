/* The phases of Ray's policy, in its order. */
#ifndef CORE_SCHEDULE_SCHEDULE_PHASES_H
#define CORE_SCHEDULE_SCHEDULE_PHASES_H

#include "core/schedule/schedule_run.h"

/* One run of all phases of a problem. The result lives in the arena. A policy
 * with all members false is Ray's. */
struct schedule_result *schedule_phases(const struct schedule_problem *problem,
					const struct schedule_policy *policy, struct arena *arena);

#endif
