/* The limits of GPUPools for Nodes under repair (repair.maxUnavailable): of the Nodes with workers of groups that draw
 * from the pool at most so many are emptied at once. Counted in one decision, and over all RayClusters
 * (repair_grants.h). Pure. O(Pods + Nodes) for the limits of all Nodes. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_LIMITS_H
#define FEATURE_REPAIR_CORE_REPAIR_LIMITS_H

#include "base/map.h"
#include "feature/repair/core/plan_repair.h"

struct snapshot;

/* Sets the limits of the Nodes: those of the pools from which the workers there draw, each once. */
void repair_limits_find(const struct plan_repair *repair, const struct snapshot *snapshot,
			struct arena *arena);

/* The Nodes that count, by pool. */
struct repair_counts {
	struct arena *arena;
	struct map nodes; /* by "pool node" */
	struct map pools; /* int64_t */
};

void repair_counts_init(struct repair_counts *counts, struct arena *arena);
void repair_counts_add(struct repair_counts *counts, const struct repair_node *node);
/* Each of its pools allows one Node more. */
bool repair_counts_allow(struct repair_counts *counts, const struct repair_node *node);

#endif
