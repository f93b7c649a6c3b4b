/* The JSON Patches of spec.suspend with the annotation ANNOTATION_SUSPENDED, for decisions and for
 * commands. Both change in one patch, so the object records that idle termination suspended it: a
 * process may end at any instruction. The sender adds the test of metadata.uid (ctl/pass/act.h). Must not decide. */
#ifndef FEATURE_IDLE_TERMINATION_CORE_SUSPEND_H
#define FEATURE_IDLE_TERMINATION_CORE_SUSPEND_H

#include "base/arena.h"
#include "base/time.h"
#include "core/model/plan.h"

/* Suspends it. Tests the resourceVersion, so that nothing has changed since it was read. */
void suspend_patch(const struct ray_cluster *cluster, time_ms now, struct arena *arena,
		   struct plan *plan);
/* Resumes it, if it is still suspended with this annotation: ray_cluster_suspended_at is not NULL. */
void suspend_patch_resume(const struct ray_cluster *cluster, struct arena *arena,
			  struct plan *plan);
/* Removes the annotation from a RayCluster that another client has resumed; nothing without one. */
void suspend_patch_forget(const struct ray_cluster *cluster, struct arena *arena,
			  struct plan *plan);

#endif
