/* Watches Events for what node autoscalers say of our Pods and the operator of our RayClusters, and
 * gives a pass those of its cluster. Optional: without the right to read them it says so once, looks
 * again every five minutes, and conditions and timeouts decide.
 *
 * The API server keeps Events in no watch cache and decodes every one for every watch, so there is
 * one watch for all kinds, and the server filters out the reasons that Pods bring all day (figures:
 * docs/internals/performance.md). What comes is looked at, and kept only when it means something
 * (ctl/watch/event_store.h). Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_EVENTS_H
#define CTL_WATCH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"
#include "ctl/shared/control.h"

struct events;

/* `news` is called when something new was said of a RayCluster or of one of its Pods. control must
 * have its caches of Pods and RayClusters. */
struct events *events_new(const struct control *control,
			  void (*news)(void *context, const char *namespace_, const char *cluster),
			  void *context);
void events_free(struct events *events); /* NULL is fine */

/* Events can be read now. */
bool events_known(const struct events *events);

/* Those of the RayCluster and of its Pods that have no Node; texts are borrowed until the loop
 * turns. */
void events_of_cluster(struct events *events, const struct ray_cluster *cluster,
		       const struct pod *const *pods, size_t pod_count, struct arena *arena,
		       const struct event **ret_events, size_t *ret_count);

/* Nothing that was said of it matters any more: it is gone, or the Pod has a Node. */
void events_forget(struct events *events, const char *kind, const char *namespace_,
		   const char *name);

#endif
