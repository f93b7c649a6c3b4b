/* Node capacity for passes of RayClusters that have Unschedulable Pods or gangs of kube-scheduler, so that a plan can
 * distinguish "fits on no Node of the cluster" from "waits for one" (core/decide/capacity_check), and for
 * GPUPools (feature/pools).
 * Controller mode only, and optional: without the right to list Nodes it logs that once, and plans
 * then leave the distinction out.
 *
 * Nothing is watched and nothing is kept while no pass needs it. When one does and the last inventory is older
 * than a minute, Nodes and Pods of the cluster are listed once (ctl/watch/inventory_watch), in pages, without the
 * Pods of RayClusters where the cache has all of them, and kept in a short form as long as passes need it;
 * clusters above the limits in capacity_watch.c have no inventory. A pass receives the few Nodes
 * that are closest to its groups, with the Pods that use their capacity: other Nodes do not change
 * the message, and snapshots stay small. Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_CAPACITY_WATCH_H
#define CTL_WATCH_CAPACITY_WATCH_H

#include "base/arena.h"
#include "ctl/pass/observe.h"
#include "ctl/shared/control.h"

struct capacity_watch;

/* NULL in sidecar mode; every function accepts NULL and does nothing then. */
struct capacity_watch *capacity_watch_new(const struct control *control);
void capacity_watch_free(struct capacity_watch *capacity_watch);

/* Adds Nodes and other Pods to the view of a RayCluster that needs them (node_sample_wanted), when they are
 * known. Nodes that are already in the view do not change. Borrowed until the loop turns. */
void capacity_watch_view(struct capacity_watch *capacity_watch, struct arena *arena,
			 struct observation *view);

/* The last inventory, at most about a minute old while it is asked for; NULL: it is not known yet, or
 * above the limits. Borrowed until the loop turns. */
const struct inventory_list *capacity_watch_inventory(struct capacity_watch *capacity_watch);
/* Called when there is another inventory. */
void capacity_watch_listen(struct capacity_watch *capacity_watch, void (*listed)(void *context),
			   void *context);
/* Nodes have changed: an inventory that is kept is replaced. Lists for this take a twentieth of the time at most. */
void capacity_watch_outdated(struct capacity_watch *capacity_watch);

#endif
