/* Makes the packing problem of a situation, has it solved, and notes what it means for workers and
 * groups. Holds the rule for stuck demand. Must not decide what goes: that is terminate. */
#ifndef CORE_DECIDE_PACKING_H
#define CORE_DECIDE_PACKING_H

#include "core/decide/situation.h"

/* Needs groups, workers with removal and obstacle, back-offs, demands. */
void packing_run(struct situation *situation);

#endif
