/* Every reason that a plan can give, in one place: groups, terminations, workers, demand that is
 * not served, causes of a backoff, conditions and Events. The log, metrics and docs/REASONS.md
 * (made from these tables: make docs) use the same words; users search for them, so a name is never
 * changed, only added. Must not contain messages: explain and decision_event write those with the values of
 * the case. */
#ifndef CORE_MODEL_REASON_H
#define CORE_MODEL_REASON_H

#include <stdbool.h>

#include "feature_model.h"

/* The uses of a reason, apart from its word. */
enum reason_trait {
	TRAIT_UP = 1,   /* of a group: a decision that raises replicas may have it */
	TRAIT_DOWN = 2, /* of a group: a decision that lowers them, or deletes Pods */
	TRAIT_BLOCKS =
		4, /* of a worker: if idle past its timeout, it has the Event ScaleDownBlocked */
	TRAIT_KEEPS = 8,    /* of a worker: something else than the idle timeout keeps it */
	TRAIT_MAXIMUM = 16, /* of demand: the condition ScalingLimited calls it TooManyReplicas */
	TRAIT_POOL =
		32, /* of demand: it waits for a pool, and ScalingLimited has the same reason */
	TRAIT_EVENT = 64,       /* of a condition: core/report/decision_event has a row for it */
	TRAIT_NO_OBJECT = 1024, /* of a condition: the RayCluster gets no RayClusterAutoscaler */
	TRAIT_GOOD = 128,       /* of a condition: as it should be */
	TRAIT_CALM = 256,       /* of a condition: nothing to correct */
	TRAIT_FAINT = 512,      /* of a condition: a note */
	TRAIT_IDLE = 2048,      /* of a termination: the worker is idle too long */
	TRAIT_OUTLASTS = 4096,  /* of a cause: a worker that registers does not end the backoff */
};

/* X(identifier, word, traits, meaning, what to do); the last rows of each table are those of features. */
#define REASON_GROUP_TABLE(X)                                                                      \
	X(SCALE_UP_DEMAND, "ScaleUpDemand", TRAIT_UP, "pending tasks, actors or placement groups", \
	  "nothing: workers are on their way")                                                     \
	X(SCALE_UP_REQUEST, "ScaleUpRequest", TRAIT_UP, "request_resources or its annotation",     \
	  "nothing; an empty request cancels it")                                                  \
	X(SCALE_UP_MIN_REPLICAS, "ScaleUpMinReplicas", TRAIT_UP, "fewer workers than minReplicas", \
	  "nothing; lower minReplicas to have fewer")                                              \
	X(SCALE_UP_SCHEDULE, "ScaleUpSchedule", TRAIT_UP,                                          \
	  "a schedule of the RayClusterAutoscaler", "nothing")                                     \
	X(REPLICAS_REPAIRED, "ReplicasRepaired", TRAIT_UP | TRAIT_DOWN,                            \
	  "replicas was below the number of living workers",                                       \
	  "leave replicas to rayscaler; minReplicas and maxReplicas are yours")                    \
	X(SCALE_UP_REPLACEMENT, "ScaleUpReplacement", TRAIT_UP,                                    \
	  "replacements for workers that Kubernetes is about to evict",                            \
	  "nothing: replacements are on their way")                                                \
	X(SCALE_UP_WARM_WORKERS, "ScaleUpWarmWorkers", TRAIT_UP,                                   \
	  "fewer free workers than warmWorkers",                                                   \
	  "lower warmWorkers of the RayClusterAutoscaler to keep fewer")                           \
	X(SCALE_DOWN_LEAVING, "ScaleDownLeaving", TRAIT_DOWN,                                      \
	  "evicted workers need no (further) replacement", "nothing: none is deleted for this")    \
	X(SCALE_DOWN_IDLE, "ScaleDownIdle", TRAIT_DOWN, "idle longer than the timeout",            \
	  "nothing; idleTimeoutSeconds says how long a worker waits")                              \
	X(SCALE_DOWN_GANG, "ScaleDownGang", TRAIT_DOWN,                                            \
	  "part of a placement group or replica whose rest has not come",                          \
	  "see the cause of the backoff; gangHoldSeconds says how long a part waits")              \
	X(SCALE_DOWN_DRAINED, "ScaleDownDrained", TRAIT_DOWN, "Ray has drained the worker",        \
	  "nothing")                                                                               \
	X(SCALE_DOWN_MAX_REPLICAS, "ScaleDownMaxReplicas", TRAIT_DOWN, "more than maxReplicas",    \
	  "nothing; raise maxReplicas to keep more")                                               \
	X(SCALE_DOWN_UNNEEDED, "ScaleDownUnneeded", TRAIT_DOWN,                                    \
	  "rayscaler's own launches that nothing needs any more", "nothing")                       \
	X(SCALE_DOWN_BACK_OFF, "ScaleDownBackOff", TRAIT_DOWN,                                     \
	  "pending Pods of a group in backoff", "see the cause of the backoff")                    \
	X(WORKER_RECYCLED, "WorkerRecycled", TRAIT_UP | TRAIT_DOWN, "workers whose raylet died",   \
	  "if it repeats: read the worker's log (memory)")                                         \
	X(WORKERS_TO_DELETE_CLEARED, "WorkersToDeleteCleared", TRAIT_UP | TRAIT_DOWN,              \
	  "names of deleted Pods were removed from workersToDelete", "nothing")                    \
	X(SCALE_DOWN_RELEASED, "ScaleDownReleased", TRAIT_DOWN, "workers released by a GPUPool",   \
	  "nothing")                                                                               \
	FEATURE_GROUP_REASONS(X)

