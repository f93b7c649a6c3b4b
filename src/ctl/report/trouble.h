/* The log lines about one cluster that needs a user: conditions that tell of trouble. What causes them
 * may change all the time, so TROUBLE_LINES lines may come at once, and then one every ten seconds.
 * Owned by struct cluster. Must not decide what trouble is about: core/report does. */
#ifndef CTL_REPORT_TROUBLE_H
#define CTL_REPORT_TROUBLE_H

#include "base/token_bucket.h"
#include "core/model/plan.h"
#include "net/log.h"

#define TROUBLE_LINES 10

struct trouble {
	struct log_repeat conditions;
	struct token_bucket condition_lines;
};

void trouble_init(struct trouble *trouble, int64_t now_ms); /* now_ms: monotonic, here and below */
void trouble_done(struct trouble *trouble);
/* After each decision; cluster: "namespace/name". A text that was held back is logged with a later one. */
void trouble_conditions(struct trouble *trouble, const char *cluster, const struct plan *plan,
			int64_t now_ms);

#endif
