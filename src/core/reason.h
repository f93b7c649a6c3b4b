/* Every reason that a plan can give, in one place: groups, terminations, workers, demand that is
 * not served, causes of a back-off, conditions and Events. The log, metrics and docs/REASONS.md (made
 * from these tables: make docs) use the same words; they are part of what users grep for, so a name is
 * never changed, only added.
 * Must not hold messages: those are made by explain and notice, with the figures of the case. */
#ifndef CORE_REASON_H
#define CORE_REASON_H

/* X(identifier, word, meaning, what to do) */
#define REASON_GROUP_TABLE(X)                                                                      \
	X(SCALE_UP_DEMAND, "ScaleUpDemand", "pending tasks, actors or placement groups",           \
	  "nothing: workers are on their way")                                                     \
	X(SCALE_UP_REQUEST, "ScaleUpRequest", "request_resources or its annotation",               \
	  "nothing; an empty request takes it back")                                               \
	X(SCALE_UP_MIN_REPLICAS, "ScaleUpMinReplicas", "fewer workers than minReplicas",           \
	  "nothing; lower minReplicas to have fewer")                                              \
	X(REPLICAS_REPAIRED, "ReplicasRepaired", "replicas was below the workers that live",       \
	  "leave replicas to rayscaler; minReplicas and maxReplicas are yours")                    \
	X(SCALE_UP_REPLACEMENT, "ScaleUpReplacement", "workers in use are about to be taken away", \
	  "nothing: replacements are on their way")                                                \
	X(SCALE_DOWN_LEAVING, "ScaleDownLeaving",                                                  \
	  "workers about to be taken away need no (further) replacement",                          \
	  "nothing: none is deleted for this")                                                     \
	X(SCALE_DOWN_IDLE, "ScaleDownIdle", "idle longer than the timeout",                        \
	  "nothing; idleTimeoutSeconds says how long a worker waits")                              \
	X(SCALE_DOWN_DRAINED, "ScaleDownDrained", "Ray has drained the worker", "nothing")         \
	X(SCALE_DOWN_MAX_REPLICAS, "ScaleDownMaxReplicas", "more than maxReplicas",                \
	  "nothing; raise maxReplicas to keep more")                                               \
	X(SCALE_DOWN_UNNEEDED, "ScaleDownUnneeded", "own launches that nothing needs any more",    \
	  "nothing")                                                                               \
	X(SCALE_DOWN_BACK_OFF, "ScaleDownBackOff", "Pods of a group that brings no capacity",      \
	  "see the cause of the back-off")                                                         \
	X(WORKER_RECYCLED, "WorkerRecycled", "workers whose raylet is gone",                       \
	  "when it repeats: the log of the worker, often it is out of memory")                     \
	X(WORKERS_TO_DELETE_CLEARED, "WorkersToDeleteCleared", "names of Pods that are gone",      \
	  "nothing")

#define REASON_TERMINATE_TABLE(X)                                                                  \
	X(IDLE, "Idle", "idle longer than its timeout",                                            \
	  "nothing; idleTimeoutSeconds says how long a worker waits")                              \
	X(DRAINED, "Drained", "draining for Ray, with nothing in use", "nothing")                  \
	X(RAYLET_GONE, "RayletGone", "the Pod runs, its raylet is dead",                           \
	  "the log of the worker: memory, and the network to the head")                            \
	X(POD_FINISHED, "PodFinished", "the Pod has ended",                                        \
	  "when it repeats: status and log of the Pod")                                            \
	X(START_TIMEOUT, "StartTimeout", "no raylet within start-timeout-seconds",                 \
	  "the log of the worker; raise --start-timeout-seconds when starting takes that long")    \
	X(LAUNCH_UNNEEDED, "LaunchUnneeded", "an own launch that nothing needs any more",          \
	  "nothing")                                                                               \
	X(GROUP_BACKED_OFF, "GroupBackedOff", "pending in a group that brings no capacity",        \
	  "see the cause of the back-off")                                                         \
	X(REPLICA_INCOMPLETE, "ReplicaIncomplete", "other hosts of its replica are gone",          \
	  "nothing: the replica is made anew as a whole")                                          \
	X(ABOVE_MAX_REPLICAS, "AboveMaxReplicas", "above maxReplicas of its group",                \
	  "nothing; raise maxReplicas to keep it")

