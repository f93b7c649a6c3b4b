/* The lists of actors, tasks, placement groups and jobs of a GCS, protobuf bytes to struct gpu_use:
 * only those that use GPUs, and all jobs. Pure; any thread. */
#ifndef GCS_GCS_GPU_USE_H
#define GCS_GCS_GPU_USE_H

#include <stddef.h>

#include "core/model/gpu_holder.h"

/* Rows that are requested; a reply with more is refused. */
#define GCS_GPU_USE_ROWS_MAX 10000
#define GCS_GPU_USE_REPLY_MAX_BYTES ((size_t)16 << 20)
#define GCS_GPU_USE_ENTRYPOINT_MAX_BYTES ((size_t)400) /* longer ones are cut */

extern const struct gcs_list_use gcs_gpu_use;

#endif
