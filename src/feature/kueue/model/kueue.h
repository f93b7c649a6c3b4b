/* RayClusters that Kueue admits as elastic jobs: their Workload as a decision sees it, the names that
 * Kueue 0.18 gives, and the rows of the tables of core/model/reason.h. Plain data. */
#ifndef FEATURE_KUEUE_MODEL_KUEUE_H
#define FEATURE_KUEUE_MODEL_KUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KUEUE_LABEL_QUEUE "kueue.x-k8s.io/queue-name"
/* The gate of Pods of an elastic job, and the annotation of such a job. */
#define KUEUE_ELASTIC_JOB "kueue.x-k8s.io/elastic-job"
#define KUEUE_LABEL_JOB_UID "kueue.x-k8s.io/job-uid"

/* A worker group in the Workloads of its RayCluster. */
struct kueue_pod_set {
	const char *name;     /* that of the group in lower case; "head" */
	int64_t pods;         /* that the Workload which waits asks for */
	int64_t admitted;     /* Pods with quota */
	bool refused;         /* Kueue names it: its Pods do not fit beside those before it */
	const char *resource; /* the one quota that is too small; "": unknown, or several */
	int64_t lacks;        /* of it, in 1/10000 */
};

/* The Workload of a RayCluster that waits for quota. */
struct kueue_workload {
	const char *problem; /* why it is not known; "": it is */
	const char *name;    /* "": none waits */
	const char *message; /* of its condition QuotaReserved; "": Kueue has not tried it yet */
	const struct kueue_pod_set *pod_sets;
	size_t pod_set_count;
};

/* Kueue itself accepts 10. */
#define KUEUE_POD_SETS_MAX 100

/* Rows of the table of core/model/settings.h. */
#define KUEUE_SETTINGS(X)                                                                          \
	X(BOOLEAN, lower_while_suspended, "lower-while-suspended", false, 0, 1, "true|false",      \
	  "replicas become minReplicas while Kueue suspends it")

#define KUEUE_CAUSES(X)                                                                            \
	X(KUEUE_QUOTA, "KueueQuota", "Kueue has no quota for its Pods, and others wait for it",    \
	  "raise the quota that the message names")

/* X(identifier, enum cancels, whether the back-off ends with the cause) */
#define KUEUE_CAUSE_RULES(X) X(KUEUE_QUOTA, CANCELS_GATED, false)

#define KUEUE_GROUP_REASONS(X)                                                                     \
	X(SCALE_DOWN_SUSPENDED, "ScaleDownSuspended",                                              \
	  "Kueue has suspended the RayCluster, lowerWhileSuspended", "nothing")

#endif
