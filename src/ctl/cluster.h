/* One managed RayCluster: when its passes run, and what is kept between two of them (the plan's
 * memory, the RayCluster as our last patch left it, when Ray was last told). All of it may be lost.
 * Owned by ctl/controller. Must not read or decide anything: that is ctl/pass/pass. */
#ifndef CTL_CLUSTER_H
#define CTL_CLUSTER_H

#include "ctl/shared/control.h"

struct cluster;

/* The first pass runs within one scan interval (spread over it by name), or with cluster_wake. */
struct cluster *cluster_new(const struct control *control, const char *namespace_,
			    const char *name);
/* Ends a pass in work; what it has sent may still take effect. NULL is fine. */
void cluster_free(struct cluster *cluster);

/* Something of it changed: a pass soon, not more often than every 100 ms, or than half of an interval
 * that has grown (ctl/queue/pace.h); after one that could not read or write at the API server not before a
 * back-off (0.5 s doubling to 15 s, jittered; Retry-After is obeyed up to 60 s). */
void cluster_wake(struct cluster *cluster);

#endif
