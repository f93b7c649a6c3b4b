/* Free devices in decisions, by counting (device_count). Of the groups that could serve a demand those
 * with free devices for their claims are launched first, each up to the Pods that the count finds for
 * it; a launch beyond it, and a waiting Pod, say which devices are missing. Nothing is terminated for
 * it, and no launch is withheld: a node autoscaler may add devices.
 *
 * Whether a Pod lacks devices is the scheduler's verdict, "cannot allocate all claims": such a Pod has
 * the reason NoDevice, and its group backs off as for a full Node.
 *
 * The name of a DeviceClass in limits, or its extendedResourceName, is as a claim of the class, unless
 * a Node that is known has the resource by a device plugin, or no device is of the class.
 *
 * Each group is counted alone: groups for the same devices may launch more Pods together than fit, and
 * so may other RayClusters. Of a group's own count its Pods that wait are subtracted. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SUPPLY_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SUPPLY_H

#include "core/decide/feature.h"

extern const struct decision_feature device_claims_decisions;

#endif
