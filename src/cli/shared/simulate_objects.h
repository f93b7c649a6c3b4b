/* The objects of the files that a feature reads for `simulate`, and adds to those of `record`:
 * FEATURE_SIMULATE_OBJECTS. */
#ifndef CLI_SHARED_SIMULATE_OBJECTS_H
#define CLI_SHARED_SIMULATE_OBJECTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct cluster_set;
struct connection;
struct ray_cluster;
struct sim_input;

struct simulate_objects {
	/* Sets its members of the input, in the arena; unchanged without such objects. ERR_INPUT. */
	int (*decode)(const struct cluster_set *set, struct arena *arena, struct sim_input *input,
		      struct err *err);
	/* Appends those of the API server that matter for this RayCluster, as YAML documents. NULL: none. -1:
	 * they cannot be read. */
	int (*record)(struct connection *connection, const struct ray_cluster *cluster,
		      struct buf *yaml, struct err *err);
};

#endif
