/* A simulation of RayClusters over time: the work of a workload arrives, Ray places it, decide()
 * scales the worker groups, the operator creates and deletes Pods, Pods start on Nodes. Pure: no
 * I/O, no clock, no random device, no threads; the same input gives the same result, byte by byte.
 * Several simulations may run at once on threads of their own. */
#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

#include "base/arena.h"
#include "base/err.h"
#include "sim/input.h"

void sim_models_init(struct sim_models *models);

/* The result lives in `arena` and points into the input, whose clusters, work and pools are valid as
 * codec/objects reads them. NULL: it cannot be simulated; *err names object, field and fix. Takes O(n log n) for n instances of work, and one decision for each time
 * at which a decision can differ from the one before. */
struct sim_result *simulate(const struct sim_input *input, struct arena *arena, struct err *err);

#endif
