/* `status --cost`: GPU time and cost of RayClusters, as their RayClusterAutoscalers have them, so it
 * needs no controller; at most 5 minutes old. Sums in different currencies are kept apart. No I/O, no
 * clock. */
#ifndef CLI_STATUS_COST_H
#define CLI_STATUS_COST_H

#include "base/buf.h"
#include "base/time.h"
#include "cli/shared/view.h"

/* By cluster and in all; `by`: instead by "namespace", or "label=KEY" of the RayCluster; NULL: not. */
void status_cost_text(struct view *view, const char *by, time_ms now, bool colours,
		      struct arena *arena, struct buf *buf);
void status_cost_json(struct view *view, const char *by, time_ms now, struct arena *arena,
		      struct buf *buf);
bool status_cost_by_valid(const char *by);

#endif
