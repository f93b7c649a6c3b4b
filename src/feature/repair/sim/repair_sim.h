/* The limit of Nodes under repair over all RayClusters of a simulation, by the same grants as in the controller, which
 * asks every DRAINER_RENEW_MS; here each pass does. */
#ifndef FEATURE_REPAIR_SIM_REPAIR_SIM_H
#define FEATURE_REPAIR_SIM_REPAIR_SIM_H

#include "sim/repair.h"

extern const struct sim_repairing repair_sim;

#endif