#define REASON_WORKER_TABLE(X)                                                                       \
	X(BUSY, "Busy", "something runs there",                                                      \
	  "the message says what Ray reports; end it, or wait")                                      \
	X(BELOW_IDLE_TIMEOUT, "BelowIdleTimeout", "idle, not yet for long enough",                   \
	  "wait, or lower idleTimeoutSeconds")                                                       \
	X(NEEDED_BY_DEMAND, "NeededByDemand", "pending demand has its place there",                  \
	  "nothing: Ray is about to use it")                                                         \
	X(NEEDED_BY_REQUEST, "NeededByRequest", "request_resources or its annotation",               \
	  "request_resources(bundles=[]), or remove the annotation rayscaler.dev/request-resources") \
	X(NEEDED_BY_MIN_REPLICAS, "NeededByMinReplicas", "minReplicas keeps it",                     \
	  "lower minReplicas")                                                                       \
	X(NEEDED_BY_REPLICA, "NeededByReplica", "another host of its replica is in use",             \
	  "nothing: a replica goes as a whole")                                                      \
	X(WAITING_FOR_NODE, "WaitingForNode", "the Pod is Unschedulable",                            \
	  "kubectl describe pod: the scheduler and the node autoscaler say why")                     \
	X(QUOTA_GATED, "QuotaGated", "a scheduling gate holds the Pod",                              \
	  "the quota of the queue (Kueue or other) that holds it")                                   \
	X(SCHEDULING, "Scheduling", "no Node yet", "nothing")                                        \
	X(CONTAINER_STARTING, "ContainerStarting", "images or container are not ready",              \
	  "kubectl describe pod, when it takes too long")                                            \
	X(RAYLET_STARTING, "RayletStarting", "the container runs, Ray does not know the raylet",     \
	  "the log of the worker, when it takes too long")                                           \
	X(DRAINING, "Draining", "Ray drains it, something is still in use",                          \
	  "nothing: it goes when its work has ended")                                                \
	X(LEAVING, "Leaving", "Kubernetes is about to take the Pod or its Node away",                \
	  "nothing: what runs there gets a replacement first, where maxReplicas has room")           \
	X(BEING_DELETED, "BeingDeleted", "the Pod is deleted or named in workersToDelete",           \
	  "nothing")                                                                                 \
	X(RAY_UNREACHABLE, "RayUnreachable", "nothing is known of its work",                         \
	  "see DemandUnavailable")                                                                   \
	X(STATE_UNKNOWN, "StateUnknown", "Ray gives no status that is known here",                   \
	  "the message says what Ray sent; is this Ray newer than the ones tried?")                  \
	X(GROUP_REMOVED, "GroupRemoved", "its group is not in the RayCluster",                       \
	  "nothing; delete the Pod by hand if it is not wanted")                                     \
	X(GROUP_SUSPENDED, "GroupSuspended", "its group is suspended",                               \
	  "set suspend of the group to false")                                                       \
	X(POD_UNREADABLE, "PodUnreadable", "its Pod cannot be read, so it counts as busy",           \
	  "correct or delete the Pod; the message names the field")                                  \
	X(WORKER_VIEW_STALE, "ViewStale", "the API server is not heard of, nothing is removed",      \
	  "see the condition ViewStale")                                                             \
	X(TERMINATION_FORBIDDEN, "TerminationForbidden", "something in the cluster is invalid",      \
	  "mend what the condition InvalidRequest names")

