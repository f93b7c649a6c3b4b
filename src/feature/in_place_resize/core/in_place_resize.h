/* In-place resize of CPU and memory of running workers and the head, as Ray's autoscaler does it
 * (ray 2.60, autoscaler/v2/instance_manager/cloud_providers/kuberay/ippr_provider.py): which Pods may
 * grow, which are being resized, and what is done next. GPUs are never resized. All that is known of a
 * resize is on the Pod, in the form of Ray's annotation, so a restart loses nothing. */
#ifndef FEATURE_IN_PLACE_RESIZE_CORE_IN_PLACE_RESIZE_H
#define FEATURE_IN_PLACE_RESIZE_CORE_IN_PLACE_RESIZE_H

#include "core/decide/feature.h"

extern const struct decision_feature in_place_resize_decisions;

#endif
