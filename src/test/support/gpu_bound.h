/* A lower bound of the GPUs that any packing launches which serves the demand that Ray's policy
 * serves. Only for small problems without constraints. Parts of GPUs count by their sum; the true
 * optimum can be above. */
#ifndef TEST_SUPPORT_GPU_BOUND_H
#define TEST_SUPPORT_GPU_BOUND_H

#include "core/schedule/schedule.h"

/* `ray`: the result of Ray's policy. `most`: 1/10000 GPU of the best known packing, where the
 * search ends. *ret_exact: a packing with as few GPUs exists. */
int64_t gpu_bound(const struct schedule_problem *problem, const struct schedule_result *ray,
		  int64_t most, bool *ret_exact);

#endif
