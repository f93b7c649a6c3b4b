/* Idle termination as settings: spec.idleTermination of a RayClusterAutoscaler, and
 * spec.idleTerminationOptions of a RayCluster. A value that is not allowed is a problem and stays as
 * it is, with `problem` set. */
#ifndef FEATURE_IDLE_TERMINATION_CODEC_IDLE_TERMINATION_JSON_H
#define FEATURE_IDLE_TERMINATION_CODEC_IDLE_TERMINATION_JSON_H

#include "codec/schema/field.h"

/* Of struct idle_termination, the `initial` of their POINTER. */
extern const struct idle_termination idle_termination_initial;
extern const struct field idle_termination_fields[];         /* afterSeconds, action */
extern const struct field idle_termination_options_fields[]; /* timeoutSeconds, policy */
extern const struct idle_termination idle_termination_options_initial;
extern const struct field cluster_work_fields[]; /* clusterWork of a snapshot */

#endif
