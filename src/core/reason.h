/* Every reason that a plan can give, in one place: groups, terminations, workers, demand that is
 * not served, causes of a back-off and conditions. docs/DECISIONS.md, events and metrics use the
 * same words; they are part of what users grep for, so a name is never changed, only added.
 * Must not hold messages: those are made by explain, with the figures of the case. */
#ifndef CORE_REASON_H
#define CORE_REASON_H

/* X(identifier, word, meaning) */
#define REASON_GROUP_TABLE(X)                                                                      \
	X(SCALE_UP_DEMAND, "ScaleUpDemand", "pending tasks, actors or placement groups")           \
	X(SCALE_UP_REQUEST, "ScaleUpRequest", "request_resources or its annotation")               \
	X(SCALE_UP_MIN_REPLICAS, "ScaleUpMinReplicas", "fewer workers than minReplicas")           \
	X(REPLICAS_REPAIRED, "ReplicasRepaired", "replicas was below the workers that live")       \
	X(SCALE_DOWN_IDLE, "ScaleDownIdle", "idle longer than the timeout")                        \
	X(SCALE_DOWN_DRAINED, "ScaleDownDrained", "Ray has drained the worker")                    \
	X(SCALE_DOWN_MAX_REPLICAS, "ScaleDownMaxReplicas", "more than maxReplicas")                \
	X(SCALE_DOWN_UNNEEDED, "ScaleDownUnneeded", "own launches that nothing needs any more")    \
	X(SCALE_DOWN_BACK_OFF, "ScaleDownBackOff", "Pods of a group that brings no capacity")      \
	X(WORKER_RECYCLED, "WorkerRecycled", "workers whose raylet is gone")                       \
	X(WORKERS_TO_DELETE_CLEARED, "WorkersToDeleteCleared", "names of Pods that are gone")

#define REASON_TERMINATE_TABLE(X)                                                                  \
	X(IDLE, "Idle", "idle longer than its timeout")                                            \
	X(DRAINED, "Drained", "draining for Ray, with nothing in use")                             \
	X(RAYLET_GONE, "RayletGone", "the Pod runs, its raylet is dead")                           \
	X(POD_FINISHED, "PodFinished", "the Pod has ended")                                        \
	X(START_TIMEOUT, "StartTimeout", "no raylet within start-timeout-seconds")                 \
	X(LAUNCH_UNNEEDED, "LaunchUnneeded", "an own launch that nothing needs any more")          \
	X(GROUP_BACKED_OFF, "GroupBackedOff", "pending in a group that brings no capacity")        \
	X(REPLICA_INCOMPLETE, "ReplicaIncomplete", "other hosts of its replica are gone")          \
	X(ABOVE_MAX_REPLICAS, "AboveMaxReplicas", "above maxReplicas of its group")

#define REASON_WORKER_TABLE(X)                                                                     \
	X(BUSY, "Busy", "something runs there")                                                    \
	X(BELOW_IDLE_TIMEOUT, "BelowIdleTimeout", "idle, not yet for long enough")                 \
	X(NEEDED_BY_DEMAND, "NeededByDemand", "pending demand has its place there")                \
	X(NEEDED_BY_REQUEST, "NeededByRequest", "request_resources or its annotation")             \
	X(NEEDED_BY_MIN_REPLICAS, "NeededByMinReplicas", "minReplicas keeps it")                   \
	X(NEEDED_BY_REPLICA, "NeededByReplica", "another host of its replica is in use")           \
	X(WAITING_FOR_NODE, "WaitingForNode", "the Pod is Unschedulable")                          \
	X(QUOTA_GATED, "QuotaGated", "a scheduling gate holds the Pod")                            \
	X(SCHEDULING, "Scheduling", "no Node yet")                                                 \
	X(CONTAINER_STARTING, "ContainerStarting", "images or container are not ready")            \
	X(RAYLET_STARTING, "RayletStarting", "the container runs, Ray does not know the raylet")   \
	X(DRAINING, "Draining", "Ray drains it, something is still in use")                        \
	X(BEING_DELETED, "BeingDeleted", "the Pod is deleted or named in workersToDelete")         \
	X(RAY_UNREACHABLE, "RayUnreachable", "nothing is known of its work")                       \
	X(STATE_UNKNOWN, "StateUnknown", "Ray gives no status that is known here")                 \
	X(GROUP_REMOVED, "GroupRemoved", "its group is not in the RayCluster")                     \
	X(GROUP_SUSPENDED, "GroupSuspended", "its group is suspended")                             \
	X(TERMINATION_FORBIDDEN, "TerminationForbidden", "something in the cluster is invalid")

