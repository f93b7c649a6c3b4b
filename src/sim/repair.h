/* Nodes under repair, over all RayClusters of a simulation: what the engine tells and asks the feature that grants them
 * (FEATURE_SIM_REPAIRINGS; at most one has it). Without repairs in the pools of Nodes nothing is called. */
#ifndef SIM_REPAIR_H
#define SIM_REPAIR_H

#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "sim/world.h"

struct sim_repairing {
	/* Which Nodes the next decision may begin to empty. */
	void (*observe)(const struct sim_ray *ray, struct arena *arena, struct snapshot *snapshot);
	/* A pass has decided. True when it may begin with a Node now, so that it decides again. */
	bool (*decided)(struct sim_ray *ray, const struct plan *plan);
	void (*done)(struct sim_world *world);
};

#endif
