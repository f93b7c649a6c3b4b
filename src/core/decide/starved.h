/* Starved demand: pending although it fits on registered workers by the numbers (for example
 * fractions on several GPUs, or ports). After stuck-demand-seconds it is treated as not fitting
 * there. The start and the lowest number of bundles since then are stored only in memory. */
#ifndef CORE_DECIDE_STARVED_H
#define CORE_DECIDE_STARVED_H

#include "core/decide/packing.h"

#define STUCK_SHAPES_MAX 1000

/* After a first packing: updates the entries of the new memory. True when some demand must be
 * packed again on new workers only; problem.demands and packed_demands then contain it
 * separately. */
bool starved_split(struct packing *packing);

#endif
