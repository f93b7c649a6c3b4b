/* How long a Pod takes from its Node to its running Ray container: a fixed time, or one of the times
 * that were recorded for real Pods, each as likely as the others. The recorded times contain image
 * pulls and volumes as they happened; the simulation does not know whether a Node has an image. */
#ifndef SIM_POD_START_H
#define SIM_POD_START_H

#include "sim/world.h"

int64_t pod_start_ms(struct sim_world *world);

#endif
