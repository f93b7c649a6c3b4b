/* Watches the objects of Dynamic Resource Allocation while a RayCluster claims devices, or while Nodes
 * lack accelerators that labels promise, and makes a
 * view of them (ctl/shared/device_view) when they change. Each kind is optional: without its API or
 * the right to read it that is logged once and tried again every five minutes, and decisions are made
 * without it, also when its first list fails for long. A sidecar reads templates and claims of its own namespace alone. */
#ifndef FEATURE_DEVICE_CLAIMS_CTL_DEVICE_WATCH_H
#define FEATURE_DEVICE_CLAIMS_CTL_DEVICE_WATCH_H

#include "ctl/report/feature.h"

extern const struct feature device_claims_feature;

#endif