#define REASON_DEMAND_TABLE(X)                                                                     \
	X(NO_GROUP_FITS, "NoGroupFits", "no empty worker of any group has it",                     \
	  "ask for less, or give a group what the message says is missing")                        \
	X(FRACTION_ABOVE_ONE, "FractionAboveOne", "GPU amounts above 1 are whole numbers",         \
	  "ask for whole GPUs")                                                                    \
	X(BAD_AMOUNT, "BadAmount", "an amount that no machine has",                                \
	  "mend the amount in the program")                                                        \
	X(GANG_TOO_LARGE, "GangTooLarge", "does not fit on the cluster at its maxima",             \
	  "raise maxReplicas, or make the placement group smaller")                                \
	X(MAX_REPLICAS, "MaxReplicas", "the group that would serve it is at its maximum",          \
	  "raise maxReplicas, or wait")                                                            \
	X(MAX_GPUS, "MaxGPUs", "a ceiling on GPUs is reached",                                     \
	  "raise the ceiling that the message names, or wait")                                     \
	X(LAUNCH_LIMIT, "LaunchLimit", "more than one decision launches",                          \
	  "nothing: the next decisions go on")                                                     \
	X(BACK_OFF, "BackOff", "the group that would serve it brings no capacity",                 \
	  "see the cause of the back-off")                                                         \
	X(GROUP_IS_SUSPENDED, "GroupSuspended", "the group that would serve it is suspended",      \
	  "set suspend of the group to false")                                                     \
	X(GROUP_INVALID, "GroupInvalid", "a group cannot be read, so nobody knows if it fits",     \
	  "mend what the condition InvalidRequest names")                                          \
	X(LIVING_WORKERS_ONLY, "LivingWorkersOnly", "only the head or a living worker has it",     \
	  "wait, or give a group the resource that only those have")                               \
	X(FRAGMENTED, "Fragmented", "could be served, but not beside what is placed already",      \
	  "wait, or raise maxReplicas")                                                            \
	X(WORKER_LACKS, "WorkerLacks", "a worker lacks what the template of its group promises",   \
	  "mend the template (the message has both figures); an edited one starts afresh")

#define REASON_CAUSE_TABLE(X)                                                                               \
	X(SCALE_GATE, "ScaleGate", "scaleStrategy.scaleGate holds the group",                               \
	  "the quota system that set the gate")                                                             \
	X(QUOTA_GATE, "QuotaGate", "a scheduling gate holds its Pods",                                      \
	  "the quota of the queue (Kueue or other) that holds them")                                        \
	X(POD_CREATION_FAILED, "PodCreationFailed", "the operator cannot create its Pods",                  \
	  "the message: mostly a ResourceQuota or an admission webhook")                                    \
	X(NO_NODE, "NoNode", "its Pods fit on no Node and no node autoscaler will add one",                 \
	  "node selectors, taints and requests of the group; limits of the node pool")                      \
	X(NODE_PROVISION_TIMEOUT, "NodeProvisionTimeout", "Unschedulable for too long",                     \
	  "the node autoscaler, and whether the cloud has such machines; --node-provision-timeout-seconds") \
	X(POD_FAILED, "PodFailed", "its Pods fail before they join", "log and status of the Pod")           \
	X(RAYLET_START_TIMEOUT, "StartTimeout", "its Pods do not join in time",                             \
	  "the log of the worker; raise --start-timeout-seconds when starting takes that long")             \
	X(REPLICAS_RESET, "ReplicasReverted", "somebody sets its replicas back after our patches",          \
	  "let one program own replicas: keep it out of GitOps and of scripts")

