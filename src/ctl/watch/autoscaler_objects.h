/* The RayClusterAutoscalers: watches users' settings, creates the object of each managed RayCluster
 * that has none, and writes its status when it changes. Controller mode only. Optional: without the
 * CRD or the right it logs the fix once and retries by itself; all other parts work as if there
 * were no such object. Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_AUTOSCALER_OBJECTS_H
#define CTL_WATCH_AUTOSCALER_OBJECTS_H

#include <stdbool.h>

#include "core/model/kubernetes.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"

struct autoscaler_objects;

/* control must have its caches of RayClusters. A RayCluster whose object the user has changed, created or
 * deleted is woken; control_ready is called when autoscaler_objects_known turned true. */
struct autoscaler_objects *autoscaler_objects_new(const struct control *control);
void autoscaler_objects_free(struct autoscaler_objects *objects); /* NULL is fine */

/* All existing objects are read, or are known to be unreadable. Decisions must wait for this: else
 * a paused cluster would be scaled. */
bool autoscaler_objects_known(const struct autoscaler_objects *objects);
/* Whether there is an object that has not been read yet. */
bool autoscaler_objects_unread(const struct autoscaler_objects *objects, const char *namespace_,
			       const char *name);
/* The memory of the object. */
size_t autoscaler_objects_bytes(const struct autoscaler_objects *objects, const char *namespace_,
				const char *name);
/* NULL: there is none. An object that cannot be decoded is replaced by a limit of 0 GPUs with the
 * problem in it, in the arena, because its user's settings are unknown. Valid as what the cache holds
 * (ctl/pass/pass.h, view). NULL is fine for objects. */
const struct autoscaler_object *autoscaler_objects_get(const struct autoscaler_objects *objects,
						       const char *namespace_, const char *name,
						       struct arena *arena);
/* Another controller decides about the RayCluster too. NULL is fine for objects. */
bool autoscaler_objects_second(const struct autoscaler_objects *objects, const char *namespace_,
			       const char *name);

/* A listener of passes (ctl/cluster.c): records a final decision and that its patch was accepted;
 * sends nothing by itself. `listener` is a struct autoscaler_objects; NULL is fine. */
void autoscaler_objects_decided(void *listener, const struct pass_decision *decision);
void autoscaler_objects_patched(void *listener, const char *namespace_, const char *name);
void autoscaler_objects_forget(void *listener, const char *namespace_, const char *name);

#endif
