/* The messages of a plan for workers: the state of each, and why it stays or is terminated. Reads
 * the finished choice; must not change the decision. */
#ifndef CORE_REPORT_EXPLAIN_WORKER_H
#define CORE_REPORT_EXPLAIN_WORKER_H

#include "core/decide/choice.h"

/* Fills plan.workers: every worker Pod, in canonical order. */
void explain_worker_write(const struct choice *choice, struct plan *plan);
/* The same for a cluster in which the plan changes nothing, with one reason for all. */
void explain_worker_write_gated(const struct facts *facts, enum reason reason, const char *message,
				struct plan *plan);

#endif
