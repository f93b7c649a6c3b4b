/* The calls of kube_client that wait to be sent, in flows: one of the program itself, and one for
 * each cluster. The program's own calls (lists, the Lease, those of commands) come first: they are
 * few, and all clusters depend on them. The clusters' flows are served round robin, one call each,
 * so that a cluster with a thousand calls delays another one by one call. Places of calls under way
 * are limited: by KUBE_IN_FLIGHT_MAX for all, KUBE_CLUSTERS_IN_FLIGHT_MAX for those of clusters, so
 * that hanging requests of clusters never keep the program's own from the server, and
 * KUBE_FLOW_IN_FLIGHT_MAX for one cluster.
 *
 * For example, with A, A, A, B, C waiting in this order: A, B, C, A, A are sent.
 *
 * Plain data of its owner, which must move each call through add, (remove or sent), ended. */
#ifndef KUBE_KUBE_QUEUE_H
#define KUBE_KUBE_QUEUE_H

#include <stddef.h>

#include "base/list.h"
#include "base/map.h"

#define KUBE_IN_FLIGHT_MAX 64
#define KUBE_CLUSTERS_IN_FLIGHT_MAX 48
#define KUBE_FLOW_IN_FLIGHT_MAX 4 /* a pass has one request at a time, beside status and Events */

struct kube_flow {
	const char *key;      /* "namespace/name"; NULL: the program's own */
	struct list waiting;  /* kube_queued.place */
	size_t in_flight;     /* of this flow */
	struct list_item due; /* in kube_queue.due while calls wait and there is a place */
};

/* A call in the queue, or under way: a member of its owner's struct. */
struct kube_queued {
	struct list_item item;  /* of all that wait */
	struct list_item place; /* in its flow, while it waits */
	struct kube_flow *flow; /* NULL: it neither waits nor has a place */
};

struct kube_queue {
	struct list calls; /* kube_queued.item: all that wait, the oldest first */
	struct kube_flow own;
	struct map flows; /* of clusters: those that have calls here or under way */
	struct list due;  /* kube_flow.due, in the order of service */
	size_t clusters_in_flight;
};

/* All zero is an empty queue. Nothing may be in it any more. */
void kube_queue_done(struct kube_queue *queue);

/* flow: as of kube_request. */
void kube_queue_add(struct kube_queue *queue, struct kube_queued *call, const char *flow);
/* A call that waits leaves for good. */
void kube_queue_remove(struct kube_queue *queue, struct kube_queued *call);
/* The call whose turn it is, NULL when no waiting call has a place. */
struct kube_queued *kube_queue_next(const struct kube_queue *queue);
/* A waiting call takes a place and its flow is queued behind the others; kube_queue_ended frees
 * it. */
void kube_queue_sent(struct kube_queue *queue, struct kube_queued *call);
void kube_queue_ended(struct kube_queue *queue, struct kube_queued *call);
size_t kube_queue_in_flight(const struct kube_queue *queue);

#endif
