/* Nodes under repair: a Node with a sign that it is sick (repair_signal.h) is emptied of the workers of the RayCluster
 * before they are ended: its workers serve no new demand, a replacement starts first, Ray is notified with
 * repair.deadlineSeconds when the replacement has registered, and idle workers end at once (planned_end of
 * core/decide/facts.h). A busy worker is ended only with repair.deletes, after that deadline.
 *
 * - A sign that ends before Ray was notified undoes everything. One that does not last --repair-after-seconds does
 *   nothing. For REPAIR_ENDED_MS after a sign ended while its Node was emptied, one there must last REPAIR_RETURNED_MS.
 * - At most repair.maxUnavailable Nodes of the RayCluster, and of each GPUPool, are emptied at once: first those that have begun, by memory or by
 *   work that Ray drains there, so also after a restart and without a new grant, then the longest. The next one begins when no worker of the group starts, so a sign on all Nodes empties one. A
 *   controller limits the Nodes of all its RayClusters as well (repair_grants.h).
 * - A Node that still takes the Pods is not emptied: their replacement could be scheduled there, and be replaced in
 *   turn. Cordon or taint it.
 * - A tainted device is a sign for the workers that have it by a claim which does not tolerate the taint.
 * - The head is not moved.
 * - The annotation rayscaler.dev/do-not-disrupt keeps a worker, and with it its replica. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_H
#define FEATURE_REPAIR_CORE_REPAIR_H

#include "core/decide/feature.h"
#include "feature/repair/core/plan_repair.h"

#define REPAIR_ENDED_MS (3600 * MS_PER_SECOND)
#define REPAIR_RETURNED_MS (600 * MS_PER_SECOND)

const char *repair_state_name(enum repair_state state);

extern const struct decision_feature repair_decisions;

#endif