/* The meaning starts with the type of the condition. */
#define REASON_CONDITION_TABLE(X)                                                                  \
	X(DEMAND_READ, "DemandRead", "ScalingActive: demand and idleness were read from Ray",      \
	  "nothing")                                                                               \
	X(DEMAND_UNAVAILABLE, "DemandUnavailable", "ScalingActive: Ray is unreachable",            \
	  "the message says why: the head Pod, the network to it, or the token")                   \
	X(VIEW_STALE, "ViewStale", "ScalingActive: what is known of the API server is old",        \
	  "nothing is removed meanwhile; the message says why: its availability, our rights")      \
	X(HEAD_UNCERTAIN, "HeadUncertain",                                                         \
	  "ScalingActive: it is open which Pod is the head, or whether its GCS is the same one",   \
	  "delete the Pod that is not the head; the message names them")                           \
	X(DECISION_TOO_EXPENSIVE, "DecisionTooExpensive",                                          \
	  "ScalingActive: the decision took more CPU time than it may, nothing is changed",        \
	  "ask for fewer different bundles, or raise --decision-cpu-budget-ms")                    \
	X(AUTOSCALING_DISABLED, "AutoscalingDisabled", "ScalingActive: not switched on",           \
	  "set spec.enableInTreeAutoscaling to true")                                              \
	X(UNMANAGED, "Unmanaged", "ScalingActive: annotation rayscaler.dev/managed is false",      \
	  "remove the annotation to have it scaled")                                               \
	X(MANAGED_ELSEWHERE, "ManagedElsewhere", "ScalingActive: spec.managedBy",                  \
	  "nothing: another cluster runs it")                                                      \
	X(SUSPENDED, "Suspended", "ScalingActive: spec.suspend", "set spec.suspend to false")      \
	X(DELETING, "Deleting", "ScalingActive: the RayCluster is being deleted", "nothing")       \
	X(PAUSED, "Paused", "ScalingActive: the RayClusterAutoscaler is paused",                   \
	  "set spec.paused of the RayClusterAutoscaler to false")                                  \
	X(SECOND_AUTOSCALER, "SecondAutoscaler", "ScalingActive: another autoscaler runs",         \
	  "let container autoscaler run `rayscaler park` (the message says where)")                \
	X(READY_FOR_NEW_SCALE, "ReadyForNewScale", "AbleToScale: nothing is in the way",           \
	  "nothing")                                                                               \
	X(BACKED_OFF, "BackedOff", "AbleToScale: a group brings no capacity",                      \
	  "see the cause of the back-off")                                                         \
	X(DESIRED_WITHIN_RANGE, "DesiredWithinRange", "ScalingLimited: no limit was reached",      \
	  "nothing")                                                                               \
	X(TOO_MANY_REPLICAS, "TooManyReplicas", "ScalingLimited: a maximum was reached",           \
	  "raise maxReplicas or the ceiling that the message names")                               \
	X(TOO_FEW_REPLICAS, "TooFewReplicas", "ScalingLimited: a minimum was reached",             \
	  "lower minReplicas to have fewer")                                                       \
	X(INVALID_REQUEST, "InvalidRequest", "InvalidRequest: a field or annotation is no good",   \
	  "mend what the message names")                                                           \
	X(REPLICAS_REVERTED, "ReplicasReverted", "ReplicasReverted: somebody undoes our patches",  \
	  "let one program own replicas: keep it out of GitOps and of scripts")                    \
	X(TEMPLATE_BROKEN, "TemplateBroken",                                                       \
	  "TemplateBroken: a worker lacks what its template promises",                             \
	  "mend the template (the message has both figures); an edited one starts afresh")         \
	X(FOREIGN_POD, "ForeignPod",                                                               \
	  "ForeignPods: Pods with the labels of the RayCluster that it does not own",              \
	  "delete the Pods that the message names, or change their labels")                        \
	X(PODS_UNREADABLE, "PodUnreadable",                                                        \
	  "PodUnreadable: a Pod cannot be read, it counts as busy",                                \
	  "correct or delete the Pod; the message names it and the field")                         \
	X(LINT_ERRORS, "LintErrors", "LintFindings: fields that cannot be meant so",               \
	  "`rayscaler lint --from-cluster` has the lines to write")                                \
	X(LINT_WARNINGS, "LintWarnings", "LintFindings: fields that are likely not meant so",      \
	  "`rayscaler lint --from-cluster` has the lines to write")                                \
	X(LINT_NOTES, "LintNotes", "LintFindings: nothing is wrong, something is worth knowing",   \
	  "nothing, or `rayscaler lint --from-cluster`")

#define CONDITION_LINT_FINDINGS "LintFindings"
#define CONDITION_FOREIGN_PODS "ForeignPods"
#define CONDITION_POD_UNREADABLE "PodUnreadable"

/* Events on the RayCluster (core/notice.h).
 * X(identifier, severity, word, meaning, what to do) */
