/* Builds the packing problem of a situation, solves it, and records the result for workers and
 * groups. Contains the rule for starved demand. Must not choose workers to terminate: that is
 * terminate. */
#ifndef CORE_DECIDE_PACKING_H
#define CORE_DECIDE_PACKING_H

#include "core/decide/situation.h"

/* Needs groups, workers with removal and obstacle, back-offs, demands. */
void packing_run(struct situation *situation);

#endif
