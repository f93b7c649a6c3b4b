/* The values behind /metrics (ctl/report/metrics_table.h): counters of the program, and the summary
 * of the last decision of each cluster (ctl/report/metrics_cluster.h). Owned by ctl/controller. All
 * of it is lost with the process, as Prometheus expects. Decisions must not read it.
 *
 * Every function accepts NULL for `metrics` and does nothing then (unit tests). */
#ifndef CTL_REPORT_METRICS_H
#define CTL_REPORT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/time.h"
#include "ctl/report/metrics_families.h"
#include "ctl/report/metrics_table.h"

/* Limit of label values of one counter; more are counted with the value "other". The values are
 * words of our tables and HTTP codes, so this is never reached. */
#define METRICS_SERIES_MAX 256

struct err;
struct pass_decision;

struct metrics;

/* How a pass over a cluster ended. */
struct metrics_pass {
	double seconds;
	int64_t monotonic_ms;
	const struct act_scaled_list *scaled; /* of the accepted patch; NULL: nothing was patched */
	bool failed;    /* Ray could not be read, or the RayCluster not be patched */
	bool undecided; /* the decision exceeded its CPU time */
	size_t drain_errors;
	int64_t scan_interval_ms; /* until the next one */
};

struct metrics *metrics_new(time_ms start);
void metrics_free(struct metrics *metrics); /* NULL is fine */

/* Increments a counter of METRICS_PROGRAM_TABLE; the values of its labels, "" where it has
 * fewer. */
void metrics_count(struct metrics *metrics, enum metrics_id id, const char *first,
		   const char *second);
/* A duration into a histogram of METRICS_PROGRAM_TABLE; `label` "" where it has none. */
void metrics_duration(struct metrics *metrics, enum metrics_id id, const char *label,
		      double seconds);
/* The same for struct pass_meter and callbacks: `metrics` is a struct metrics. */
void metrics_phase(void *metrics, const char *phase, double seconds);
void metrics_gcs_failed(void *metrics, const struct err *err);

void metrics_pass_ended(struct metrics *metrics, const char *namespace_, const char *name,
			const struct metrics_pass *pass);
/* A listener of passes (ctl/cluster.c): the first decision creates the series of a cluster, its end
 * removes them. `listener` is a struct metrics. */
void metrics_decided(void *listener, const struct pass_decision *decision);
void metrics_forget(void *listener, const char *namespace_, const char *name);
/* The summary that is kept of the cluster at this index, from 0; NULL behind the last. Its lists
 * of groups, resources, unserved demand and conditions have no messages. Valid until the loop
 * turns. */
const struct summary *metrics_summary(const struct metrics *metrics, size_t at,
				      const char **ret_namespace, const char **ret_name);

/* Writes the exposition from the cursor on, until the buffer has `bytes` or soon after, so that
 * thousands of clusters neither block the loop nor fill the memory: clusters may be added and removed
 * between two pieces, and a family may then lack one or have it twice. False: it was the last piece. */
bool metrics_write_piece(const struct metrics *metrics, const struct metrics_now *now,
			 struct metrics_cursor *cursor, size_t bytes, struct buf *buf);
/* All of it. Text beyond the buffer's limit sets buf->overflowed. */
void metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buf *buf);

#endif
