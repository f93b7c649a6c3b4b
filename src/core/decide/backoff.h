/* Back-off of groups that bring no capacity: entered on evidence (Pods, events, conditions), doubling,
 * remembered only through memory, ended by time (the next launch is the probe) or by a worker that
 * joined. Sets backed_off, takes_back, raises_held and backoff of the groups, stuck of their workers, and the back-offs of the new
 * memory.
 * Must not take Pods back: that is launch. */
#ifndef CORE_DECIDE_BACKOFF_H
#define CORE_DECIDE_BACKOFF_H

#include "core/decide/situation.h"

/* Ray 2.60, cloud_resource_monitor.py: a type that failed is worth 0 for this long, and as
 * much as ever after RECOVERY. */
#define BACKOFF_FLOOR_MS (10 * MS_PER_SECOND)
#define BACKOFF_RECOVERY_MS (600 * MS_PER_SECOND)

/* Needs workers with obstacles. */
void backoff_update(struct situation *situation);
/* What Ray's scheduler is told of a failing type (ray: recoverable_resource_availabilities and
 * cloud_resource_availabilities); 1.0: never failed. Both are 1.0 again when the back-off is over: its
 * end is the probe, so the group is then the choice that it was before. */
double backoff_recoverable(const struct situation *situation, const struct group *group);
double backoff_recency(const struct situation *situation, const struct group *group);
#endif