#define REASON_TERMINATE_TABLE(X)                                                                  \
	X(IDLE, "Idle", TRAIT_IDLE, "idle longer than its timeout",                                \
	  "nothing; idleTimeoutSeconds says how long a worker waits")                              \
	X(DRAINED, "Drained", 0, "draining for Ray, with nothing in use", "nothing")               \
	X(PART_OF_GANG, "GangIncomplete", 0,                                                       \
	  "the rest of its placement group or replica has not come in gangHoldSeconds",            \
	  "see the cause of the backoff")                                                          \
	X(RAYLET_GONE, "RayletGone", 0, "the Pod runs, its raylet is dead",                        \
	  "read the worker's log: memory, and the network to the head")                            \
	X(POD_FINISHED, "PodFinished", 0, "the Pod has ended",                                     \
	  "if it repeats: read the Pod's status and log")                                          \
	X(START_TIMEOUT, "StartTimeout", 0, "no raylet within start-timeout-seconds",              \
	  "read the worker's log; raise --start-timeout-seconds if starting takes that long")      \
	X(LAUNCH_UNNEEDED, "LaunchUnneeded", 0,                                                    \
	  "rayscaler's own launch that nothing needs any more", "nothing")                         \
	X(GROUP_BACKED_OFF, "GroupBackedOff", 0, "pending in a group in backoff",                  \
	  "see the cause of the backoff")                                                          \
	X(REPLICA_INCOMPLETE, "ReplicaIncomplete", 0, "other hosts of its replica have failed",    \
	  "nothing: the operator recreates the whole replica")                                     \
	X(ABOVE_MAX_REPLICAS, "AboveMaxReplicas", 0, "above maxReplicas of its group",             \
	  "nothing; raise maxReplicas to keep it")                                                 \
	X(RELEASED_FOR_OTHERS, "ReleasedForOthers", 0,                                             \
	  "its GPUPool gives its GPUs to a RayCluster that waits",                                 \
	  "raise guaranteed of its queue to keep it")                                              \
	FEATURE_TERMINATE_REASONS(X)

