/* Idle termination: the whole RayCluster, head included, is suspended or deleted when nothing has
 * used it for a time, and resumed when it is wanted again. Doubt counts as use.
 *
 * A pass reads only the state of Ray: pending demand, requests and the use of each node. Since when
 * nothing of this was there is a mark of memory, so a new process begins the time again. It
 * also begins again with a new head, after each doubt, and after use that only the lists of the GCS show:
 * a driver, or an actor without resources. These are read when the time has passed
 * (CLUSTER_READ_WORK), and the pass decides again with them.
 *
 * Work may arrive between these lists and the end of the head. So Ray is read once more after the
 * patch, and a cluster that is used is resumed at once.
 *
 * warmWorkers and minReplicas keep workers, not the cluster. A request annotation and an active
 * schedule keep the cluster, and resume one that this program has suspended: the same two, so that
 * it is not suspended again while they hold.
 *
 * Names of Ray 2.60, which does the same in its autoscaler: idleTerminationOptions of the RayCluster
 * (timeoutSeconds, policy) is followed where the RayClusterAutoscaler has no idleTermination; a
 * cluster with idleSuspend was suspended by Ray and is left alone. */
#ifndef FEATURE_IDLE_TERMINATION_CORE_IDLE_H
#define FEATURE_IDLE_TERMINATION_CORE_IDLE_H

#include "core/decide/feature.h"

/* Of a plan. */
struct plan_idle {
	enum cluster_action action;
	time_ms since; /* it is idle since then; TIME_NONE: it is not, or that is unknown */
	time_ms until; /* then it ends, if it stays idle; TIME_NONE with `since` */
	enum reason reason;
	const char *message;
};

extern const struct decision_feature idle_termination_decisions;

#endif
