/* The words of a plan for workers: in which state each is, why it stays or goes.
 * Reads the finished situation; must not change what was decided. */
#ifndef CORE_REPORT_EXPLAIN_WORKER_H
#define CORE_REPORT_EXPLAIN_WORKER_H

#include "core/decide/situation.h"

/* Fills plan.workers: every worker Pod, in canonical order. */
void explain_worker_write(struct situation *situation);
/* The same for a cluster in which nothing is done, with one reason for all. */
void explain_worker_write_gated(struct situation *situation, const char *reason,
				const char *message);

#endif
