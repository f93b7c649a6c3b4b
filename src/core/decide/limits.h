/* What bounds a decision: invalid groups, idle timeouts, ceilings on GPUs, caps on workers that
 * start. Must not pack or choose workers. */
#ifndef CORE_DECIDE_LIMITS_H
#define CORE_DECIDE_LIMITS_H

#include "core/decide/situation.h"

/* After how much idleness a worker of the group goes. */
int64_t limits_idle_timeout_ms(const struct snapshot *snapshot, const struct worker_group *group);
/* Makes the list of groups: capacity, problem, frozen, hosts, idle timeout. */
void limits_make_groups(struct situation *situation);
/* GPU capacity that may still be added, in 1/10000; false: no ceiling. Needs workers, removal. */
bool limits_gpu_budget(const struct situation *situation, int64_t *ret_budget);
/* What one more worker of the group costs under a ceiling, in 1/10000: by its template (core/capacity/gpu_cost), also
 * when one was seen with less, because what workers report may be made up; of a share of unknown size
 * what was seen. */
int64_t limits_gpus_of_launch(const struct situation *situation, const struct group *group);
/* Where the smallest ceiling stands, and its figure; "" when there is none. */
const char *limits_gpu_ceiling_text(const struct situation *situation);
/* upscalingMode of the RayCluster, or else of its RayClusterAutoscaler, is Conservative. */
bool limits_is_conservative(const struct snapshot *snapshot);
/* Cuts launch_replicas of every group to allowed_replicas: max-starting-workers, Conservative. */
void limits_throttle(struct situation *situation);

#endif
