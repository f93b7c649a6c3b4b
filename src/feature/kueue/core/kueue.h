/* Beside Kueue's elastic jobs. KubeRay's Pods have a gate until Kueue admits the Workload of the
 * RayCluster with its present counts; all worker groups are one Workload, which Kueue admits as a whole.
 *
 * - A launch keeps its gate, and its place in the queue, for any time. Its Pods are not admitted, so
 *   cancelling them gives nothing back.
 * - Those that do not fit are cancelled where this serves demand: another group has the same resources,
 *   or they hold back other launches. So RayClusters ask for what fits, in the order of the groups. The
 *   group is then in back-off with cause KueueQuota: until its end it is not asked for again, and each
 *   further refusal doubles it.
 * - Nothing that is admitted is cancelled: only gated Pods, no more than the Workload asks for beside
 *   what is admitted, and none when its condition is about other counts.
 *
 * With lowerWhileSuspended, replicas above minReplicas are lowered while Kueue has the RayCluster
 * suspended: otherwise, after a preemption, it waits until all that it had fits again.
 *
 * Pure; the Workload is that of the snapshot (feature/kueue/ctl/kueue_reader.h). Without it the gates alone count. */
#ifndef FEATURE_KUEUE_CORE_KUEUE_H
#define FEATURE_KUEUE_CORE_KUEUE_H

#include "core/decide/feature.h"

extern const struct decision_feature kueue_decisions;

/* Whether the plan has a Pod that waits at that gate, so that its Workload is of interest. */
bool kueue_is_awaited(const struct plan *plan);

#endif
