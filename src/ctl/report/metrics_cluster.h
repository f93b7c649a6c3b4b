/* The clusters of ctl/report/metrics: the summary of each one's last decision
 * (core/report/summary.h) and its counters. A part of struct metrics. Memory per
 * cluster: one block for the summary and METRICS_CLUSTER_BYTES; a unit test counts. */
#ifndef CTL_REPORT_METRICS_CLUSTER_H
#define CTL_REPORT_METRICS_CLUSTER_H

#include "core/report/summary.h"
#include "ctl/report/metrics_text.h"
#include "ctl/shared/cluster_map.h"

#define METRICS_GROUPS_MAX 256 /* groups beyond it are left out */

/* Monotonic, 0: not now. Copied from one decision to the next by group name. */
struct metrics_marks {
	int64_t wanted_since_ms; /* more replicas are wanted */
	int64_t patched_ms;      /* replicas was raised and not all Pods exist */
};

struct metrics_cluster {
	struct cluster_entry of;
	char *session; /* of Ray's last reply; "" before it */
	struct arena arena;
	/* Of the last decision, zeroed before the first: numbers, names and reasons in the arena;
	 * messages are NULL, demand is left out. */
	struct summary summary;
	struct metrics_marks *marks; /* of each group */
	int64_t started, stopped, loop_exceptions, drain_exceptions;
	struct metrics_histogram update_time;
	int64_t scan_interval_ms; /* as of the last pass that ended; 0: none did */
};

/* The condition under which a family is shown. */
enum metrics_need {
	METRICS_SCALED,    /* a cluster that this program scales */
	METRICS_REACHABLE, /* also, Ray was reached by the last decision */
	METRICS_ALWAYS
};

#define METRICS_CLUSTER_BYTES sizeof(struct metrics_cluster)

void metrics_cluster_done(void *one); /* of a struct cluster_map */

/* Replaces the summary by a copy, in one block of its size, and carries the marks over. */
void metrics_cluster_keep(struct metrics_cluster *cluster, const struct summary *summary);
/* The marks of this group, with its summary; NULL when it is absent. */
struct metrics_marks *metrics_cluster_marks(const struct metrics_cluster *cluster,
					    const char *group,
					    const struct summary_group **ret_group);

#endif