#define REASON_EVENT_TABLE(X)                                                                      \
	X(TRIGGERED_SCALE_UP, NORMAL, "TriggeredScaleUp", "replicas of a group was raised",        \
	  "nothing: workers are on their way")                                                     \
	X(NOT_TRIGGER_SCALE_UP, NORMAL, "NotTriggerScaleUp",                                       \
	  "demand is pending and no worker is launched for it",                                    \
	  "the message says what limits it: maxReplicas, a ceiling on GPUs, a back-off")           \
	X(SCALE_DOWN, NORMAL, "ScaleDown", "replicas of a group was lowered",                      \
	  "nothing: the workers were idle, drained, or had never joined")                          \
	X(WORKER_REPLACED, NORMAL, "WorkerReplaced",                                               \
	  "workers that serve nobody were deleted, to be made anew",                               \
	  "when it repeats: the log of the worker, often it is out of memory")                     \
	X(SCALE_DOWN_BLOCKED, NORMAL, "ScaleDownBlocked",                                          \
	  "a worker stays that one would expect to go",                                            \
	  "end what the message names; [the rule](#when-is-a-worker-called-blocked)")              \
	X(SCALE_UP_TIMED_OUT, WARNING, "ScaleUpTimedOut",                                          \
	  "launched workers found no Node or did not join in time",                                \
	  "the cause NodeProvisionTimeout or StartTimeout")                                        \
	X(GROUP_BACK_OFF, WARNING, "GroupBackedOff",                                               \
	  "nothing is launched in a group for a while, it brings no capacity",                     \
	  "the cause of the back-off")                                                             \
	X(INFEASIBLE_DEMAND, WARNING, "InfeasibleDemand", "no group could ever serve a request",   \
	  "ask for less, or give the closest group what the message says is missing")              \
	X(NO_DEMAND, WARNING, "DemandUnavailable", "Ray is unreachable, so nothing is removed",    \
	  "the message says why: the head Pod, the network to it, or the token")                   \
	X(BAD_REQUEST, WARNING, "InvalidRequest", "a field or annotation is no good",              \
	  "mend what the message names")                                                           \
	X(TEMPLATE_BROKEN, WARNING, "TemplateBroken",                                              \
	  "a worker lacks what its template promises, no more are launched for that",              \
	  "mend the template: the message has both figures")                                       \
	X(UNREADABLE, WARNING, "PodUnreadable", "a Pod cannot be read, so it counts as busy",      \
	  "correct or delete the Pod; the message names it and the field")                         \
	X(REVERTED, WARNING, "ReplicasReverted",                                                   \
	  "somebody has set replicas back three times, so it is changed less and less often",      \
	  "let one program own replicas: keep it out of GitOps and of scripts")                    \
	X(UNCERTAIN_HEAD, WARNING, "HeadUncertain",                                                \
	  "it is open which Pod is the head, or whether its GCS is the same one: nothing is "      \
	  "terminated",                                                                            \
	  "delete the Pod that is not the head; the message names them")                           \
	X(FOREIGN_PODS, WARNING, "ForeignPod",                                                     \
	  "Pods have the labels of the RayCluster and are not owned by it; they are left out",     \
	  "delete the Pods that the message names, or change their labels")                        \
	X(SECOND, WARNING, "SecondAutoscaler", "another autoscaler runs, so nothing is done",      \
	  "let container autoscaler run `rayscaler park` (the message says where)")                \
	X(LINT_FINDINGS, WARNING, "LintFindings",                                                  \
	  "the errors and warnings of lint in the RayCluster are others than before; said once",   \
	  "`rayscaler lint --from-cluster` has the lines to write; [the rules](LINT.md)")

/* REASON_IDLE and so on, as strings. */
#define X(identifier, word, meaning, cure)                                                         \
	__attribute__((unused)) static const char REASON_##identifier[] = word;
REASON_GROUP_TABLE(X)
REASON_TERMINATE_TABLE(X)
REASON_WORKER_TABLE(X)
REASON_DEMAND_TABLE(X)
REASON_CAUSE_TABLE(X)
REASON_CONDITION_TABLE(X)
#undef X

#endif