#define REASON_WORKER_TABLE(X)                                                                            \
	X(NEEDED_BY_DEMAND, "NeededByDemand", TRAIT_BLOCKS | TRAIT_KEEPS,                                 \
	  "pending demand is placed on it", "nothing: Ray is about to use it")                            \
	X(NEEDED_BY_PLACEMENT_GROUP, "NeededByPlacementGroup", TRAIT_BLOCKS | TRAIT_KEEPS,                \
	  "a waiting placement group would use it", "end the work that the group waits for")              \
	X(NEEDED_BY_REQUEST, "NeededByRequest", TRAIT_BLOCKS | TRAIT_KEEPS,                               \
	  "request_resources or its annotation",                                                          \
	  "call request_resources(bundles=[]), or remove the annotation rayscaler.dev/request-resources") \
	X(NEEDED_BY_REPLICA, "NeededByReplica", TRAIT_BLOCKS | TRAIT_KEEPS,                               \
	  "another host of its replica is in use", "nothing: a replica is terminated as a whole")         \
	X(STATE_UNKNOWN, "StateUnknown", TRAIT_BLOCKS, "Ray reports an unknown status",                   \
	  "the message has Ray's value; check the version of Ray")                                        \
	X(GROUP_REMOVED, "GroupRemoved", TRAIT_BLOCKS, "its group is not in the RayCluster",              \
	  "nothing; delete the Pod by hand if you do not need it")                                        \
	X(GROUP_SUSPENDED, "GroupSuspended", TRAIT_BLOCKS, "its group is suspended",                      \
	  "set suspend of the group to false")                                                            \
	X(TERMINATION_FORBIDDEN, "TerminationForbidden", TRAIT_BLOCKS,                                    \
	  "something in the cluster is invalid",                                                          \
	  "fix the field that the condition InvalidRequest names")                                        \
	X(BUSY, "Busy", 0, "something runs on it",                                                        \
	  "the message has Ray's report; end the work, or wait")                                          \
	X(BELOW_IDLE_TIMEOUT, "BelowIdleTimeout", 0, "idle for less than its timeout",                    \
	  "wait, or lower idleTimeoutSeconds")                                                            \
	X(NEEDED_BY_MIN_REPLICAS, "NeededByMinReplicas", TRAIT_KEEPS, "minReplicas keeps it",             \
	  "lower minReplicas")                                                                            \
	X(WARM_WORKER, "WarmWorker", 0, "warmWorkers of the RayClusterAutoscaler keeps it",               \
	  "lower its count there")                                                                        \
	X(NEEDED_BY_SCHEDULE, "NeededBySchedule", TRAIT_KEEPS, "a schedule keeps it", "nothing")          \
	X(DO_NOT_DISRUPT, "DoNotDisrupt", 0,                                                              \
	  "the annotation rayscaler.dev/do-not-disrupt of its Pod", "remove the annotation")              \
	X(WAITING_FOR_NODE, "WaitingForNode", 0, "the Pod is Unschedulable",                              \
	  "kubectl describe pod has the messages of scheduler and node autoscaler")                       \
	X(QUOTA_GATED, "QuotaGated", 0, "a scheduling gate of an unknown owner holds the Pod",            \
	  "find who set the gate that the message names")                                                 \
	X(SCHEDULING, "Scheduling", 0, "no Node yet", "nothing")                                          \
	X(CONTAINER_STARTING, "ContainerStarting", 0, "images or container are not ready",                \
	  "kubectl describe pod, if it takes too long")                                                   \
	X(CONTAINER_FAILS, "ContainerFails", 0, "a container of the Pod fails, or cannot start",          \
	  "the message has its name, reason, exit code and last words; read its log")                     \
	X(RAYLET_STARTING, "RayletStarting", 0,                                                           \
	  "the container runs, Ray does not know the raylet",                                             \
	  "read the worker's log if it takes too long")                                                   \
	X(DRAINING, "Draining", 0, "Ray drains it, something is still in use",                            \
	  "nothing: it is terminated when its work has ended")                                            \
	X(LEAVING, "Leaving", 0, "Kubernetes is about to evict the Pod or delete its Node",               \
	  "nothing: a busy worker gets a replacement first, where maxReplicas has room")                  \
	X(BEING_DELETED, "BeingDeleted", 0, "the Pod is deleted or named in workersToDelete",             \
	  "nothing")                                                                                      \
	X(RAY_UNREACHABLE, "RayUnreachable", 0, "its work is unknown", "see DemandUnavailable")           \
	X(POD_UNREADABLE, "PodUnreadable", 0, "its Pod cannot be read, so it counts as busy",             \
	  "correct or delete the Pod; the message names the field")                                       \
	X(WORKER_VIEW_STALE, "ViewStale", 0,                                                              \
	  "the caches of the API server are stale, nothing is terminated",                                \
	  "see the condition ViewStale")                                                                  \
	FEATURE_WORKER_REASONS(X)

