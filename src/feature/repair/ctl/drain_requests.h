/* The DrainRequests of NVSentinel (settings.repair_drain_requests): each is part of the snapshots of the RayClusters
 * with a worker on its Node, and gets the condition DrainComplete when no Pod of a RayCluster is left there that has
 * not ended, heads included. One request to the API server at a time, every DRAIN_REQUESTS_SWEEP_MS while
 * one is not complete; one that failed is sent again by the rule of ctl/report/overload.h, and those that were not sent
 * yet are first. */
#ifndef FEATURE_REPAIR_CTL_DRAIN_REQUESTS_H
#define FEATURE_REPAIR_CTL_DRAIN_REQUESTS_H

#include "base/map.h"
#include "core/model/snapshot.h"
#include "ctl/watch/optional_watch.h"

#define DRAIN_REQUESTS_SWEEP_MS 2000

struct drain_requests {
	const struct control *control;
	struct optional_watch watch;
	bool reads; /* false: not started */
	struct loop_timer *timer;
	bool timer_runs;
	/* The request that completes one. */
	struct kube_call *call;
	char *sent;          /* the key of the one that was sent last */
	struct map attempts; /* by "namespace/name", of open requests that were sent */
};

void drain_requests_start(struct drain_requests *requests, const struct control *control);
void drain_requests_end(struct drain_requests *requests);
/* False: it is a sidecar, or the API server refuses them. */
bool drain_requests_are_read(const struct drain_requests *requests);
/* Adds those whose Nodes have Pods of the snapshot. */
void drain_requests_observe(const struct drain_requests *requests, struct arena *arena,
			    struct snapshot *snapshot);

#endif