#define REASON_DEMAND_TABLE(X)                                                                     \
	X(NO_GROUP_FITS, "NoGroupFits", "no empty worker of any group has it")                     \
	X(FRACTION_ABOVE_ONE, "FractionAboveOne", "GPU amounts above 1 are whole numbers")         \
	X(BAD_AMOUNT, "BadAmount", "an amount that no machine has")                                \
	X(GANG_TOO_LARGE, "GangTooLarge", "does not fit on the cluster at its maxima")             \
	X(MAX_REPLICAS, "MaxReplicas", "the group that would serve it is at its maximum")          \
	X(MAX_GPUS, "MaxGPUs", "a ceiling on GPUs is reached")                                     \
	X(LAUNCH_LIMIT, "LaunchLimit", "more than one decision launches")                          \
	X(BACK_OFF, "BackOff", "the group that would serve it brings no capacity")                 \
	X(GROUP_IS_SUSPENDED, "GroupSuspended", "the group that would serve it is suspended")      \
	X(GROUP_INVALID, "GroupInvalid", "a group cannot be read, so nobody knows if it fits")     \
	X(LIVING_WORKERS_ONLY, "LivingWorkersOnly", "only the head or a living worker has it")     \
	X(FRAGMENTED, "Fragmented", "could be served, but not beside what is placed already")

#define REASON_CAUSE_TABLE(X)                                                                      \
	X(SCALE_GATE, "ScaleGate", "scaleStrategy.scaleGate holds the group")                      \
	X(QUOTA_GATE, "QuotaGate", "a scheduling gate holds its Pods")                             \
	X(POD_CREATION_FAILED, "PodCreationFailed", "the operator cannot create its Pods")         \
	X(NO_NODE, "NoNode", "its Pods fit on no Node and no node autoscaler will add one")        \
	X(NODE_PROVISION_TIMEOUT, "NodeProvisionTimeout", "Unschedulable for too long")            \
	X(POD_FAILED, "PodFailed", "its Pods fail before they join")                               \
	X(RAYLET_START_TIMEOUT, "StartTimeout", "its Pods do not join in time")

#define REASON_CONDITION_TABLE(X)                                                                  \
	X(DEMAND_READ, "DemandRead", "ScalingActive: demand and idleness were read from Ray")      \
	X(DEMAND_UNAVAILABLE, "DemandUnavailable", "ScalingActive: Ray is unreachable")            \
	X(AUTOSCALING_DISABLED, "AutoscalingDisabled", "ScalingActive: not switched on")           \
	X(UNMANAGED, "Unmanaged", "ScalingActive: annotation rayscaler.dev/managed is false")      \
	X(MANAGED_ELSEWHERE, "ManagedElsewhere", "ScalingActive: spec.managedBy")                  \
	X(SUSPENDED, "Suspended", "ScalingActive: spec.suspend")                                   \
	X(DELETING, "Deleting", "ScalingActive: the RayCluster is being deleted")                  \
	X(PAUSED, "Paused", "ScalingActive: the RayClusterAutoscaler is paused")                   \
	X(SECOND_AUTOSCALER, "SecondAutoscaler", "ScalingActive: another autoscaler runs")         \
	X(READY_FOR_NEW_SCALE, "ReadyForNewScale", "AbleToScale: nothing is in the way")           \
	X(BACKED_OFF, "BackedOff", "AbleToScale: a group brings no capacity")                      \
	X(DESIRED_WITHIN_RANGE, "DesiredWithinRange", "ScalingLimited: no limit was reached")      \
	X(TOO_MANY_REPLICAS, "TooManyReplicas", "ScalingLimited: a maximum was reached")           \
	X(TOO_FEW_REPLICAS, "TooFewReplicas", "ScalingLimited: a minimum was reached")             \
	X(INVALID_REQUEST, "InvalidRequest", "InvalidRequest: a field or annotation is no good")   \
	X(REPLICAS_REVERTED, "ReplicasReverted", "ReplicasReverted: somebody undoes our patches")

/* REASON_IDLE and so on, as strings. */
#define X(identifier, word, meaning)                                                               \
	__attribute__((unused)) static const char REASON_##identifier[] = word;
REASON_GROUP_TABLE(X)
REASON_TERMINATE_TABLE(X)
REASON_WORKER_TABLE(X)
REASON_DEMAND_TABLE(X)
REASON_CAUSE_TABLE(X)
REASON_CONDITION_TABLE(X)
#undef X

#endif
