/* Protection of Pods in use in the objects and tables of core/model: its annotations, its defaults,
 * and its rows in the tables of core/model/reason.h. */
#ifndef FEATURE_PROTECT_BUSY_PODS_MODEL_PROTECT_BUSY_PODS_H
#define FEATURE_PROTECT_BUSY_PODS_MODEL_PROTECT_BUSY_PODS_H

/* Each is read by one node autoscaler, which compares with exactly this value. X(identifier, key of
 * core/model/kubernetes.h, value) */
#define PROTECT_ANNOTATIONS(X)                                                                     \
	X(KARPENTER, KARPENTER_ANNOTATION, "true")                                                 \
	X(CLUSTER_AUTOSCALER, CLUSTER_AUTOSCALER_ANNOTATION, "false")

enum protect_annotation {
#define X(identifier, key, value) PROTECT_##identifier,
	PROTECT_ANNOTATIONS(X)
#undef X
		PROTECT_ANNOTATION_COUNT
};

/* On each Pod with annotations of this program: since when, and which of the keys above it has set.
 * Written and removed together with them, so that no other state is needed after a restart. */
#define ANNOTATION_PROTECTED "rayscaler.dev/protected"

#define PROTECT_AT_MOST_SECONDS_DEFAULT 604800
#define PROTECT_AT_MOST_SECONDS_MAX 31536000

/* Rows of the table of core/model/settings.h. */
#define PROTECT_SETTINGS(X)                                                                        \
	X(BOOLEAN, protect_busy_pods, "protect-busy-pods", false, 0, 1, "true|false",              \
	  "Karpenter and Cluster Autoscaler evict no Pod in use")                                  \
	X(INTEGER, protect_at_most_seconds, "protect-at-most-seconds",                             \
	  PROTECT_AT_MOST_SECONDS_DEFAULT, 0, PROTECT_AT_MOST_SECONDS_MAX, "seconds",              \
	  "such protection ends after this, 0: never")

#define CONDITION_PODS_PROTECTED "PodsProtected"
#define CONDITION_POD_PATCH_FORBIDDEN "PodPatchForbidden"

#define PROTECT_CONDITION_REASONS(X)                                                               \
	X(PODS_PROTECTED, "PodsInUse", 0, "PodsProtected: Pods in use are not evicted", "nothing") \
	X(NO_POD_IN_USE, "NoPodInUse", 0, "PodsProtected: no Pod is in use", "nothing")            \
	X(PROTECTION_ENDED, "ProtectionEnded", 0, "PodsProtected: after protectAtMostSeconds",     \
	  "look for a stuck job")                                                                  \
	X(POD_PATCH_FORBIDDEN, "PodPatchForbidden", 0,                                             \
	  "PodPatchForbidden: Pods cannot be protected", "the message has the right")

#endif
