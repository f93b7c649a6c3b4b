/* The variants of one `simulate`: every combination of the values of --vary, and the baselines, as
 * inputs of the simulator. */
#ifndef CLI_SIMULATE_VARIANT_H
#define CLI_SIMULATE_VARIANT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/shared/flags.h"
#include "cli/simulate_row.h"
#include "codec/objects/cluster_set.h"
#include "sim/simulate.h"

/* A simulation takes seconds, and its row one line. */
#define SIMULATE_VARIANTS_MAX 1000
#define SIMULATE_AXES_MAX 16

/* One --vary. */
struct simulate_axis {
	const char *path;
	const char **values;
	size_t count;
};

struct simulate_variant {
	const char *name;          /* "idleTimeoutSeconds=60, packing=ray" */
	const char *const *values; /* of each axis; NULL: a baseline */
	struct sim_input input;
	/* Set by the simulation. */
	struct arena arena; /* of the row */
	struct simulate_row row;
	struct err err; /* kind ERR_NONE: there is a row */
};

struct simulate_plan {
	struct arena *arena;
	const struct cluster_set *set;
	struct sim_input input; /* of the files and flags; its clusters are set for each variant */
	struct simulate_axis axes[SIMULATE_AXES_MAX];
	size_t axis_count;
	const struct price_table *prices; /* of the set; NULL: none */
	bool by_cost;                     /* rows are weighed by their cost */
	struct time_zones *time_zones;    /* of the schedules */
	bool keep_series;                 /* for the page */
	VEC(const char *) notes;          /* for the reader: sentences on the input and the rows */
	VEC(struct simulate_variant) variants;
};

/* Sets a member of the model (pod-start, pod-register, pod-terminate, pod-resize, process-start,
 * scan-interval, ray-pass, seed, policy), or changes the set. -1 names the path. */
int simulate_change(struct sim_input *input, struct cluster_set *set, struct arena *arena,
		    const char *path, const char *value, struct err *err);

/* Parses each PATH=a,b,c. ERR_INPUT, also when there are too many combinations. */
int simulate_axes_parse(struct simulate_plan *plan, const struct flag_values *vary,
			struct err *err);

/* Makes the variants of plan->set: the combinations, the last axis fastest, then one for each
 * baseline ("ray", "always-on"), without the values of --vary. */
int simulate_variants_make(struct simulate_plan *plan, const struct flag_values *baselines,
			   struct err *err);

#endif
