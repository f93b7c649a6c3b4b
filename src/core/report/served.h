/* Demand that was not placed, with the reason: infeasible (no group could ever serve it; only this
 * is reported to Ray, which may cancel it) or unserved (a maximum, a limit, a back-off). Fills
 * plan.infeasible and plan.unserved in canonical order. Must not pack. */
#ifndef CORE_REPORT_SERVED_H
#define CORE_REPORT_SERVED_H

#include "core/decide/choice.h"

/* Needs result and problem. */
void served_report(const struct choice *choice, struct plan *plan);

#endif
