/* KubeRay's operator, and how Pods end. Source: KubeRay 1.5, raycluster_controller.go reconcilePods: Pods that
 * workersToDelete names are deleted; missing replicas, at most maxReplicas, are created; with
 * enableInTreeAutoscaling surplus ones stay. Simplified: the operator acts once after each change,
 * after operator_ms, and its requests take no time. */
#ifndef SIM_KUBERAY_H
#define SIM_KUBERAY_H

#include "core/model/plan.h"
#include "sim/world.h"

/* The head, and the replicas of the spec as registered workers: the state at the start. */
void kuberay_start(struct sim_ray *ray);
/* The RayCluster gets the patch of the plan. */
void kuberay_patch(struct sim_ray *ray, const struct plan *plan);
void kuberay_reconcile(struct sim_ray *ray); /* SIM_EVENT_OPERATOR */

void kuberay_gone(struct sim_worker *worker); /* SIM_EVENT_GONE */
/* A Node is interrupted: the Pods on it are deleted without notice, their work waits again, and the
 * operator creates other Pods. */
void kuberay_interrupt(struct sim_world *world, uint64_t id); /* SIM_EVENT_SPOT */

/* Idle termination of a simulated RayCluster: all Pods end, the head's included.
 * Source: KubeRay 1.5, raycluster_controller.go: a suspended cluster starts again only after all its
 * Pods are deleted; the init container of a worker waits for the GCS of the head.
 *
 * A submission to a suspended cluster is a user who resumes it at that moment: the work waits until
 * the head and its worker have started. A schedule resumes it as well, by a decision. With action
 * Delete the same happens, as if the user applied the RayCluster again. Simplified: drivers are not
 * simulated, so only work, requests and schedules keep a cluster. */

/* The labels of a suspended RayCluster; once, before the first pass. */
void kuberay_suspend_init(struct sim_ray *ray);
/* Work was submitted to it. */
void kuberay_submitted(struct sim_ray *ray);
/* Suspends or resumes it, as the plan says. */
void kuberay_suspend(struct sim_ray *ray, const struct plan *plan);

#endif
