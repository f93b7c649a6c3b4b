/* The DrainRequests of NVSentinel (settings.repair_drain_requests): each is part of the snapshots of the RayClusters
 * with a worker on its Node, and gets the condition DrainComplete when no Pod of a RayCluster is left there that has
 * not ended, heads included, which is looked at every DRAIN_REQUESTS_SWEEP_MS. */
#ifndef FEATURE_REPAIR_CTL_DRAIN_REQUESTS_H
#define FEATURE_REPAIR_CTL_DRAIN_REQUESTS_H

#include "base/map.h"
#include "core/model/snapshot.h"
#include "ctl/report/write_queue.h"
#include "ctl/watch/optional_watch.h"

#define DRAIN_REQUESTS_SWEEP_MS 2000

/* Zero: not started. */
struct drain_requests {
	const struct control *control;
	struct optional_watch watch;
	struct write_queue queue; /* of what completes them */
	struct map open;          /* those that are not complete: struct open_request */
	struct map changed; /* Nodes of those that have changed since the last look at the Pods */
	struct loop_timer *wake; /* the next look */
	/* Nodes with a Pod, as of used_ms. */
	struct arena arena;
	struct map used;
	int64_t used_ms;
};

void drain_requests_start(struct drain_requests *requests, const struct control *control);
void drain_requests_end(struct drain_requests *requests);
/* False: it is a sidecar, or the API server refuses them. */
bool drain_requests_are_read(const struct drain_requests *requests);
/* Adds those whose Nodes have Pods of the snapshot. */
void drain_requests_observe(const struct drain_requests *requests, struct arena *arena,
			    struct snapshot *snapshot);

#endif
