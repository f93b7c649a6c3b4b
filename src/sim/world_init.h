/* The state of a simulation at its start: its input checked, the RayClusters with their heads, and the shapes of work with
 * the workers that they fit. */
#ifndef SIM_WORLD_INIT_H
#define SIM_WORLD_INIT_H

#include "sim/world.h"

/* Checks the input and makes the RayClusters with their heads, without workers; -1: *err is set. */
int world_init(struct sim_world *world, const struct sim_input *input,
	       const struct sim_resizing *resizing, struct arena *arena, struct arena *result_arena,
	       struct err *err);

#endif
