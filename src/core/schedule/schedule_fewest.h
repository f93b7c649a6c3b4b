/* --packing=fewest-gpus: a search for launches that use fewer GPUs than Ray's policy and serve at
 * least as much. Its work is limited in steps, never in time, so the same problem has the same
 * result. Only schedule() calls it. */
#ifndef CORE_SCHEDULE_SCHEDULE_FEWEST_H
#define CORE_SCHEDULE_SCHEDULE_FEWEST_H

#include "core/schedule/schedule.h"

/* Serves at least as much of each request, gang and constraint as Ray's policy, and adds at most as
 * much GPU capacity. Where maxima leave requests over, it may launch nothing and serve other
 * requests, with at least the same number of requests and of GPUs. A schedule_trial has confirmed
 * each choice, so that the next decision launches nothing more; if no trial confirms one, Ray's
 * result is used. */
struct schedule_result *schedule_fewest_gpus(const struct schedule_problem *problem,
					     struct arena *arena);

#endif
