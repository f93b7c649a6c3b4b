/* Launches of ours: which of the replicas that have not joined were asked for by this program
 * (memory), and what of them is taken back because nothing needs it or its group is in back-off.
 * What a user, the operator or a quota controller asked for is never cancelled; a back-off takes
 * back every Pod that will not come. Sets removed, missing_taken and actions; writes memory. */
#ifndef CORE_DECIDE_LAUNCH_H
#define CORE_DECIDE_LAUNCH_H

#include "core/decide/situation.h"

/* Of Ray's autoscaler v2: AUTOSCALER_UPDATE_INTERVAL_S. */
#define LAUNCH_ROUND_MS (5 * MS_PER_SECOND)

/* With upscalingMode Conservative: when the present round of launches of the group began, by the memory;
 * TIME_NONE: it is over. See limits_throttle(). */
time_ms launch_round(const struct situation *situation, const struct group *group);
/* Sets ours and others of the groups. Needs workers. */
void launch_recall(struct situation *situation);
/* After packing and terminate: takes back. */
void launch_take_back(struct situation *situation);
/* After target: the new memory's launches. */
void launch_remember(struct situation *situation);

#endif
