/* In-place resize: the API server's, the kubelet's and the raylet's part. feature/in_place_resize/core decides,
 * as in the controller; here its plans change the Pod's record, spec, conditions and status. Source: kubernetes 1.34,
 * pkg/kubelet/allocation/allocation_manager.go (a resize is infeasible or deferred, with what the Node
 * has; deferred ones are tried again when a Pod has ended); ray 2.60, local_resource_manager.cc
 * (what is in use is kept). Simplified: a resize takes models.resize_ms, never fails, and requests are
 * never refused by the API server. */
#ifndef FEATURE_IN_PLACE_RESIZE_SIM_RESIZE_SIM_H
#define FEATURE_IN_PLACE_RESIZE_SIM_RESIZE_SIM_H

#include "sim/resize.h"

extern const struct sim_resizing resize_sim;

#endif
