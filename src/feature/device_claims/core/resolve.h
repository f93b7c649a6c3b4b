/* Counts the devices of claims: the requests of all ResourceClaimTemplates and ResourceClaims as
 * devices of the device table (core/model/claimed). The kind of a device, the product of a group and
 * the devices of allocationMode All are those of the devices in ResourceSlices that class and
 * selectors match (device_free). Where none matches, the kind follows from the text of the selectors
 * (selector_text) or the name of the DeviceClass in the table; the text also decides about a device
 * whose selectors are not judged. A device that the table does not have (a network card, a channel of
 * a ComputeDomain) and one with adminAccess count 0. Pure.
 *
 * Cost: O((devices + requests) log devices), and each device once for each different selector within
 * the limit of device_judge; selectors beyond it are counted by their text. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_RESOLVE_H
#define FEATURE_DEVICE_CLAIMS_CORE_RESOLVE_H

#include "base/arena.h"
#include "core/model/device.h"
#include "feature/device_claims/core/device_object.h"

/* The table with the claims of these objects; the same one when no kind is known. `objects` may be
 * NULL. */
const struct device_table *device_claims_attach(const struct device_objects *objects,
						const struct device_table *table,
						struct arena *arena);
/* The memory that counting one template or claim takes in the arena and beside it, about and not less. */
size_t device_claims_attached_bytes(const struct claim_spec *spec);

#endif
