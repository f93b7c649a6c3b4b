/* Solves the packing problem of a decision, repeated once with starved demand split off (starved.h), and ends the wait
 * of parts of gangs (gang_wait.h). */
#ifndef CORE_DECIDE_PACKING_RUN_H
#define CORE_DECIDE_PACKING_RUN_H

#include "core/decide/packing.h"

/* Solves the problem of packing->offer; sets the result, and what it means for groups. */
void packing_run(struct packing *packing);

#endif
