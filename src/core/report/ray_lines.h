/* A decision in the words of Ray's own autoscaler: for the output of Ray's drivers and for
 * the log, where Ray's tests and people's scripts look for them. Our reason is a line of its own. Pure;
 * the texts live in the arena. Must not decide. */
#ifndef CORE_REPORT_RAY_LINES_H
#define CORE_REPORT_RAY_LINES_H

#include "core/model/plan.h"
#include "core/model/snapshot.h"

/* Of each group that the plan changes:
 *     Adding 2 node(s) of type gpu-group.
 *     Removing 1 nodes of type gpu-group (idle).
 *     Group gpu-group from 0 to 2 replicas (ScaleUpDemand): 2 pending bundles ...
 * and then what the cluster has afterwards: Resized to 8 CPUs, 2 GPUs. None for a plan that changes no
 * group. O(workers + terminations * log terminations). */
struct strings ray_lines(const struct snapshot *snapshot, const struct plan *plan,
			 struct arena *arena);

#endif
