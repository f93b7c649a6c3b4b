/* Watches Events of node autoscalers about our Pods and of the operator about our RayClusters, and
 * passes those of its cluster to a pass. Optional: without the right to read them it logs that once
 * and retries every five minutes; decisions then use conditions and timeouts.
 *
 * The API server keeps Events in no watch cache and decodes every one for every watch, so there is
 * one watch for all kinds, and the server filters out the frequent reasons of Pods (figures:
 * docs/internals/performance.md). An Event that arrives is kept only when it has a meaning
 * (ctl/watch/event_store.h). Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_EVENTS_H
#define CTL_WATCH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"
#include "ctl/shared/control.h"

struct events;

/* Wakes the RayCluster after a new Event of it or of one of its Pods. control must have its
 * caches of Pods and RayClusters. */
struct events *events_new(const struct control *control);
void events_free(struct events *events); /* NULL is fine */

/* Events can be read now. */
bool events_known(const struct events *events);

/* Events of the RayCluster and of its Pods without a Node; the texts live until the jobs have ended that are
 * started in this turn of the loop. */
void events_of_cluster(struct events *events, const struct ray_cluster *cluster,
		       struct arena *arena, const struct event **ret_events, size_t *ret_count);

/* Watchers: drop the Events of a RayCluster that was deleted, and of a Pod that was deleted or got its
 * Node. context: struct events, may be NULL. */
void events_ray_cluster_changed(void *context, const char *namespace_, const char *name,
				bool deleted);
void events_pod_changed(void *context, const struct pod *old, const struct pod *new_object);

#endif
