/* In-place resize: the API server's, the kubelet's and the raylet's part. feature/in_place_resize/core decides,
 * as in the controller; here its plans change the Pod's record, spec, conditions and status. Source: kubernetes 1.34,
 * pkg/kubelet/allocation/allocation_manager.go (a resize is infeasible or deferred, with what the Node
 * has; deferred ones are tried again when a Pod has ended); ray 2.60, local_resource_manager.cc
 * (what is in use is kept). Simplified: a resize takes models.resize_ms, never fails, and requests are
 * never refused by the API server. */
#ifndef SIM_RESIZE_H
#define SIM_RESIZE_H

#include "core/model/plan.h"
#include "sim/world.h"

/* Carries out the resizes of a plan. */
void resize_plan(struct sim_ray *ray, const struct plan *plan);
/* SIM_EVENT_RESIZE: the container has its new size; false: the event is stale. */
bool resize_is_due(const struct sim_worker *worker, uint64_t id);
void resize_applied(struct sim_worker *worker);
/* A Node may have more room. */
void resize_retry(struct sim_world *world);
/* The Pod has ended. */
void resize_release(struct sim_worker *worker);

#endif
