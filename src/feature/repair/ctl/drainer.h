/* Nodes under repair in the controller: signs of Nodes for the watch of Nodes, the limit of Nodes over all
 * RayClusters, failed workers, DrainRequests, and metrics. Keeps nothing that may not be lost. */
#ifndef FEATURE_REPAIR_CTL_DRAINER_H
#define FEATURE_REPAIR_CTL_DRAINER_H

#include "base/map.h"
#include "core/model/name_set.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "ctl/report/feature.h"
#include "ctl/report/write_queue.h"
#include "ctl/watch/optional_watch.h"
#include "feature/repair/model/repair.h"

#define DRAINER_RENEW_MS 2000 /* while a RayCluster asks for Nodes, or has some */
#define DRAINER_FIRST_MS 3000 /* the first Nodes of the fleet are granted after it */

extern const struct feature repair_feature;

/* ---- DrainRequests (drain_requests.c) ---- */

/* The DrainRequests of NVSentinel (settings.repair_drain_requests): each is part of the snapshots of the RayClusters
 * with a worker on its Node, and gets the condition DrainComplete when none of its Pods of a RayCluster is left there
 * that has not ended, heads included, which is looked at every DRAIN_REQUESTS_SWEEP_MS. Zero: not started. */
struct drain_requests {
	const struct control *control;
	struct optional_watch watch;
	struct write_queue queue; /* of what completes them */
	struct map open;          /* those that are not complete: struct open_request */
	struct map changed; /* Nodes of those that have changed since the last look at the Pods */
	struct loop_timer *look; /* the next one */
};

#define DRAIN_REQUESTS_SWEEP_MS 2000

void drain_requests_start(struct drain_requests *requests, const struct control *control);
void drain_requests_end(struct drain_requests *requests);
/* False: it is a sidecar, or the API server refuses them. */
bool drain_requests_are_read(const struct drain_requests *requests);
/* Adds those whose Nodes have Pods of the snapshot. */
void drain_requests_observe(const struct drain_requests *requests, struct arena *arena,
			    struct snapshot *snapshot);

/* ---- failed workers (worker_failures.c) ---- */

/* The failed workers of one RayCluster, from the watch of Pods: the last WORKER_FAILURES_MAX, each Pod once, with its
 * last failure. A worker that rayscaler ends or drains has not failed. All of it may be lost: a restart keeps the
 * failures with a time of the Pods that are still there. Zero: none. */
struct worker_failures {
	const struct failure_list {
		const struct worker_failure *at;
		size_t count;
	} * list; /* in the arena `texts`; NULL: none */
	struct arena texts, arena;
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
/* Copies of all. */
void worker_failures_observe(const struct worker_failures *failures, struct arena *arena,
			     struct snapshot *snapshot);
void worker_failures_done(struct worker_failures *failures);

#endif
