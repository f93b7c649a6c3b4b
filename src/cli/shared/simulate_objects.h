/* The objects of the files that a feature reads for `simulate`: FEATURE_SIMULATE_OBJECTS. */
#ifndef CLI_SHARED_SIMULATE_OBJECTS_H
#define CLI_SHARED_SIMULATE_OBJECTS_H

#include "base/arena.h"
#include "base/err.h"

struct cluster_set;
struct sim_input;

struct simulate_objects {
	/* Sets its members of the input, in the arena; unchanged without such objects. ERR_INPUT. */
	int (*decode)(const struct cluster_set *set, struct arena *arena, struct sim_input *input,
		      struct err *err);
};

#endif
