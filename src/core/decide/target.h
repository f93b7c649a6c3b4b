/* Replica arithmetic of one group: Pods to replicas, base, bounds. One replica has numOfHosts Pods.
 * Must not choose workers. */
#ifndef CORE_DECIDE_TARGET_H
#define CORE_DECIDE_TARGET_H

#include "core/decide/situation.h"

/* Replicas that exist or are asked for when what this decision removes is gone; neither bounded by
 * minReplicas nor by maxReplicas. */
int64_t target_base(const struct group *group);
/* The same, bounded by both. */
int64_t target_floor(const struct group *group);
/* A replica of so many Pods goes: they, and the hosts of it that are asked for and have no Pod. */
void target_remove(struct group *group, int64_t pods);
/* Sets launch_replicas and to_launch: what the packing and minReplicas want, within maxReplicas. */
void target_launches(struct group *group);
/* Sets patch_replicas and target_replicas from allowed_replicas. */
void target_finish(struct group *group);

#endif
