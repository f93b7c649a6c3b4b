/* Which Nodes under repair may be emptied at once: first those that have begun, then those with the oldest sign, while
 * each limit of a Node allows it. A decision chooses so for its RayCluster (repair.h), and the controller among the Nodes
 * that all decisions ask for: a false sign on every Node empties --repair-fleet-max-unavailable of them, and of a GPUPool
 * those of its repair.maxUnavailable. A granted Node counts as long as a RayCluster asks for it, but not longer
 * than REPAIR_GRANT_EXTRA_MS beyond the deadline of that RayCluster, so that one that is never empty does not hold up
 * others.
 *
 * Pure but for the heap; all of it may be lost. O(asks log asks) for each change. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_GRANTS_H
#define FEATURE_REPAIR_CORE_REPAIR_GRANTS_H

#include "base/map.h"
#include "core/model/snapshot.h"
#include "feature/repair/core/plan_repair.h"

#define REPAIR_GRANT_EXTRA_MS (10 * 60 * MS_PER_SECOND)

/* The limit of the pool from which the worker of the Node draws, once. pools NULL: there are none. */
void repair_limits_add(struct repair_node *node, const struct pool_terms *pools,
		       const struct pod *pod, struct arena *arena);
/* Sets `granted` of those that may begin beside the counted ones, a map in an arena that is empty at first; sorts them.
 * limit: of all Nodes. */
void repair_choose(struct repair_node **nodes, size_t count, int64_t limit, struct map *counts);

/* Copies of the Nodes that one RayCluster empties, or may by its own limit, by name. Zero: none. */
struct repair_asks {
	struct arena arena;
	VEC(struct repair_node) nodes;
};

/* A granted Node remains so while it is asked for. repair NULL: none is. */
void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair);
void repair_asks_done(struct repair_asks *asks);

/* all: one entry for each RayCluster. */
void repair_grants_renew(struct repair_asks *const *all, size_t count, int64_t limit,
			 int64_t now_ms);
/* The Nodes that are granted, in the arena. */
struct strings repair_grants_of(const struct repair_asks *asks, struct arena *arena);
/* The decision can go on with a Node for which it waits. */
bool repair_grants_may_begin(const struct repair_asks *asks);

#endif
