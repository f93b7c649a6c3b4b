/* The Event of a condition that begins: one table of conditions and their Events. Pure; must not
 * remember, as core/report/decision_event. */
#ifndef CORE_REPORT_CONDITION_EVENT_H
#define CORE_REPORT_CONDITION_EVENT_H

#include "core/report/decision_event.h"

/* False: the condition has no Event, or another Event says the same. Texts are in the arena. */
bool condition_event_make(const struct snapshot *snapshot, const struct plan *plan,
			  const struct plan_condition *condition, struct arena *arena,
			  struct decision_event *ret_event);

#endif
