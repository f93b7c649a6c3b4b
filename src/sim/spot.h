/* Interruptions of spot workers. The life of a worker, from its Node on, is drawn from an exponential
 * distribution: interruptions are independent of its age (the model of most studies of spot markets;
 * the providers publish rates per month, not distributions). Its Pod is deleted without notice, its
 * work waits again, and the operator creates another Pod. */
#ifndef SIM_SPOT_H
#define SIM_SPOT_H

#include "sim/world.h"

/* Plans the interruption of a worker that got its Node; nothing for a group without one. */
void spot_plan(struct sim_worker *worker);
void spot_interrupt(struct sim_worker *worker); /* SIM_EVENT_SPOT */

#endif
