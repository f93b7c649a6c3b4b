/* The limit of Nodes under repair over all RayClusters of a controller: a false sign on every Node empties
 * --repair-fleet-max-unavailable of them at once. A decision asks for the Nodes that its own limit allows
 * (repair_node.asks), and begins those that are granted. Granted first are Nodes that a RayCluster has begun to empty,
 * as before a restart, then those with the oldest sign. A Node is given back when no RayCluster asks for it any longer.
 * A GPUPool has a limit of its own, repair.maxUnavailable, of the Nodes with workers of groups that draw from it. One that
 * is granted already, for another RayCluster or by a former limit, counts and continues.
 * A Node counts for REPAIR_GRANT_EXTRA_MS beyond the deadline at most, so that one that is never empty does not hold up others.
 *
 * Pure but for the heap; all of it may be lost. O((asks + grants) log asks) for each change. */
#ifndef FEATURE_REPAIR_CTL_REPAIR_GRANTS_H
#define FEATURE_REPAIR_CTL_REPAIR_GRANTS_H

#include "base/map.h"
#include "base/time.h"

struct plan_repair;
struct snapshot;

#define REPAIR_GRANT_EXTRA_MS (10 * 60 * MS_PER_SECOND)

/* Of a GPUPool. */
struct repair_limit {
	char *pool; /* on the heap */
	int64_t nodes;
};

/* A Node that a RayCluster empties, or may by its own limit. */
struct repair_ask {
	char *node; /* on the heap */
	time_ms since;
	struct repair_limit *limits; /* of pools of its workers, each once; on the heap */
	size_t limit_count;
	bool begun, waits; /* the work moves already; the decision waits for the grant */
};

/* Of one RayCluster, on the heap. */
struct repair_asks {
	struct repair_ask *at;
	size_t count;
};

struct repair_grants {
	struct map granted; /* by Node: struct grant */
};

/* Replaces the asks. repair NULL: none. */
void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair,
		     const struct snapshot *snapshot);
void repair_asks_done(struct repair_asks *asks);

/* Gives back, and grants up to the limit. all: one entry for each RayCluster. Returns the number of new
 * grants. */
size_t repair_grants_renew(struct repair_grants *grants, const struct repair_asks *const *all,
			   size_t count, int64_t limit, int64_t count_ms, int64_t now_ms);
bool repair_grants_has(const struct repair_grants *grants, const char *node);
void repair_grants_done(struct repair_grants *grants);

#endif