#define REASON_DEMAND_TABLE(X)                                                                     \
	X(NO_GROUP_FITS, "NoGroupFits", 0, "it fits on no empty worker of any group",              \
	  "request less, or add the resource that the message names to a group")                   \
	X(FRACTION_ABOVE_ONE, "FractionAboveOne", 0, "GPU amounts above 1 are whole numbers",      \
	  "request whole GPUs")                                                                    \
	X(BAD_AMOUNT, "BadAmount", 0, "the amount is not valid for any machine",                   \
	  "fix the amount in the program")                                                         \
	X(GANG_TOO_LARGE, "GangTooLarge", 0, "does not fit on the cluster at its maxima",          \
	  "raise maxReplicas, or make the placement group smaller")                                \
	X(MAX_REPLICAS, "MaxReplicas", TRAIT_MAXIMUM,                                              \
	  "maxReplicas of the group leaves no room for it", "raise maxReplicas, or wait")          \
	X(MAX_GPUS, "MaxGPUs", TRAIT_MAXIMUM, "a GPU limit is reached",                            \
	  "raise the limit that the message names, or wait")                                       \
	X(LAUNCH_LIMIT, "LaunchLimit", 0, "above the limit of launches in one decision",           \
	  "nothing: the next decisions launch the rest")                                           \
	X(BACK_OFF, "BackOff", 0, "the group that would serve it is in backoff",                   \
	  "see the cause of the backoff")                                                          \
	X(GROUP_IS_SUSPENDED, "GroupSuspended", 0, "the group that would serve it is suspended",   \
	  "set suspend of the group to false")                                                     \
	X(GROUP_INVALID, "GroupInvalid", 0, "a group is invalid, so its fit is unknown",           \
	  "fix the field that the condition InvalidRequest names")                                 \
	X(LIVING_WORKERS_ONLY, "LivingWorkersOnly", 0,                                             \
	  "only the head or a living worker provides it",                                          \
	  "wait, or give a group the resource that only those have")                               \
	X(FRAGMENTED, "Fragmented", 0,                                                             \
	  "fits a group, but not beside the demand that is already placed",                        \
	  "wait, or raise maxReplicas")                                                            \
	X(WAITS_FOR_PLACEMENT_GROUP, "WaitsForPlacementGroup", 0,                                  \
	  "only its placement group provides it", "nothing: it runs when the group has room")      \
	X(MODEL_UNKNOWN, "ModelUnknown", 0, "an accelerator type of a group that names no model",  \
	  "write the line of the message into the group")                                          \
	X(WORKER_LACKS, "WorkerLacks", 0,                                                          \
	  "a worker lacks a resource of the template of its group",                                \
	  "fix the template: the message has both figures")                                        \
	X(WAITS_FOR_POOL, "WaitsForPool", TRAIT_POOL,                                              \
	  "its GPUPool has no GPUs left for it, or no Node with room", "wait")                     \
	X(RESERVED_FOR_GANG, "ReservedForGang", TRAIT_POOL,                                        \
	  "its GPUPool keeps GPUs for a placement group", "wait")                                  \
	FEATURE_DEMAND_REASONS(X)

