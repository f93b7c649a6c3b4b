/* Idle termination as settings: spec.idleTermination of a RayClusterAutoscaler, and
 * spec.idleTerminationOptions of a RayCluster; and as a part of a plan. A value that is not allowed is a problem and stays as
 * it is, with `problem` set. */
#ifndef FEATURE_IDLE_TERMINATION_CODEC_IDLE_TERMINATION_JSON_H
#define FEATURE_IDLE_TERMINATION_CODEC_IDLE_TERMINATION_JSON_H

#include "codec/schema/field.h"
#include "feature/idle_termination/core/idle.h"
#include "feature/idle_termination/model/idle_termination.h"

extern const struct idle_termination idle_termination_initial, idle_termination_options_initial;
extern const struct field idle_termination_fields[];         /* afterSeconds, action */
extern const struct field idle_termination_options_fields[]; /* timeoutSeconds, policy */
extern const struct field plan_idle_fields[];                /* idleTermination of a plan */

/* Rows of the tables of a struct autoscaler_object, ray_cluster and plan. */
#define IDLE_SPEC_ROWS(T)                                                                          \
	FIELD_POINTER(T, idle_termination, idle_termination_fields, "idleTermination",             \
		      .flags = FIELD_LINE, .initial = &idle_termination_initial,                   \
		      .description =                                                               \
			      "Ends the whole RayCluster, head included, when it is not used.")
#define IDLE_RAY_CLUSTER_ROWS(T)                                                                   \
	FIELD_POINTER(T, idle_termination, idle_termination_options_fields,                        \
		      "idleTerminationOptions", .flags = FIELD_LINE,                               \
		      .initial = &idle_termination_options_initial)
#define IDLE_PLAN_ROWS(T)                                                                          \
	FIELD_POINTER(T, idle, plan_idle_fields, "idleTermination", .flags = FIELD_LINE)

#endif
