/* Why a Pod that has not joined Ray does not come: read from its conditions, its gates and the events
 * of node autoscalers, not from one timer. Reads workers; sets their obstacle and obstacle_message,
 * expired. Must not draw conclusions for the group: that is backoff. */
#ifndef CORE_DECIDE_PROGRESS_H
#define CORE_DECIDE_PROGRESS_H

#include "core/decide/situation.h"

/* A gate this young may be lifted at once (a quota controller admits in a moment). */
#define PROGRESS_GATE_GRACE_MS 5000

void progress_assess(struct situation *situation);
/* When the raylet of this Pod began to join at the earliest: the latest of its Ray container's start, the
 * head's, and the first sight of the GCS that answers (ray_session.h). TIME_NONE: not known. */
time_ms progress_ray_start(const struct situation *situation, const struct pod *pod);
/* "Failed: UnexpectedAdmissionError: ...", of a Pod that has ended. */
const char *progress_end_text(struct arena *arena, const struct pod *pod);
/* scaleStrategy.scaleGate holds the group. */
bool progress_scale_gate(const struct worker_group *group);

#endif
