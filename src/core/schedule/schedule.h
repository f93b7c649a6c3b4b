/* The packing of demand on nodes: the phases of Ray's v2 ResourceDemandScheduler (ray 2.60,
 * autoscaler/v2/scheduler.py) on plain data, computed arithmetically for runs of equal requests and
 * equal nodes. Pure. Independent of Pods, replicas, drains and patches: those belong to decide. */
#ifndef CORE_SCHEDULE_SCHEDULE_H
#define CORE_SCHEDULE_SCHEDULE_H

#include "core/schedule/schedule_problem.h"

struct schedule_result *schedule(const struct schedule_problem *problem, struct arena *arena);

/* Whether one bundle fits an empty node: resources and selectors. Separates infeasible from
 * unserved. */
bool schedule_fits_empty(const struct ray_request *request, const struct resources *total,
			 const struct labels *labels);

/* Whether the gang would fit an empty cluster: the head (if any) and every type at its maximum,
 * without holds, budget and pools. */
bool schedule_gang_possible(const struct schedule_problem *problem, const struct ray_gang *gang,
			    struct arena *arena);

#endif
