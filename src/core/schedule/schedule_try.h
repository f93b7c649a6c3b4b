/* One pass of requests over the nodes of a run, then over nodes that could be launched: Ray's
 * ResourceDemandScheduler._try_schedule (autoscaler/v2/scheduler.py, ray 2.60). */
#ifndef CORE_SCHEDULE_SCHEDULE_TRY_H
#define CORE_SCHEDULE_SCHEDULE_TRY_H

#include "core/schedule/schedule_run.h"

struct schedule_requests;

struct schedule_try_source {
	enum schedule_phase phase;
	size_t list_index; /* of the constraint */
	bool atomic;       /* all or nothing */
};

/* Per shape of the list, in the run's scratch arena. */
struct schedule_try_left {
	int64_t *counts; /* units not placed; of an atomic try all or none */
	enum schedule_limit *limits;
	size_t *limit_types;
	bool any;
};

/* Places the list and keeps the outcome in the run (nodes, order, launches, limits); an atomic try
 * that leaves units over changes nothing. schedule_classes_make must be called before the first try
 * of a kind. */
struct schedule_try_left schedule_try(struct schedule_run *run,
				      const struct schedule_requests *requests,
				      const struct schedule_try_source *source);

#endif
