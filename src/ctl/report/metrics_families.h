/* The exposition of the clusters of ctl/report/metrics: by family, as the format requires, those of features behind
 * our own. */
#ifndef CTL_REPORT_METRICS_FAMILIES_H
#define CTL_REPORT_METRICS_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

/* Values that are read at the time of a scrape. */
struct metrics_now {
	bool leader;
	bool view_stale;                   /* of the API server: no worker is removed */
	const struct gpu_share *gpu_share; /* NULL: no GPUs are shared */
	const struct features *features;
	const struct memory_budgets *memory;          /* NULL: no limits */
	int64_t longest_turn_us, longest_turn_cpu_us; /* of the loop */
};

/* Where the exposition continues; zeroed at the beginning. */
struct metrics_cursor {
	size_t family, cluster;
	bool begun; /* the family's header is written */
};

/* Writes the families of METRICS_RAY_TABLE, METRICS_CLUSTER_TABLE and the features from the cursor on,
 * until the buffer has `bytes`; false: they are written. The map's values are struct
 * metrics_cluster. */
bool metrics_families_write(const struct map *clusters, const struct metrics_now *now,
			    struct metrics_cursor *cursor, size_t bytes, struct buf *buf);

#endif
