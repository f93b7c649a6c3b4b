/* The obstacle that keeps a Pod from registering with Ray: read from its conditions, its gates and
 * the events of node autoscalers, with a separate time for each. Sets
 * obstacle and obstacle_message of the workers' health. Must not draw conclusions for the group: that is
 * backoff. */
#ifndef CORE_DECIDE_PROGRESS_H
#define CORE_DECIDE_PROGRESS_H

#include "core/decide/health.h"

/* A failure that the kubelet tries again, such as the pull of an image, lasts after this time. */
#define PROGRESS_RETRY_SECONDS 120

void progress_assess(struct health *health);
/* The earliest time at which this Pod's raylet could start to register: the latest of the start of
 * its Ray container, the start of the head's, and the first reply of the current GCS
 * (ray_session.h). TIME_NONE: not known. */
time_ms progress_ray_start(const struct facts *facts, const struct pod *pod);
/* Whether scaleStrategy.scaleGate blocks the group. */
bool progress_scale_gate(const struct worker_group *group);

#endif
