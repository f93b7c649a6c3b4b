/* The invariants of a summary, checked at its end: sums agree with the plan, and a view without Ray
 * claims nothing about Ray. See core/decide/invariants.h. */
#ifndef CORE_REPORT_SUMMARY_INVARIANTS_H
#define CORE_REPORT_SUMMARY_INVARIANTS_H

#include "core/report/summary.h"

void invariants_of_summary(const struct summary *summary, const struct plan *plan);

#endif
