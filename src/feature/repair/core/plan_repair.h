/* The Nodes under repair of a plan: which have a sign that they are sick, and what is done about it (repair.h). Plain
 * values in the arena of the decision. */
#ifndef FEATURE_REPAIR_CORE_PLAN_REPAIR_H
#define FEATURE_REPAIR_CORE_PLAN_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/name_set.h"

/* X(name, word, behind the message of a worker there) */
#define REPAIR_STATE_TABLE(X)                                                                      \
	/* The sign does not act, by the settings or because the Node takes the Pods. */           \
	X(REPORTED, "Reported", "")                                                                \
	X(DRY_RUN, "DryRun", "; repairDryRun: nothing is done")                                    \
	X(LASTS, "Lasts", "; it acts if it lasts")                                                 \
	X(WAITS, "Waits", "; repair.maxUnavailable: other Nodes are first")                        \
	X(BEGUN, "Begun", ("; " ANNOTATION_DO_NOT_DISRUPT " keeps the worker"))

enum repair_state {
#define X(name, word, note) REPAIR_STATE_##name,
	REPAIR_STATE_TABLE(X)
#undef X
		REPAIR_STATE_COUNT,
};

/* Of a GPUPool from which workers of a Node draw. */
struct repair_limit {
	const char *pool;
	int64_t nodes;
};

enum repair_use { REPAIR_BUSY = 0, REPAIR_IDLE, REPAIR_USE_COUNT };

/* A Node of the snapshot with a sign and workers of the RayCluster. */
struct repair_node {
	const char *node;
	enum repair_state state;
	const char *why; /* "condition SysLogsXIDError: Xid 79" */
	time_ms since;
	int64_t workers;
	/* Not printed. */
	const struct name_set *pods; /* those with a tainted device; NULL: all there */
	int64_t used[REPAIR_USE_COUNT],
		gpus[REPAIR_USE_COUNT]; /* workers, and their GPUs in 1/10000 */
	int64_t drain_ms;               /* the time that Ray gets */
	VEC(struct repair_limit) limits;
	bool begun;         /* the work moves already, by memory or by Ray */
	bool granted;       /* the limits of the RayCluster allow it; of an ask: those of all */
	int64_t granted_ms; /* of an ask: when, monotonic */
	bool asks;          /* the RayCluster may begin, and waits for the limit of the fleet */
};

/* Of a plan. */
struct plan_repair {
	VEC(struct repair_node) nodes; /* by name */
};

#endif
