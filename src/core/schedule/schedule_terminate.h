/* Which nodes of a run go: those above a maximum and those idle for too long. Follows Ray's
 * _enforce_max_workers_per_type, _enforce_max_workers_global and _enforce_idle_termination
 * (autoscaler/v2/scheduler.py, ray 2.60); a replica of several hosts goes as a whole or stays. */
#ifndef CORE_SCHEDULE_SCHEDULE_TERMINATE_H
#define CORE_SCHEDULE_SCHEDULE_TERMINATE_H

#include "core/schedule/schedule_run.h"

/* Both put the list into the order in which Ray goes on; nodes are chosen only with
 * problem.terminate_over_max. A chosen node that was to be launched in this run leaves the run. */
void schedule_terminate_over_type_max(struct schedule_run *run);
void schedule_terminate_over_max(struct schedule_run *run);
/* What was chosen takes nothing any more; it still holds its place below the maxima. */
void schedule_terminate_set_aside(struct schedule_run *run);
void schedule_terminate_idle(struct schedule_run *run);

#endif
