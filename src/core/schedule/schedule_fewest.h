/* --packing=fewest-gpus: a search for launches with fewer GPUs than Ray's policy takes, that serve
 * at least as much. Its work is counted in steps, never in time, so the same problem gives the
 * same answer. Nobody but schedule() calls it. */
#ifndef CORE_SCHEDULE_SCHEDULE_FEWEST_H
#define CORE_SCHEDULE_SCHEDULE_FEWEST_H

#include "core/schedule/schedule.h"

/* For each request, gang and constraint serves what Ray's policy serves, or more, and adds at most
 * the GPU capacity that it adds. Where maxima leave requests over it may launch nothing and serve
 * others, as many and as many GPUs of them. What it chooses, a schedule_trial has confirmed, so that
 * the next decision launches nothing more; where no trial confirms any choice, Ray's stands. */
struct schedule_result *schedule_fewest_gpus(const struct schedule_problem *problem,
					     struct arena *arena);

#endif
