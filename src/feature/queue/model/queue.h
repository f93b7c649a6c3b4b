/* RayClusters behind admission queues: the Workload of those that Kueue admits as elastic jobs as a decision sees it,
 * names that the owners of queues give, and the rows of the tables of core/model/reason.h. Plain data. */
#ifndef FEATURE_QUEUE_MODEL_QUEUE_H
#define FEATURE_QUEUE_MODEL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KUEUE_LABEL_JOB_UID "kueue.x-k8s.io/job-uid"

/* A worker group in the Workloads of its RayCluster. */
struct kueue_pod_set {
	const char *name; /* that of the group in lower case; "head" */
	int64_t pods;     /* that the Workload which waits asks for */
	int64_t admitted; /* Pods with quota */
};

/* The Workload of a RayCluster that waits for quota. */
struct kueue_workload {
	const char *problem; /* why it is not known; "": it is */
	const char *name;    /* "": none waits */
	/* Of its condition QuotaReserved; "": Kueue has not tried it yet. */
	const char *reason, *message;
	int64_t since; /* of the condition, a time_ms; TIME_NONE: unknown */
	const struct kueue_pod_set *pod_sets;
	size_t pod_set_count;
};

/* Kueue itself accepts 18, and 10 before 0.19. */
#define KUEUE_POD_SETS_MAX 100

/* Rows of the table of core/model/settings.h. */
#define QUEUE_SETTINGS(X)                                                                          \
	X(BOOLEAN, lower_while_suspended, "lower-while-suspended", false, 0, 1, "true|false",      \
	  "replicas become minReplicas while Kueue suspends it")

#define QUEUE_WORKER_REASONS(X)                                                                    \
	X(WAITS_FOR_QUEUE, "WaitsForQueue", 0,                                                     \
	  "the queue that the message names has not admitted it", "check the quota of the queue")

/* Owners of queues whose Events on Pods refuse them, by their reasons. */
#define QUEUE_POD_REFUSALS(X)                                                                      \
	X("KAI", "NonPreemptibleOverQuota")                                                        \
	X("KAI", "OverLimit")

#define QUEUE_GROUP_REASONS(X)                                                                     \
	X(SCALE_DOWN_SUSPENDED, "ScaleDownSuspended", TRAIT_DOWN,                                  \
	  "Kueue has suspended the RayCluster, lowerWhileSuspended", "nothing")

#endif