#define REASON_CAUSE_TABLE(X)                                                                        \
	X(SCALE_GATE, "ScaleGate", 0, "scaleStrategy.scaleGate holds the group",                     \
	  "check the quota system that set the gate")                                                \
	X(QUOTA_GATE, "QuotaGate", 0,                                                                \
	  "a scheduling gate or the quota of their queue holds its Pods",                            \
	  "check the quota of the queue that the message names")                                     \
	X(POD_CREATION_FAILED, "PodCreationFailed", 0, "the operator cannot create its Pods",        \
	  "see the message: usually a ResourceQuota or an admission webhook")                        \
	X(NO_NODE, "NoNode", 0, "its Pods fit on no Node and no node autoscaler will add one",       \
	  "check node selectors, taints and requests of the group, and limits of the node pool")     \
	X(NODE_PROVISION_TIMEOUT, "NodeProvisionTimeout", 0, "Unschedulable for too long",           \
	  "check the node autoscaler and the cloud's capacity; --node-provision-timeout-seconds")    \
	X(POD_FAILED, "PodFailed", 0, "its Pods fail before they register",                          \
	  "read the Pod's log and status")                                                           \
	X(RAYLET_START_TIMEOUT, "StartTimeout", 0, "its Pods do not register in time",               \
	  "read the worker's log; raise --start-timeout-seconds if starting takes that long")        \
	X(GANG_INCOMPLETE, "GangIncomplete", TRAIT_OUTLASTS,                                         \
	  "a part of a placement group or replica has waited for the rest for gangHoldSeconds",      \
	  "see why its Pods do not start; raise gangHoldSeconds if starting takes that long")        \
	X(REFUSED, "RefusedByKubeRay", 0,                                                            \
	  "KubeRay refuses the RayCluster: no patch has an effect",                                  \
	  "correct the field that KubeRay's message names")                                          \
	X(NO_PODS, "ReplicasWithoutPods", 0, "KubeRay has created no Pod for 3 minutes",             \
	  "check KubeRay's operator: is it running, what does its log say of the RayCluster")        \
	X(HELD_BY_DELETION, "PodTerminating", 0,                                                     \
	  "KubeRay leaves a group alone while a Pod is there that it has deleted",                   \
	  "the message names the Pod: remove its finalizer; delete it by force if its Node is lost") \
	X(REPLICAS_RESET, "ReplicasReverted", TRAIT_OUTLASTS,                                        \
	  "another writer reverts its replicas", "keep replicas out of GitOps and of scripts")       \
	FEATURE_CAUSES(X)

