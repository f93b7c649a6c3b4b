/* KubeRay's operator and the life of a Pod: created, on a Node, its Ray container runs, its raylet
 * registers; deleted, ended. Source: KubeRay 1.5, raycluster_controller.go reconcilePods: Pods that
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
/* The operator acts after operator_ms. */
void kuberay_wake(struct sim_ray *ray);

/* A Pod got a Node: sim/stock.h calls it. pool SIZE_MAX: there are no pools. */
void kuberay_scheduled(struct sim_worker *worker, size_t pool, size_t node);
void kuberay_running(struct sim_worker *worker);    /* SIM_EVENT_RUNNING */
void kuberay_registered(struct sim_worker *worker); /* SIM_EVENT_REGISTER */
/* All hosts of the worker's replica: the operator deletes a replica that lost a host. expected:
 * workersToDelete names it, so that decisions count it as terminated already. */
void kuberay_delete_replica(struct sim_worker *worker, bool expected);
void kuberay_gone(struct sim_worker *worker); /* SIM_EVENT_GONE */

#endif
