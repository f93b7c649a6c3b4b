/* The messages of a plan for workers: the state of each, and why it stays or is terminated. Reads
 * the finished situation; must not change the decision. */
#ifndef CORE_REPORT_EXPLAIN_WORKER_H
#define CORE_REPORT_EXPLAIN_WORKER_H

#include "core/decide/situation.h"

/* Fills plan.workers: every worker Pod, in canonical order. */
void explain_worker_write(struct situation *situation);
/* The same for a cluster in which the plan changes nothing, with one reason for all. */
void explain_worker_write_gated(struct situation *situation, const char *reason,
				const char *message);

#endif
