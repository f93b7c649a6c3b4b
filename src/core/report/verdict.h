/* The conditions of a plan, in the wording of the HorizontalPodAutoscaler: ScalingActive (is demand
 * read), AbleToScale (does capacity come), ScalingLimited (did a bound cut), InvalidRequest,
 * ForeignPods and others that are there only while they are true.
 * Must not decide anything else. */
#ifndef CORE_REPORT_VERDICT_H
#define CORE_REPORT_VERDICT_H

#include "core/decide/situation.h"

void verdict_write(struct situation *situation);
/* ScalingActive False alone: nothing is done. */
void verdict_write_gated(struct situation *situation, const char *reason, const char *message);

#endif
