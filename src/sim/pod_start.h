/* How long a Pod takes from its Node to its running Ray container, and from there to the registered
 * raylet: fixed times, or one of a list of times, each as likely as the others, or those that were
 * recorded for the Pods of a group, one after the other: they are of both together. The recorded times contain image pulls and
 * volumes as they happened; the simulation does not know whether a Node has an image. */
#ifndef SIM_POD_START_H
#define SIM_POD_START_H

#include "sim/world.h"

struct pod_start {
	int64_t start_ms, register_ms;
};

/* Called once for each Pod. */
struct pod_start pod_start_draw(const struct sim_worker *worker);

#endif
