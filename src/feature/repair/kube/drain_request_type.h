/* The kind DrainRequest of NVSentinel. */
#ifndef FEATURE_REPAIR_KUBE_DRAIN_REQUEST_TYPE_H
#define FEATURE_REPAIR_KUBE_DRAIN_REQUEST_TYPE_H

#include "kube/kube_informer.h"

extern const struct kube_type kube_type_drain_request; /* struct drain_request */

#endif
