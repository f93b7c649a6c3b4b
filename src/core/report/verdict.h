/* The conditions of a plan, in the wording of the HorizontalPodAutoscaler: ScalingActive (whether
 * demand is read), AbleToScale (whether capacity can be added), ScalingLimited (whether a bound
 * applied), InvalidRequest, ForeignPods and others that exist only while they are true. Must not
 * decide anything else. */
#ifndef CORE_REPORT_VERDICT_H
#define CORE_REPORT_VERDICT_H

#include "core/decide/choice.h"

void verdict_write(const struct choice *choice, struct plan *plan);
/* Of a running controller: the conditions of features and SecondController; the last ones. */
void verdict_end(const struct choice *choice, struct plan *plan);
/* The message of InvalidRequest, in the arena; NULL: nothing is invalid. A simulation has the same
 * words. */
const char *verdict_invalid_text(const struct facts *facts, struct arena *arena);
/* Only ScalingActive False. */
void verdict_write_gated(const struct facts *facts, enum reason reason, const char *message,
			 struct plan *plan);

#endif
