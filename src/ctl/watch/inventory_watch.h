/* One inventory of all Nodes and Pods of the cluster, listed page by page, kept in a short form
 * (core/nodes/node_digest, core/nodes/pod_digest). For `status --gpus` and for the controller's
 * node capacity (ctl/watch/capacity_watch). done is called once, in a turn of
 * its own, and may free it. Needs list and watch of nodes and pods in all namespaces; without those
 * of pods only the Nodes are known. Must not be kept for long: it is not updated. */
#ifndef CTL_WATCH_INVENTORY_WATCH_H
#define CTL_WATCH_INVENTORY_WATCH_H

#include <stddef.h>

#include "base/err.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

struct kube_client;
struct kube_informer;
struct inventory_watch;

struct inventory_watch_limits {
	size_t nodes, pods; /* limits of the kept entries */
	int64_t within_ms;  /* of both lists together */
	/* Has all Pods of RayClusters, which are then read there and not listed; NULL: they are listed. */
	const struct kube_informer *cached;
};

/* err NULL: it is complete. ERR_LIMIT: there are more Nodes or Pods than the limits; else the first
 * error of a list. */
typedef void inventory_watch_done(void *context, const struct err *err);

/* client and devices are borrowed and must live longer. Never calls back before it returns. */
struct inventory_watch *inventory_watch_new(struct kube_client *client,
					    const struct device_table *devices,
					    const struct inventory_watch_limits *limits,
					    inventory_watch_done *done, void *context);
void inventory_watch_free(
	struct inventory_watch *inventory_watch); /* NULL is fine; no callback follows */

struct inventory_list {
	const struct node *nodes;
	size_t node_count;
	const struct pod *pods; /* by Node */
	size_t pod_count;
	/* "" or why Pods are not known (they may not be listed); then there are none. */
	const char *pods_problem;
	size_t unreadable; /* objects that cannot be decoded */
	uint64_t version;  /* of ctl/watch/capacity_watch: changes with the content */
};

/* After done without an error; borrowed. */
const struct inventory_list *inventory_watch_list(const struct inventory_watch *inventory_watch);

#endif
