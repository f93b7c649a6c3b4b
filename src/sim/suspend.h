/* Idle termination of a simulated RayCluster (feature/idle_termination/core/idle.h): all Pods end, the head's included.
 * Source: KubeRay 1.5, raycluster_controller.go: a suspended cluster starts again only after all its
 * Pods are deleted; the init container of a worker waits for the GCS of the head.
 *
 * A submission to a suspended cluster is a user who resumes it at that moment: the work waits until
 * the head and its worker have started. A schedule resumes it as well, by a decision. With action
 * Delete the same happens, as if the user applied the RayCluster again. Simplified: drivers are not
 * simulated, so only work, requests and schedules keep a cluster. */
#ifndef SIM_SUSPEND_H
#define SIM_SUSPEND_H

#include "core/model/plan.h"
#include "sim/world.h"

/* The labels of a suspended RayCluster; once, before the first pass. */
void suspend_init(struct sim_ray *ray);
/* Idle termination may apply to it: passes must see each change of its work. */
bool suspend_is_set(const struct sim_ray *ray);
/* Work was submitted to it. */
void suspend_submitted(struct sim_ray *ray);
/* Suspends or resumes it, as the plan says. */
void suspend_follow(struct sim_ray *ray, const struct plan *plan);
/* It runs, and its head is in Ray. */
bool suspend_has_ray(const struct sim_ray *ray);

#endif
