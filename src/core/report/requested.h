/* The bundles that are requested ahead of demand: by request_resources, its annotation and the
 * schedules that are active. */
#ifndef CORE_REPORT_REQUESTED_H
#define CORE_REPORT_REQUESTED_H

#include "base/arena.h"
#include "core/model/plan.h"
#include "core/report/summary.h"

/* Sets `requested` of the summary; those of Ray only while it is reachable. */
void requested_sum(const struct snapshot *snapshot, const struct plan *plan, struct arena *arena,
		   struct summary *summary);

#endif
