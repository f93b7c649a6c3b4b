/* In-place resize: what the engine tells the feature that carries it out (FEATURE_SIM_RESIZINGS; at most one has it).
 * Without it no plan has a resize. */
#ifndef SIM_RESIZE_H
#define SIM_RESIZE_H

#include "core/model/plan.h"
#include "sim/world.h"

struct sim_resizing {
	/* The setting. */
	void (*enable)(struct settings *settings);
	bool (*enabled)(const struct settings *settings);
	/* Carries out the resizes of a plan. */
	void (*plan)(struct sim_ray *ray, const struct plan *plan);
	/* SIM_EVENT_RESIZE: the container has its new size; false: the event is stale. */
	bool (*is_due)(const struct sim_worker *worker, uint64_t id);
	void (*applied)(struct sim_worker *worker);
	/* A Node may have more room. */
	void (*retry)(struct sim_world *world);
	/* The Pod has ended. */
	void (*release)(struct sim_worker *worker);
};

#endif
