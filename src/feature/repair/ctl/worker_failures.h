/* The failed workers of one RayCluster, from the watch of Pods: the last WORKER_FAILURES_MAX, each Pod once, with its last
 * failure. A worker that rayscaler ends or drains has not failed. All of it may be lost: a restart keeps the failures
 * with a time of the Pods that are still there. */
#ifndef FEATURE_REPAIR_CTL_WORKER_FAILURES_H
#define FEATURE_REPAIR_CTL_WORKER_FAILURES_H

#include "core/model/name_set.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "feature/repair/model/repair.h"

/* Zero: none. */
struct worker_failures {
	struct worker_failure at[WORKER_FAILURES_MAX];
	struct arena arenas[WORKER_FAILURES_MAX]; /* of each its texts */
	size_t count;
	struct arena arena;
	struct budget *budget;  /* a reference: charged with all of it; NULL: none */
	bool began;             /* there was a decision */
	struct name_set ending; /* Pods that the last decision ends, drains or expects to end */
};

/* Of each decision; reads the first 1,000 Pods of the first one. */
void worker_failures_decided(struct worker_failures *failures, const struct snapshot *snapshot,
			     const struct plan *plan);
/* Of a new version of a worker's Pod. now: of a failure without a time; TIME_NONE: that one does not count. */
void worker_failures_pod_changed(struct worker_failures *failures, const struct pod *old,
				 const struct pod *pod, time_ms now);
/* A copy in the arena. */
const struct worker_failure *worker_failures_copy(const struct worker_failures *failures,
						  struct arena *arena);
void worker_failures_done(struct worker_failures *failures);

#endif
