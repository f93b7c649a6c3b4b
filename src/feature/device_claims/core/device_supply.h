/* Free devices in decisions, as free resources of Nodes are used: they explain why a Pod or a launch
 * waits (NoDevice), and of the groups that could serve a demand those whose claims fit are launched
 * first. Nothing is terminated for it, and no launch is withheld: a node autoscaler may add devices.
 * A selector that is not judged, an unknown claim, and a search above its limit count as fitting.
 *
 * The name of a DeviceClass in limits, or its extendedResourceName, is as a claim of the class, unless
 * a Node that is known has the resource by a device plugin, or no device is of the class.
 *
 * Groups for the same devices are rivals: what one launches the others lose in the same decision
 * (struct schedule_rival). Of three and more groups the losses add up, so a group may come too late.
 * Other RayClusters see the devices at their next decision after they are allocated.
 *
 * Devices are taken first for workers that are launched and have no devices yet, by a claim that is
 * not allocated or no claim at all; a claim that is allocated has its devices already. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SUPPLY_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SUPPLY_H

#include "core/decide/feature.h"

#define DEVICE_SUPPLY_PODS_MAX 1024 /* of a group, that are counted as fitting */
#define DEVICE_RIVALS_MAX 16        /* of a group; further ones take nothing */
#define DEVICE_RIVAL_POINTS 32

extern const struct decision_feature device_claims_decisions;

#endif
