/* The holders of the GPUs of each worker: joins a decision's workers with the lists of Ray's GCS. */
#ifndef CORE_REPORT_GPU_HOLDERS_H
#define CORE_REPORT_GPU_HOLDERS_H

#include "base/arena.h"
#include "core/model/gpu_holder.h"
#include "core/model/plan.h"

#define GPU_HOLDERS_MAX 50 /* of one worker; the others count as unnamed */

/* The workers of the plan that Ray reports with GPUs, by name, without holders. Everything is
 * copied into the arena. */
void gpu_holders_begin(const struct plan *plan, struct arena *arena, struct gpu_holders *ret);

/* Adds holders and notes. lists: RAY_LISTS of them, NULL where none was read; problems: why, ""
 * for the others. Results point into the lists. */
void gpu_holders_join(struct gpu_holders *holders, const struct gpu_use *const *lists,
		      const char *const *problems, struct arena *arena);
/* The worker of this Pod; NULL: none. */
const struct gpu_worker *gpu_holders_find(const struct gpu_holders *holders, const char *pod);

#endif
