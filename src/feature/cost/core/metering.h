/* GPU time of one RayCluster by group and state, with its cost, summed from decision to decision. A
 * sum grows by the GPUs of the last decision times the time since, by the monotonic clock, so that a
 * step of the wall clock changes nothing. Pure; owns its memory.
 *
 * The sums outlive the process in the status of the RayClusterAutoscaler (struct
 * autoscaler_metering), with the time until which they count. `stored` are the sums that were read
 * from there: metrics show only these, so a kill between two writes cannot take back, and count
 * again, a value that was shown. The first decision of a process raises the sums to the stored ones
 * and adds the time since then for each Pod that existed (METERING_GAP_MAX_MS at most), in its
 * present state. GPUs of Pods that ended in between are not counted.
 *
 * A Pod counts from its Node on until it has finished or is deleted. Not for a cluster that is not
 * scaled. */
#ifndef FEATURE_COST_CORE_METERING_H
#define FEATURE_COST_CORE_METERING_H

#include "base/arena.h"
#include "core/model/plan.h"
#include "core/model/price.h"
#include "core/model/snapshot.h"
#include "core/report/summary.h"

struct nodes;

/* GPU time of further groups counts for the group METERING_OTHER. */
#define METERING_GROUPS_MAX 100
#define METERING_OTHER "other"
#define METERING_GAP_MAX_MS (24 * INT64_C(3600000))
/* Limit on GPUs of one group, in 1/10000: Ray's figures come from the cluster. */
#define METERING_GPUS_MAX (INT64_C(1000000) * RESOURCE_UNIT)

enum metering_state {
	METERING_USED = 0,
	METERING_IDLE,      /* in Ray, and not used */
	METERING_REQUESTED, /* the same, of a worker that request_resources of Ray's SDK alone keeps */
	METERING_STARTING,
	METERING_TERMINATING,
	METERING_STATE_COUNT
};

struct autoscaler_metering_group {
	const char *name;
	int64_t gpu_seconds[METERING_STATE_COUNT];
	int64_t cost_micros;
	int64_t requested_micros; /* of it, the part in METERING_REQUESTED */
};

/* The sums in the status of a RayClusterAutoscaler; one that was read may have any values. */
struct autoscaler_metering {
	const char *cluster_uid; /* sums of an earlier RayCluster of this name do not count */
	time_ms since, until;    /* TIME_NONE when absent */
	const char *currency;    /* "" without prices: then costs are 0 */
	const char *gpus;        /* now */
	int64_t cost_per_hour_micros;
	int64_t today_gpu_seconds, today_cost_micros; /* of the UTC day of `until` */
	const struct autoscaler_metering_group *groups;
	size_t group_count;
};

/* whole + rest / unit; never decreases. */
struct metering_sum {
	int64_t whole, rest;
};

struct metering_group {
	char *name;
	int64_t gpus[METERING_STATE_COUNT]; /* now, 1/10000 */
	/* Of its last worker; 0 without a price. Workers of a removed group keep it. */
	int64_t micros_per_gpu_hour;
	/* Now: the sum of 1/10000 GPU times millionths per GPU-hour, and the part in METERING_REQUESTED. */
	__int128 cost_rate, requested_rate;
	struct metering_sum seconds[METERING_STATE_COUNT], cost, requested_cost;
	int64_t stored_seconds[METERING_STATE_COUNT], stored_cost;
};

struct metering {
	struct metering_group *groups; /* those that have or had GPUs, in the order of their first */
	size_t group_count;
	bool started;         /* a decision was counted */
	bool counts;          /* `gpus` is valid since at_ms */
	int64_t at_ms;        /* monotonic */
	time_ms since;        /* the first decision ever */
	time_ms until;        /* of the last decision, by the wall clock */
	const char *currency; /* of the price table; NULL: no prices */
	bool in_memory; /* sidecar mode: there is no object, metrics show the sums themselves */
	struct metering_sum today_seconds, today_cost; /* of the UTC day of `until` */
};

void metering_done(struct metering *metering);

/* Prices of a count. */
struct metering_prices {
	const struct price_table *table; /* NULL: no cost; else it outlives the metering */
	/* The labels of a Node that prices depend on, which live as long as the call; NULL: they are
	 * unknown. Not set: those of all Nodes are. */
	const struct labels *(*node_labels)(const struct nodes *nodes, const char *name);
	const struct nodes *nodes;
};

/* After each decision. A worker has the price of its Node; if that is unknown, of its template. */
void metering_count(struct metering *metering, const struct snapshot *snapshot,
		    const struct plan *plan, const struct summary *summary,
		    const struct metering_prices *prices, int64_t monotonic_ms);

/* Of metrics: GPU-seconds, and millionths of the currency. */
int64_t metering_seconds_shown(const struct metering *metering, const struct metering_group *group,
			       enum metering_state state);
int64_t metering_cost_shown(const struct metering *metering, const struct metering_group *group);
/* For the status: the sums now; NULL when the cluster never had GPUs, and for NULL. Lives in
 * the arena and points into the arguments. */
const struct autoscaler_metering *metering_status(const struct metering *metering,
						  const char *cluster_uid, struct arena *arena);

const char *metering_state_name(enum metering_state state); /* "used", "idle", ... */

#endif
