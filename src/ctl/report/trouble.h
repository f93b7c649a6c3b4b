/* The log lines about one cluster that needs a user: conditions that are not as they are at rest, and
 * objects that cannot be read. Their causes may change all the time, so TROUBLE_LINES lines of each kind may come at
 * once, and then one every ten seconds.
 * Owned by struct cluster; the lines about objects of no cluster by who reads them. Must not make
 * conditions: core/report does. */
#ifndef CTL_REPORT_TROUBLE_H
#define CTL_REPORT_TROUBLE_H

#include "base/map.h"
#include "base/token_bucket.h"
#include "core/model/plan.h"
#include "net/log.h"

#define TROUBLE_LINES 10

struct trouble_lines {
	struct token_bucket bucket;
	uint64_t held_back; /* since the last line */
};

struct trouble {
	struct map conditions; /* those that are true now and ask for attention, by type */
	struct trouble_lines condition_lines, pod_lines;
};

void trouble_lines_init(struct trouble_lines *lines, int64_t now_ms); /* monotonic, as below */
/* Logs an error line about the object, with the number of lines that were held back before it. False: it
 * was held back. kind: the name of the member for `key`, "pod" or "cluster". */
bool trouble_unreadable(struct trouble_lines *lines, const char *message, const char *kind,
			const char *key, const char *problem, int64_t now_ms);

void trouble_init(struct trouble *trouble, int64_t now_ms);
void trouble_done(struct trouble *trouble);
/* After each decision: logs conditions that begin, change or end, each with its type; cluster:
 * "namespace/name". Lines that were held back are logged after a later decision. */
void trouble_conditions(struct trouble *trouble, const char *cluster, const struct plan *plan,
			int64_t now_ms);

#endif
