/* What the annotations of a Pod say of the GPU that Alibaba's gpushare scheduler chose for it, read
 * as kubectl-inspect-gpushare reads it (AliyunContainerService/gpushare-device-plugin, cmd/inspect):
 * the allocation of each container where it is there, else the index of the one GPU.
 * An annotation that is malformed says nothing: it is the scheduler's, and only shown or forecast. */
#ifndef CODEC_OBJECTS_GPUSHARE_JSON_H
#define CODEC_OBJECTS_GPUSHARE_JSON_H

#include <stddef.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

#define GPUSHARE_ANNOTATION_INDEX "ALIYUN_COM_GPU_MEM_IDX"
#define GPUSHARE_ANNOTATION_ALLOCATION "scheduler.framework.gpushare.allocation"
/* Devices of a Node beyond this are not told apart. */
#define GPUSHARE_DEVICES_MAX 256

/* By device, each once; nothing when the annotations do not say it. */
void gpushare_decode(const struct labels *annotations, struct arena *arena,
		     const struct device_use **ret_uses, size_t *ret_count);

#endif
