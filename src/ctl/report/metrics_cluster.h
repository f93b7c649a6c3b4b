/* The clusters of ctl/report/metrics: the figures of each one's last decision
 * (ctl/report/figures.h), its counters, and their exposition. A part of struct metrics. Memory per
 * cluster: one block of figures and METRICS_CLUSTER_BYTES; a unit test counts. */
#ifndef CTL_REPORT_METRICS_CLUSTER_H
#define CTL_REPORT_METRICS_CLUSTER_H

#include "base/buf.h"
#include "base/map.h"
#include "ctl/report/figures.h"
#include "ctl/report/metrics.h"
#include "ctl/report/metrics_text.h"

struct metrics_cluster {
	char *namespace_, *name;
	char *session; /* of Ray's last reply; "" before it */
	struct arena arena;
	struct figures *figures;
	uint64_t started, stopped, loop_exceptions, drain_exceptions;
	struct metrics_histogram update_time;
	int64_t scan_interval_ms; /* as of the last pass that ended; 0: none did */
};

#define METRICS_CLUSTER_BYTES sizeof(struct metrics_cluster)

struct metrics_cluster *metrics_cluster_new(const char *namespace_, const char *name);
void metrics_cluster_free(struct metrics_cluster *cluster);

/* Replaces the figures with figures_of(snapshot, plan, old ones), in one block of their size. */
void metrics_cluster_keep(struct metrics_cluster *cluster, const struct snapshot *snapshot,
			  const struct plan *plan, const struct figures *marks, size_t bytes);

/* Writes one family of METRICS_RAY_TABLE and METRICS_CLUSTER_TABLE; false behind the last. The
 * map's values are struct metrics_cluster. */
bool metrics_clusters_write_part(const struct map *clusters, const struct metrics_now *now,
				 size_t part, struct buf *buf);

#endif
