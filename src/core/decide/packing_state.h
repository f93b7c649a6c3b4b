/* The packing problem of a decision in terms of the scheduler, which knows resources, not Kubernetes: the head, workers
 * and groups as nodes and types, the demand as bundles. Must not pack. */
#ifndef CORE_DECIDE_PACKING_STATE_H
#define CORE_DECIDE_PACKING_STATE_H

#include "core/decide/offer.h"

/* Needs the other members of the offer; sets its problem. */
void packing_state(struct offer *offer);

#endif
