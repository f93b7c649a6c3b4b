/* --packing=fewest-gpus and cheapest: a search for launches that cost less than those of Ray's
 * policy and serve at least as much. A node costs its GPUs or its price (schedule_type.cost). Its work is
 * limited in steps, never in time, so the same problem has the same result. */
#ifndef CORE_SCHEDULE_SCHEDULE_CHEAPEST_H
#define CORE_SCHEDULE_SCHEDULE_CHEAPEST_H

#include "core/schedule/schedule_problem.h"

/* Serves at least as much of each request, gang and constraint as Ray's policy, and costs at most
 * as much. Where maxima leave requests over, it may launch nothing and serve other requests, with at
 * least the same number of requests and of GPUs. A trial has confirmed each choice, so that the
 * next decision launches nothing more; if no trial confirms one, Ray's result is used. Within the
 * limit of the search no trial serves as much without one replica of the launches. */
struct schedule_result *schedule_cheapest(const struct schedule_problem *problem,
					  struct arena *arena);

#endif
