/* One managed RayCluster: the schedule of its passes and the state between two of them (the plan's
 * memory, the RayCluster as our last patch left it, the time of the last report to Ray). All of it
 * may be lost. Owned by ctl/controller. Must not read or decide anything: that is ctl/pass/pass. */
#ifndef CTL_CLUSTER_H
#define CTL_CLUSTER_H

#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"

struct cluster;

/* No cluster. One that is removed from it ends its pass in progress; requests may still take effect. */
struct cluster_map clusters_new(void);

/* The cluster; a new one when there is none, whose first pass runs within one scan interval (spread over
 * it by name), or with cluster_wake. */
struct cluster *cluster_make(struct cluster_map *clusters, const struct control *control,
			     const char *namespace_, const char *name);

/* Starts a pass soon, because an object of the cluster changed: not more often than every 100 ms,
 * or than half of an interval that has grown (ctl/queue/poll_interval.h); after a failed read or write at
 * the API server not before the backoff has passed (0.5 s doubling to 15 s, jittered; Retry-After
 * is obeyed up to 60 s). */
void cluster_wake(struct cluster *cluster);

/* For the log lines about its Pods that cannot be read (ctl/report/trouble.h). */
struct trouble_lines *cluster_pod_lines(struct cluster *cluster);

#endif
