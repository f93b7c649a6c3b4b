/* GPUPools for the layers that read objects of all kinds and know no feature. */
#ifndef CODEC_OBJECTS_GPU_POOL_OBJECT_H
#define CODEC_OBJECTS_GPU_POOL_OBJECT_H

#include "feature/pools/codec/gpu_pool_json.h"
#include "feature/pools/core/pool_match.h"

#endif
