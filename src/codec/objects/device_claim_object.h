/* The objects of resource.k8s.io for the layers that read objects of all kinds and know no feature. */
#ifndef CODEC_OBJECTS_DEVICE_CLAIM_OBJECT_H
#define CODEC_OBJECTS_DEVICE_CLAIM_OBJECT_H

#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/resolve.h"

#endif
