/* The limit of Nodes under repair over all RayClusters of a controller: a false sign on every Node empties
 * --repair-fleet-max-unavailable of them at once. A decision asks for the Nodes that its own limit allows
 * (repair_node.asks), and begins those that are granted. Granted first are Nodes that a RayCluster has begun to empty,
 * as before a restart, then those with the oldest sign. A Node is given back when no RayCluster asks for it any longer.
 * A GPUPool has a limit of its own, repair.maxUnavailable, of the Nodes with workers of groups that draw from it. One that
 * is granted already, for another RayCluster or by a former limit, counts and continues.
 * A Node counts for REPAIR_GRANT_EXTRA_MS beyond the deadline at most, so that one that is never empty does not hold up others.
 *
 * Pure but for the heap; all of it may be lost. O((asks + grants) log asks) for each change. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_GRANTS_H
#define FEATURE_REPAIR_CORE_REPAIR_GRANTS_H

#include "base/map.h"
#include "core/model/settings.h"
#include "feature/repair/core/plan_repair.h"

#define REPAIR_GRANT_EXTRA_MS (10 * 60 * MS_PER_SECOND)

/* The Nodes that one RayCluster empties, or may by its own limit. Zero: none. */
struct repair_asks {
	struct arena arena;
	struct repair_node *at;
	size_t count;
};

struct repair_grants {
	struct map granted; /* by Node: struct grant */
};

/* Replaces the asks by copies. repair NULL: none. */
void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair);
void repair_asks_done(struct repair_asks *asks);

/* Gives back, and grants up to the limit. all: one entry for each RayCluster. Returns the number of new
 * grants. */
size_t repair_grants_renew(struct repair_grants *grants, const struct repair_asks *const *all,
			   size_t count, int64_t limit, int64_t count_ms, int64_t now_ms);
/* Of the settings, when RayClusters use so many Nodes. */
int64_t repair_fleet_limit(const struct settings *settings, int64_t used_nodes);
/* The asks that are granted, by Node. */
struct strings repair_grants_of(const struct repair_grants *grants, const struct repair_asks *asks,
				struct arena *arena);
/* The decision can go on with a Node for which it waits. */
bool repair_grants_may_begin(const struct repair_grants *grants, const struct repair_asks *asks);
bool repair_grants_has(const struct repair_grants *grants, const char *node);
void repair_grants_done(struct repair_grants *grants);

#endif
