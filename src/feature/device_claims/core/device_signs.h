/* Devices of a RayCluster's Pods that a driver, or a DeviceTaintRule, has tainted since they were allocated
 * (device_signs_slot). Taints that the claim tolerates are not signs. Nothing is searched where no device has a
 * taint; else O(claims + results log devices). */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SIGNS_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_SIGNS_H

#include "core/decide/facts.h"

void device_signs_find(struct facts *facts);

#endif
