/* Launches of this program: which of the replicas that are not registered it requested (memory),
 * and which of them are cancelled because no demand needs them or their group is in back-off.
 * Replicas that a user, the operator or a quota controller requested are cancelled only by a
 * back-off, which cancels every Pod that cannot start. Sets removed, missing_taken and actions;
 * writes memory. */
#ifndef CORE_DECIDE_LAUNCH_H
#define CORE_DECIDE_LAUNCH_H

#include "core/decide/choice.h"

/* Sets ours and others of the groups. Needs workers. */
void launch_recall(struct offer *offer);
/* After packing and terminate: cancels launches. */
void launch_cancel(struct choice *choice);
/* After target: the new memory's launches. */
void launch_remember(struct choice *choice);

#endif
