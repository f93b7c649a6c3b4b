/* Counts the devices of claims: the requests of all ResourceClaimTemplates and ResourceClaims as
 * devices of the device table (core/model/claimed). The kind of a device follows from its
 * DeviceClass: by the name of the class in the table, or by the driver and the `type` in its
 * selectors, or by those of the request. A device that the table does not have (a network card, a
 * channel of a ComputeDomain) and one with adminAccess count 0. Of selectors only equalities of
 * type, profile and productName are used, of those only in a text without "||" and "!"; a selector
 * that is not understood changes no count. Pure.
 *
 * Cost: O((devices + requests) log devices); a request that needs the slices scans the kinds of
 * devices on each Node once. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_RESOLVE_H
#define FEATURE_DEVICE_CLAIMS_CORE_RESOLVE_H

#include "base/arena.h"
#include "core/model/device.h"
#include "feature/device_claims/core/device_object.h"

#define DEVICE_CLASS_RESOURCE_PREFIX "deviceclass.resource.kubernetes.io/"

/* The table with the claims of these objects; the same one when no kind is known. `objects` may be
 * NULL. */
const struct device_table *device_claims_attach(const struct device_objects *objects,
						const struct device_table *table,
						struct arena *arena);
/* Whether a template of the RayCluster uses a claim or the name of a DeviceClass. */
bool device_claims_are_used(const struct ray_cluster *cluster);

#endif
