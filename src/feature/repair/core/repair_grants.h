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
#include "core/model/snapshot.h"
#include "feature/repair/core/plan_repair.h"

#define REPAIR_GRANT_EXTRA_MS (10 * 60 * MS_PER_SECOND)

/* So many Nodes, or the percentage of those in use: the larger counts. */
int64_t repair_limit(int64_t nodes, int64_t percent, int64_t used);

/* The limit of the pool from which the worker of the Node draws, once. pools NULL: there are none. */
void repair_limits_add(struct repair_node *node, const struct pool_terms *pools,
		       const struct pod *pod, struct arena *arena);

/* The Nodes that count, each once, by pool: a map in an arena, empty at first. */
void repair_counts_add(struct map *counts, const struct repair_node *node);
/* Each of its pools allows one Node more. */
bool repair_counts_allow(struct map *counts, const struct repair_node *node);

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

/* Gives back, and grants up to the limit of the settings. all: one entry for each RayCluster; used: Nodes of their workers.
 * Returns the number of new grants. */
size_t repair_grants_renew(struct repair_grants *grants, const struct repair_asks *const *all,
			   size_t count, const struct settings *settings, int64_t used,
			   int64_t now_ms);
/* The asks that are granted, by Node. */
struct strings repair_grants_of(const struct repair_grants *grants, const struct repair_asks *asks,
				struct arena *arena);
/* The decision can go on with a Node for which it waits. */
bool repair_grants_may_begin(const struct repair_grants *grants, const struct repair_asks *asks);
bool repair_grants_has(const struct repair_grants *grants, const char *node);
void repair_grants_done(struct repair_grants *grants);

#endif
