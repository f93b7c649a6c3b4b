/* The bounds of a decision: invalid groups, idle timeouts, GPU limits, limits on starting workers.
 * Must not pack or choose workers. */
#ifndef CORE_DECIDE_LIMITS_H
#define CORE_DECIDE_LIMITS_H

#include "core/decide/choice.h"

/* Where an idle timeout is set; of several that are set the last one wins. */
enum idle_source {
	IDLE_OF_FLAG = 0,     /* --idle-timeout-seconds */
	IDLE_OF_OBJECT,       /* spec of the RayClusterAutoscaler */
	IDLE_OF_CLUSTER,      /* autoscalerOptions of the RayCluster */
	IDLE_OF_OBJECT_GROUP, /* spec.groups of the RayClusterAutoscaler */
	IDLE_OF_GROUP,        /* the worker group of the RayCluster */
};
struct idle_timeout {
	enum idle_source source;
	int64_t seconds;
};

/* The idle time after which a worker of the group is terminated, and its source. */
struct idle_timeout limits_idle_timeout(const struct snapshot *snapshot,
					const struct worker_group *group);
int64_t limits_idle_timeout_ms(const struct snapshot *snapshot, const struct worker_group *group);
/* Makes the list of groups: capacity, problem, frozen, hosts, idle timeout. */
void limits_make_groups(struct facts *facts);
/* GPU capacity that may still be added, in 1/10000; false: no limit. Needs workers, removal. */
bool limits_gpu_budget(const struct offer *offer, int64_t *ret_budget);
/* GPUs that one more worker of the group counts under a limit, in 1/10000: by its template
 * (core/capacity/gpu_cost), also when a worker was seen with less, because the report of a worker
 * can be forged. For a share of unknown size, the seen amount counts. */
int64_t limits_gpus_of_launch(const struct offer *offer, const struct group *group);
/* The name and value of the lowest GPU limit; "" when there is none. */
const char *limits_gpu_ceiling_text(const struct offer *offer);
/* "2 GPUs run above maxGPUs 1; they are kept": the cluster has more GPUs than the lower one of its own
 * limits allows. NULL: it has not. */
const char *limits_gpu_excess_text(const struct offer *offer);
/* With upscalingMode Conservative: the start of the current 5 s interval in which the group
 * launches, from memory; TIME_NONE: it has ended. See limits_throttle(). */
time_ms limits_launch_round(const struct facts *facts, const struct group *group);
/* upscalingMode of the RayCluster, or else of its RayClusterAutoscaler, is Conservative. */
bool limits_is_conservative(const struct snapshot *snapshot);
/* Cuts launch_replicas of every group to allowed_replicas: max-starting-workers, Conservative, and
 * `most` by group, what pools grant to a packing that was cut (NULL: no such limit). */
void limits_throttle(struct choice *choice, const int64_t *most);

#endif
