/* Idle termination in the objects and tables of core/model: its settings, and its rows in the tables of
 * core/model/reason.h and of lint. */
#ifndef FEATURE_IDLE_TERMINATION_MODEL_IDLE_TERMINATION_H
#define FEATURE_IDLE_TERMINATION_MODEL_IDLE_TERMINATION_H

#include <stdint.h>

#define IDLE_AFTER_SECONDS_DEFAULT 1800
#define IDLE_AFTER_SECONDS_MIN 60
#define IDLE_AFTER_SECONDS_MAX (30 * 86400)
#define IDLE_ACTION_SUSPEND "Suspend"
#define IDLE_ACTION_DELETE "Delete"

/* When the whole RayCluster ends because it is not used: spec.idleTermination of a
 * RayClusterAutoscaler, or spec.idleTerminationOptions of the RayCluster (Ray 2.60). */
struct idle_termination {
	int64_t after_seconds;
	const char *action;
	const char *problem; /* NULL, or why it cannot be followed */
};

#define CONDITION_IDLE_TERMINATED "IdleTerminated"

#define IDLE_CONDITION_REASONS(X)                                                                  \
	X(CLUSTER_IDLE, "ClusterIdle", 0, "IdleTerminated: idle, and not yet for long enough",     \
	  "nothing; the message has the time")                                                     \
	X(CLUSTER_IN_USE, "ClusterInUse", 0, "IdleTerminated: something uses the cluster",         \
	  "nothing")                                                                               \
	X(IDLENESS_UNKNOWN, "IdlenessUnknown", 0, "IdleTerminated: doubt counts as use",           \
	  "see the message")                                                                       \
	X(IDLE_TERMINATION_BLOCKED, "IdleTerminationBlocked", 0,                                   \
	  "IdleTerminated: not allowed for this RayCluster", "see the message")                    \
	X(IDLE_TERMINATED, "IdleTerminated", 0, "IdleTerminated: suspended or deleted",            \
	  "the message has the command")                                                           \
	X(CLUSTER_RESUMED, "Resumed", 0, "IdleTerminated: wanted again", "nothing")

#define IDLE_EVENTS(X)                                                                             \
	X(IDLE_TERMINATED, NORMAL, "IdleTerminated",                                               \
	  "an idle RayCluster was suspended or deleted", "the message has the command")            \
	X(RESUMED, NORMAL, "Resumed", "a suspended RayCluster is wanted again", "nothing")

/* The rows of lint about it: see feature/lint/core/lint_rule.h. */
#define IDLE_LINT_RULES(T, N, S)                                                                   \
	S(IDLE_DELETE_RIGHT, INFO, "idle-delete-right", idle_delete_problem,                       \
	  "`action: Delete` needs a right",                                                        \
	  "install the chart with `idleTermination.allowDelete`")                                  \
	S(IDLE_TERMINATION_BLOCKED, WARNING, "idle-termination-blocked", idle_owner_problem,       \
	  "a RayJob, RayService or Kueue decides when the RayCluster runs",                        \
	  "remove `idleTermination`")

#endif
