/* Pending demand that fits on living workers by the numbers and still stays pending (fractions spread
 * over GPUs, ports): after stuck-demand-seconds it is treated as not fitting there.
 * Since when, and how many bundles at the fewest, is remembered only through memory. */
#ifndef CORE_DECIDE_STUCK_H
#define CORE_DECIDE_STUCK_H

#include "core/decide/situation.h"

#define STUCK_SHAPES_MAX 1000

/* After a first packing: updates the marks of the new memory. True when some demand is to be
 * packed again on new workers only; problem.demands and packed_demands say which then. */
bool stuck_split(struct situation *situation);

#endif
