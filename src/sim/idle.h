/* A Ray node's idleness, as its raylet reports it, and drains. Source: ray 2.60,
 * src/ray/raylet/scheduling/local_resource_manager.cc (a node is idle since its last resource was
 * released, or since it registered), node_manager.cc HandleDrainRaylet (a drain for idleness is
 * refused while work runs, and a draining node accepts no work), gcs_autoscaler_state_manager.cc
 * (status). Simplified: objects in memory do not keep a node busy, and reports are not delayed. */
#ifndef SIM_IDLE_H
#define SIM_IDLE_H

#include "sim/world.h"

void idle_registered(struct sim_worker *worker);
void idle_work_ended(struct sim_worker *worker);           /* a hold was released */
int64_t idle_duration_ms(const struct sim_worker *worker); /* 0: it has work */
enum ray_node_status idle_status(const struct sim_worker *worker);
bool idle_drain(struct sim_worker *worker); /* false: refused */

#endif
