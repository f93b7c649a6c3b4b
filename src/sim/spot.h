/* Interruptions of Nodes. The life of a Node is drawn from an exponential distribution with the mean
 * of its pool: interruptions are independent of its age (the model of most studies of spot markets; the
 * providers publish rates per month, not distributions), so it may be drawn again when a Node gets its
 * first Pod. The Pods on the Node are deleted without notice, their work waits again, and the operator
 * creates other Pods. The pool may add another Node, after its provisioning time. */
#ifndef SIM_SPOT_H
#define SIM_SPOT_H

#include "sim/world.h"

/* Plans the interruption of a ready Node that got its first Pod; nothing where life_ms is 0. */
void spot_plan(struct sim_world *world, size_t pool, size_t node);
void spot_interrupt(struct sim_world *world, uint64_t id); /* SIM_EVENT_SPOT */

#endif
