/* status of a RayClusterAutoscaler (docs/AUTOSCALER_OBJECT.md), written from a decision: keeps
 * the times of conditions that did not change, and the last scale, of the existing status. Pure;
 * the same decision on the same object gives a status that equals the existing one, whatever the
 * values of idle durations and other clocks. Must not send anything: that is
 * ctl/watch/autoscaler_objects. */
#ifndef CODEC_OBJECTS_AUTOSCALER_STATUS_WRITE_H
#define CODEC_OBJECTS_AUTOSCALER_STATUS_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/snapshot.h"
#include "core/report/summary.h"

struct autoscaler_status_input {
	const struct snapshot *snapshot;
	const struct plan *plan;
	const struct summary *summary;
	const struct autoscaler_object *object; /* as it is on the server */
	/* Changes of our patches since that status was written. */
	const struct autoscaler_scale *scales;
	size_t scale_count;
	int64_t undecided_ms; /* of ctl/queue/poll_interval; 0: the decision was made */
};

/* The JSON text of the member `status`, in the arena: the content of a merge patch. Lists are cut
 * to a few entries and texts to a length, so it is far below AUTOSCALER_STATUS_MAX for up to 100
 * groups, the most that are listed. */
const char *autoscaler_status_write(const struct autoscaler_status_input *input,
				    struct arena *arena);

/* Would this status change the existing one? Members that are null and absent are the same. */
bool autoscaler_status_write_needed(const char *status_text,
				    const struct autoscaler_object *object);

/* The body that creates the object of a RayCluster, in the arena: owned by it, without a spec. The
 * owner reference has neither `controller` (its operator does not manage this object) nor
 * blockOwnerDeletion: with OwnerReferencesPermissionEnforcement this needs the right to update
 * rayclusters/finalizers, and nothing is lost when the RayCluster is deleted first. */
const char *autoscaler_status_write_object(const struct ray_cluster *cluster, struct arena *arena);
/* {"metadata": {"resourceVersion": ...}, "status": ...}: the body of the merge patch. */
const char *autoscaler_status_write_patch(const char *status_text, const char *resource_version,
					  struct arena *arena);

#endif
