/* Protection of Pods in use: as settings of a RayClusterAutoscaler, as a part of a plan, and as the
 * patch of a Pod. */
#ifndef FEATURE_PROTECT_BUSY_PODS_CODEC_PROTECT_JSON_H
#define FEATURE_PROTECT_BUSY_PODS_CODEC_PROTECT_JSON_H

#include "codec/schema/field.h"
#include "feature/protect_busy_pods/core/protect.h"

extern const struct field plan_protection_fields[];

/* Rows of the tables of a struct autoscaler_object and plan. */
#define PROTECT_SPEC_ROWS(T)                                                                       \
	FIELD_BOOLEAN(T, protect_busy_pods, "protectBusyPods",                                     \
		      .has = FIELD_HAS(T, has_protect_busy_pods),                                  \
		      .description = "Karpenter and Cluster Autoscaler evict no Pod in use. "      \
				     "Needs protectBusyPods.allowPatch of the chart."),            \
		FIELD_INTEGER(T, protect_at_most_seconds, "protectAtMostSeconds",                  \
			      .has = FIELD_HAS(T, has_protect_at_most_seconds),                    \
			      .check = field_check_not_negative,                                   \
			      .description = "Such protection ends after this, until the Pod is "  \
					     "idle. 0: never.",                                    \
			      .schema = "format: int32\nminimum: 0\nmaximum: 31536000")
#define PROTECT_PLAN_ROWS(T)                                                                       \
	FIELD_POINTER(T, protection, plan_protection_fields, "protection", .flags = FIELD_LINE)

/* The JSON merge patch of the Pod for an action other than PROTECT_KEEP: the annotations alone, with
 * uid and resourceVersion as preconditions, so that no change of another writer is lost. */
const char *protect_patch_body(const struct protected_pod *item, struct arena *arena);

#endif
