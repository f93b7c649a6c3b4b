/* Free devices in decisions, as free resources of Nodes are used: they explain why a Pod or a launch
 * waits (NoDevice), and of the groups that could serve a demand those whose claims fit are launched
 * first. Nothing is terminated for it, and no launch is withheld: a node autoscaler may add devices.
 * A selector that is not judged, an unknown claim, and a search above its limit count as fitting.
 *
 * The name of a DeviceClass in limits, or its extendedResourceName, is as a claim of the class, unless
 * a Node that is known has the resource by a device plugin, or no device is of the class.
 *
 * Each group is counted alone: groups for the same devices may launch more Pods together than fit, and
 * so may other RayClusters. The Pods that wait have the reason NoDevice, and their groups back off.
 *
 * Devices are taken first for workers that are launched and have no devices yet, by a claim that is
 * not allocated or no claim at all; a claim that is allocated has its devices already. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SUPPLY_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SUPPLY_H

#include "core/decide/feature.h"

#define DEVICE_SUPPLY_PODS_MAX 1024 /* of a group, that are counted as fitting */

extern const struct decision_feature device_claims_decisions;

#endif
