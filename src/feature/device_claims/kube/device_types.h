/* The kinds of Dynamic Resource Allocation. */
#ifndef FEATURE_DEVICE_CLAIMS_KUBE_DEVICE_TYPES_H
#define FEATURE_DEVICE_CLAIMS_KUBE_DEVICE_TYPES_H

#include "kube/kube_informer.h"

extern const struct kube_type kube_type_resource_slice; /* struct resource_slice */
extern const struct kube_type kube_type_device_class;   /* struct device_class */
extern const struct kube_type kube_type_claim_template; /* struct claim_template */
extern const struct kube_type kube_type_resource_claim; /* struct resource_claim */
extern const struct kube_type kube_type_taint_rule;     /* struct device_taint_rule */

#endif
