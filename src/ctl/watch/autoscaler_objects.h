/* The RayClusterAutoscalers: reads what users want (watch), makes the object of each managed RayCluster
 * that has none, and writes its status when it changes. Controller mode only. Optional: without the
 * definition or the right it says so once with the cure, looks again by itself, and everything else
 * goes on as if there were none.
 * Owned by ctl/controller. Must not decide anything. */
#ifndef CTL_WATCH_AUTOSCALER_OBJECTS_H
#define CTL_WATCH_AUTOSCALER_OBJECTS_H

#include <stdbool.h>

#include "core/model/kubernetes.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"

struct autoscaler_objects;

struct autoscaler_objects_callbacks {
	void *context;
	/* The user has changed the object of this RayCluster, or it came or went. */
	void (*changed)(void *context, const char *namespace_, const char *name);
	/* autoscaler_objects_known turned true. */
	void (*known)(void *context);
};

/* control must have its caches of RayClusters. */
struct autoscaler_objects *autoscaler_objects_new(const struct control *control,
						  const struct autoscaler_objects_callbacks *how);
void autoscaler_objects_free(struct autoscaler_objects *objects); /* NULL is fine */

/* All that exist are read, or it is sure that they cannot be. Nothing should be decided before: a
 * paused cluster would be scaled. */
bool autoscaler_objects_known(const struct autoscaler_objects *objects);
/* NULL: there is none. One that cannot be decoded stands for a ceiling of 0 GPUs, with the problem in
 * it: what its user wanted is not known. Valid until the loop turns or the next call. NULL is fine for
 * objects. */
const struct autoscaler_object *autoscaler_objects_get(struct autoscaler_objects *objects,
						       const char *namespace_, const char *name);

/* Takes note of a decision that stands; sends nothing by itself. NULL is fine. */
void autoscaler_objects_decided(struct autoscaler_objects *objects,
				const struct pass_decision *decision);
/* The patch of the decision of which was told last has been carried out. NULL is fine. */
void autoscaler_objects_patched(struct autoscaler_objects *objects, const char *namespace_,
				const char *name);
/* The RayCluster is gone. NULL is fine. */
void autoscaler_objects_forget(struct autoscaler_objects *objects, const char *namespace_,
			       const char *name);

#endif
