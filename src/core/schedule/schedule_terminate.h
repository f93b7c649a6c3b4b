/* The nodes that a run terminates: those above a maximum and those idle for too long. Follows Ray's
 * _enforce_max_workers_per_type, _enforce_max_workers_global and _enforce_idle_termination
 * (autoscaler/v2/scheduler.py, ray 2.60); a multi-host replica is terminated as a whole. */
#ifndef CORE_SCHEDULE_SCHEDULE_TERMINATE_H
#define CORE_SCHEDULE_SCHEDULE_TERMINATE_H

#include "core/schedule/schedule_run.h"

/* Both put the list into Ray's order for the next phase; nodes are chosen only with
 * problem.terminate_over_max. A chosen node that this run would launch is dropped from the run. */
void schedule_terminate_over_type_max(struct schedule_run *run);
void schedule_terminate_over_max(struct schedule_run *run);
/* Removes the capacity of chosen nodes; they still count against the maxima. */
void schedule_terminate_set_aside(struct schedule_run *run);
void schedule_terminate_idle(struct schedule_run *run);

#endif
