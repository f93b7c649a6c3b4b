/* The lists of actors, tasks, placement groups and jobs of a GCS, protobuf bytes to struct gpu_use:
 * only those that use GPUs, and all jobs. Pure; any thread. */
#ifndef GCS_GCS_GPU_USE_H
#define GCS_GCS_GPU_USE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/gpu_holder.h"

struct work_job;

/* Rows that are requested; a reply with more is refused. */
#define GCS_GPU_USE_ROWS_MAX 10000
#define GCS_GPU_USE_REPLY_MAX_BYTES ((size_t)16 << 20)
#define GCS_GPU_USE_ENTRYPOINT_MAX_BYTES ((size_t)400) /* longer ones are cut */

/* ERR_INPUT: not this reply. ERR_LIMIT, ERR_RETRY: above a limit or the arena's budget; the job was
 * cancelled. job may be NULL. */
int gcs_gpu_use_decode(enum ray_list list, const void *data, size_t size,
		       const struct work_job *job, struct arena *arena, struct gpu_use *ret_use,
		       struct err *err);

#endif
