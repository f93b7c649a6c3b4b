/* Replica arithmetic of one group: Pods to replicas, base, bounds. One replica has numOfHosts Pods.
 * Must not choose workers. */
#ifndef CORE_DECIDE_TARGET_H
#define CORE_DECIDE_TARGET_H

#include "core/decide/choice.h"

/* Replicas that exist or are requested after the removals of this decision; bounded neither by
 * minReplicas nor by maxReplicas. */
int64_t target_base(const struct group_choice *choice);
/* The same, bounded by both. */
int64_t target_floor(const struct group_choice *choice);
/* Counts a replica of so many Pods as removed, including its requested hosts without a Pod. */
void target_remove(struct group_choice *choice, int64_t pods);
/* Sets launch_replicas and to_launch: the launches of the packing and of minReplicas, within
 * maxReplicas. */
void target_launches(struct group_choice *choice);
/* Sets patch_replicas and target_replicas from allowed_replicas. */
void target_finish(struct group_choice *choice);

#endif
