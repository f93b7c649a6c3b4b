/* The conditions of a plan, in the wording of the HorizontalPodAutoscaler: ScalingActive (whether
 * demand is read), AbleToScale (whether capacity can be added), ScalingLimited (whether a bound
 * applied), InvalidRequest, ForeignPods and others that exist only while they are true. Must not
 * decide anything else. */
#ifndef CORE_REPORT_VERDICT_H
#define CORE_REPORT_VERDICT_H

#include "core/decide/situation.h"

void verdict_write(struct situation *situation);
/* Only ScalingActive False: the plan changes nothing. */
void verdict_write_gated(struct situation *situation, const char *reason, const char *message);

#endif
