/* How long the Pods of each RayCluster took to start, also of deleted Pods: for `record`, which
 * without --follow sees only those that exist. Kept in memory alone, so since the start of this
 * process: at most START_TIMES_OF_CLUSTER_MAX of a RayCluster, the newest, and START_TIMES_MAX of all, so
 * that no RayCluster displaces those of another. Owned by ctl/features. Decisions must not use it. */
#ifndef FEATURE_RECORD_CTL_START_TIMES_H
#define FEATURE_RECORD_CTL_START_TIMES_H

#include <stddef.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"
#include "ctl/report/feature.h"
#include "ctl/shared/control.h"
#include "feature/record/core/ray_work.h"

#define START_TIMES_OF_CLUSTER_MAX 1000
#define START_TIMES_MAX 20000

struct start_times {
	struct feature_state
		of;   /* control NULL: no Pod is ignored because its RayCluster does not exist */
	size_t count; /* of all */
};

/* A ring: when it is full, `next` is the oldest. */
struct starts {
	struct cluster_entry of;
	struct start_times *times;
	struct start *at;
	size_t count, next;
};

void starts_done(void *one); /* of struct start_times: cluster_done */

/* Watchers; context: struct start_times. A Pod that has become ready: keeps its time; either version may be
 * NULL. A RayCluster that was deleted: drops its times. */
void start_times_pod_changed(void *context, const struct pod *old, const struct pod *new_object);
void start_times_ray_cluster_changed(void *context, const char *namespace_, const char *name,
				     bool deleted);

/* Copies in the arena. */
const struct ray_work_start *start_times_of(const struct start_times *times, const char *namespace_,
					    const char *name, struct arena *arena,
					    size_t *ret_count);

#endif