/* The meaning starts with the type of the condition. */
#define REASON_CONDITION_TABLE(X)                                                                         \
	X(DEMAND_READ, "DemandRead", TRAIT_GOOD,                                                          \
	  "ScalingActive: demand and idle times were read from Ray", "nothing")                           \
	X(DEMAND_UNAVAILABLE, "DemandUnavailable", TRAIT_EVENT,                                           \
	  "ScalingActive: Ray is unreachable",                                                            \
	  "see the message: the head Pod, its network, or the token")                                     \
	X(DEMAND_TOO_LARGE, "DemandTooLarge", TRAIT_EVENT,                                                \
	  "ScalingActive: Ray's reply is above a limit of memory or size, so demand is unknown",          \
	  "the message names the limit and who uses it: fewer different bundles, or a higher limit")      \
	X(VIEW_STALE, "ViewStale", TRAIT_EVENT,                                                           \
	  "ScalingActive: the caches of the API server are stale",                                        \
	  "see the message: the API server, or a missing right")                                          \
	X(HEAD_STARTING, "HeadStarting", TRAIT_CALM,                                                      \
	  "ScalingActive: Ray is unreachable, the head Pod has not been Ready yet",                       \
	  "nothing; if it takes long: kubectl describe pod of the head")                                  \
	X(HEAD_UNCERTAIN, "HeadUncertain", TRAIT_EVENT,                                                   \
	  "ScalingActive: the head Pod, or the identity of its GCS, is uncertain",                        \
	  "delete the Pod that is not the head; the message names them")                                  \
	X(DECISION_TOO_EXPENSIVE, "DecisionTooExpensive", TRAIT_EVENT,                                    \
	  "ScalingActive: the decision exceeded its CPU time or its memory, nothing is changed",          \
	  "request fewer different bundles, or raise the flag that the message names")                    \
	X(DECISION_CUT_SHORT, "DecisionCutShort", 0,                                                      \
	  "ScalingActive, and of pending demand: CPU time or memory ended before all demand was packed",  \
	  "nothing: the next decisions go on; if it stays, raise the flag that the message names")        \
	X(AUTOSCALING_DISABLED, "AutoscalingDisabled", TRAIT_CALM | TRAIT_NO_OBJECT,                      \
	  "ScalingActive: in-tree autoscaling is off", "set spec.enableInTreeAutoscaling to true")        \
	X(UNMANAGED, "Unmanaged", TRAIT_CALM | TRAIT_NO_OBJECT,                                           \
	  "ScalingActive: annotation rayscaler.dev/managed is false",                                     \
	  "remove the annotation to have it scaled")                                                      \
	X(MANAGED_ELSEWHERE, "ManagedElsewhere", TRAIT_CALM | TRAIT_NO_OBJECT,                            \
	  "ScalingActive: spec.managedBy", "nothing: another cluster runs it")                            \
	X(CLUSTER_UNREADABLE, "RayClusterUnreadable", TRAIT_EVENT | TRAIT_NO_OBJECT,                      \
	  "ScalingActive: the RayCluster cannot be read, nothing is changed",                             \
	  "correct the field that the message names, or what it says of memory")                          \
	X(SUSPENDED, "Suspended", TRAIT_CALM | TRAIT_EVENT, "ScalingActive: spec.suspend",                \
	  "set spec.suspend to false")                                                                    \
	X(DELETING, "Deleting", TRAIT_CALM | TRAIT_NO_OBJECT,                                             \
	  "ScalingActive: the RayCluster is being deleted", "nothing")                                    \
	X(PAUSED, "Paused", TRAIT_CALM | TRAIT_EVENT,                                                     \
	  "ScalingActive: the RayClusterAutoscaler is paused",                                            \
	  "set spec.paused of the RayClusterAutoscaler to false")                                         \
	X(SECOND_AUTOSCALER, "SecondAutoscaler", TRAIT_EVENT,                                             \
	  "ScalingActive: another autoscaler runs",                                                       \
	  "run the `rayscaler adopt` that the message names")                                             \
	X(CLUSTER_MISSING, "RayClusterMissing", 0,                                                        \
	  "ScalingActive: the RayClusterAutoscaler has no RayCluster of its name",                        \
	  "correct metadata.name, or create the RayCluster")                                              \
	X(SECOND_CONTROLLER, "SecondController", TRAIT_EVENT,                                             \
	  "SecondController: two controllers decide about the RayCluster",                                \
	  "uninstall one release, or give each its own namespaces")                                       \
	X(READY_FOR_NEW_SCALE, "ReadyForNewScale", TRAIT_GOOD,                                            \
	  "AbleToScale: no group is in back-off", "nothing")                                              \
	X(BACKED_OFF, "BackedOff", 0, "AbleToScale: a group is in backoff",                               \
	  "see the cause of the backoff")                                                                 \
	X(DESIRED_WITHIN_RANGE, "DesiredWithinRange", TRAIT_GOOD,                                         \
	  "ScalingLimited: no limit was reached", "nothing")                                              \
	X(TOO_MANY_REPLICAS, "TooManyReplicas", TRAIT_CALM | TRAIT_EVENT,                                 \
	  "ScalingLimited: a maximum was reached",                                                        \
	  "raise maxReplicas or the limit that the message names")                                        \
	X(TOO_FEW_REPLICAS, "TooFewReplicas", TRAIT_CALM, "ScalingLimited: a minimum was reached",        \
	  "lower minReplicas to have fewer")                                                              \
	X(INVALID_REQUEST, "InvalidRequest", TRAIT_EVENT,                                                 \
	  "InvalidRequest: a field or annotation is invalid; ScalingActive: so is rayscaler.dev/managed", \
	  "fix the field that the message names")                                                         \
	X(REPLICAS_REVERTED, "ReplicasReverted", TRAIT_EVENT,                                             \
	  "ReplicasReverted: another writer reverts replicas",                                            \
	  "keep replicas out of GitOps and of scripts")                                                   \
	X(TEMPLATE_BROKEN, "TemplateBroken", TRAIT_EVENT,                                                 \
	  "TemplateBroken: a worker lacks a resource of its template",                                    \
	  "fix the template: the message has both figures")                                               \
	X(FOREIGN_POD, "ForeignPod", TRAIT_EVENT,                                                         \
	  "ForeignPods: Pods with the labels of the RayCluster that it does not own",                     \
	  "delete the Pods that the message names, or change their labels")                               \
	X(PODS_UNREADABLE, "PodUnreadable", TRAIT_EVENT,                                                  \
	  "PodUnreadable: a Pod cannot be read, it counts as busy",                                       \
	  "correct or delete the Pod; the message names it and the field")                                \
	X(TERMINATING, "PodTerminating", TRAIT_EVENT,                                                     \
	  "PodsTerminating: Pods are still there long after their deletion",                              \
	  "remove the Pod's finalizer; delete it by force if its Node is lost")                           \
	FEATURE_CONDITION_REASONS(X)

