/* Pods that wait for an admission queue: one table of their owners, with where each says it.
 *
 * - A launch keeps its place in the queue for any time. Its Pods are not admitted, so cancelling them gives nothing
 *   back; and each launch that is cancelled starts again at the end of the queue.
 * - It moves on where another group with the same resources has not been tried: the group is then in back-off with
 *   cause QuotaGate, until its end it is not asked for again, and each further refusal doubles it.
 * - Kueue admits a RayCluster as a whole, with all of its groups (one Workload). A step that it refuses is asked for in
 *   part: with several groups, without the one that waits longest; else half of it. One replica keeps its place.
 *   The refusal is read from type and reason of the Workload's condition.
 * - kube-scheduler places Pods of one PodGroup (KEP-4671) together, in steps (feature/native_gangs). One that is not placed
 *   in the time of a Node is asked for in part in the same way, and each part has that time. A Pod that fits no Node at
 *   all gives way alone. The condition of a PodGroup is not read: it is final with the first success (1.37), and says
 *   nothing of later steps.
 * - Nothing that is admitted is cancelled: only Pods that wait, no more than the Workload asks for beside
 *   what is admitted, and none when its condition is about other counts.
 *
 * With lowerWhileSuspended, replicas above minReplicas are lowered while Kueue has the RayCluster
 * suspended: otherwise, after a preemption, it waits until all that it had fits again.
 *
 * Pure; the Workload is that of the snapshot (feature/queue/ctl/kueue_reader.h). Without it the gates alone count. */
#ifndef FEATURE_QUEUE_CORE_QUEUE_H
#define FEATURE_QUEUE_CORE_QUEUE_H

#include "core/decide/feature.h"

extern const struct decision_feature queue_decisions;

/* Whether the Pod waits at the gate of Kueue's elastic jobs, so that its Workload is of interest. */
bool queue_reads_workload(const struct pod *pod);

#endif
