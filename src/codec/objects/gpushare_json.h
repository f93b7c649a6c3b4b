/* The allocation of GPUs by Alibaba's gpushare scheduler in the annotations of a Pod, read as
 * kubectl-inspect-gpushare reads it (AliyunContainerService/gpushare-device-plugin, cmd/inspect):
 * the allocation of each container where it is given, else the index of the one GPU. A malformed
 * annotation is ignored: it is the scheduler's, and used only for display and forecast. */
#ifndef CODEC_OBJECTS_GPUSHARE_JSON_H
#define CODEC_OBJECTS_GPUSHARE_JSON_H

#include <stddef.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* Devices of a Node beyond this are not distinguished. */
#define GPUSHARE_DEVICES_MAX 256

/* By device, each once; nothing when the annotations have no allocation. */
void gpushare_decode(const struct labels *annotations, struct arena *arena,
		     const struct device_use **ret_uses, size_t *ret_count);

#endif