#define CONDITION_SECOND_CONTROLLER "SecondController"
#define CONDITION_FOREIGN_PODS "ForeignPods"
#define CONDITION_TERMINATING "PodsTerminating"
#define CONDITION_POD_UNREADABLE "PodUnreadable"

/* Events on the RayCluster (core/report/decision_event.h).
 * X(identifier, severity, word, meaning, what to do) */
#define REASON_EVENT_TABLE(X)                                                                      \
	X(TRIGGERED_SCALE_UP, NORMAL, "TriggeredScaleUp", "a group's replicas was raised",         \
	  "nothing: workers are on their way")                                                     \
	X(NOT_TRIGGER_SCALE_UP, NORMAL, "NotTriggerScaleUp",                                       \
	  "demand is pending and no worker is launched for it",                                    \
	  "the message says what limits it: maxReplicas, a GPU limit, a backoff")                  \
	X(SCALE_DOWN, NORMAL, "ScaleDown", "a group's replicas was lowered",                       \
	  "nothing: the workers were idle, drained, or never registered")                          \
	X(WORKER_REPLACED, NORMAL, "WorkerReplaced",                                               \
	  "failed workers were deleted; the operator recreates them",                              \
	  "if it repeats: read the worker's log, often it is out of memory")                       \
	X(SCALE_DOWN_BLOCKED, NORMAL, "ScaleDownBlocked", "a worker that looks unused is kept",    \
	  "end what the message names; [the rule](#when-is-a-worker-called-blocked)")              \
	X(DRAIN_DEADLINE, NORMAL, "DrainDeadline",                                                 \
	  "a worker in use ends at a time that a GPUPool or a repair sets",                        \
	  "save the state of the work: the message has the time")                                  \
	X(POD_FAILED, WARNING, "PodFailed", "a Pod or its container failed, or cannot start",      \
	  "see the message: KubeRay deletes a failed Pod at once, the Event stays")                \
	X(SCALE_UP_TIMED_OUT, WARNING, "ScaleUpTimedOut",                                          \
	  "launched workers got no Node or did not register in time",                              \
	  "see the cause NodeProvisionTimeout or StartTimeout")                                    \
	X(GROUP_BACK_OFF, WARNING, "GroupBackedOff",                                               \
	  "a group got no capacity, so nothing is launched in it for a while",                     \
	  "see the cause of the backoff")                                                          \
	X(INFEASIBLE_DEMAND, WARNING, "InfeasibleDemand", "no group could ever serve a request",   \
	  "request less, or add the resource that the message names to the closest group")         \
	X(NO_DEMAND, WARNING, "DemandUnavailable", "Ray is unreachable, so nothing is terminated", \
	  "see the message: the head Pod, its network, or the token")                              \
	X(BAD_REQUEST, WARNING, "InvalidRequest", "a field or annotation is invalid",              \
	  "fix the field that the message names")                                                  \
	X(TEMPLATE_BROKEN, WARNING, "TemplateBroken",                                              \
	  "a worker lacks a resource of its template, no more are launched for it",                \
	  "fix the template: the message has both figures")                                        \
	X(UNREADABLE, WARNING, "PodUnreadable", "a Pod cannot be read, so it counts as busy",      \
	  "correct or delete the Pod; the message names it and the field")                         \
	X(CLUSTER_UNREADABLE, WARNING, "RayClusterUnreadable",                                     \
	  "the RayCluster cannot be read, so it is not scaled",                                    \
	  "correct the field that the message names")                                              \
	X(TERMINATING, WARNING, "PodTerminating", "a Pod is still there long after its deletion",  \
	  "see the condition PodsTerminating")                                                     \
	X(REVERTED, WARNING, "ReplicasReverted",                                                   \
	  "another writer reverted replicas three times; rayscaler patches at growing intervals",  \
	  "keep replicas out of GitOps and of scripts")                                            \
	X(UNCERTAIN_HEAD, WARNING, "HeadUncertain",                                                \
	  "the head Pod, or the identity of its GCS, is uncertain: nothing is terminated",         \
	  "delete the Pod that is not the head; the message names them")                           \
	X(FOREIGN_PODS, WARNING, "ForeignPod",                                                     \
	  "Pods have the labels of the RayCluster and are not owned by it; they are ignored",      \
	  "delete the Pods that the message names, or change their labels")                        \
	X(SECOND, WARNING, "SecondAutoscaler", "another autoscaler runs, so nothing is done",      \
	  "run the `rayscaler adopt` that the message names")                                      \
	X(SCALING_LIMITED, NORMAL, "ScalingLimited", "a maximum or a GPU limit was reached",       \
	  "the message names it; it is reported once")                                             \
	X(SCALING_INACTIVE, NORMAL, "ScalingInactive",                                             \
	  "the RayCluster is not scaled, or nothing is terminated",                                \
	  "see the reason of ScalingActive, with which the message begins")                        \
	X(TWO_CONTROLLERS, WARNING, "SecondController",                                            \
	  "two controllers decide about the RayCluster",                                           \
	  "uninstall one release, or give each its own namespaces")                                \
	FEATURE_EVENTS(X)

/* DECISION_EVENT_SCALE_DOWN and so on. */
enum decision_event_reason {
	DECISION_EVENT_NONE = 0,
#define X(identifier, severity, word, meaning, cure) DECISION_EVENT_##identifier,
	REASON_EVENT_TABLE(X)
#undef X
		DECISION_EVENT_REASON_COUNT
};

/* One of the tables above; a word is unique in its table only. */
enum reason_table {
	REASONS_OF_GROUPS,
	REASONS_OF_TERMINATIONS,
	REASONS_OF_WORKERS,
	REASONS_OF_DEMAND,
	REASONS_OF_BACK_OFFS,
	REASONS_OF_CONDITIONS,
};

/* REASON_IDLE and so on, in the order of the tables. */
enum reason {
	REASON_NONE = 0, /* its word is "" */
#define X(identifier, ...) REASON_##identifier,
	REASON_GROUP_TABLE(X) REASON_TERMINATE_TABLE(X) REASON_WORKER_TABLE(X)
		REASON_DEMAND_TABLE(X) REASON_CAUSE_TABLE(X) REASON_CONDITION_TABLE(X)
#undef X
	/* A word of another version, read from what it has written. */
	REASON_UNKNOWN,
};

const char *reason_word(enum reason reason);
/* Whether it has one of these traits. */
bool reason_has(enum reason reason, unsigned traits);
enum reason_table reason_table_of(enum reason reason); /* CHECKs that it is in one */
/* From the word that was written of a reason of this table: NONE for "", UNKNOWN for others. */
enum reason reason_read(enum reason_table table, const char *word);

#endif
