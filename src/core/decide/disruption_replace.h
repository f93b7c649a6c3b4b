/* Replacements of disrupted workers. A worker that is in use is not terminated here.
 *
 * The operator counts such a Pod until it is deleted. So `replicas` is raised while the replacement
 * is to be created and lowered once it exists (the operator then deletes no Pod): when the old Pod
 * is deleted, the operator does not create a second one. At maxReplicas there is no capacity for
 * both, so the operator creates the replacement after the old Pod is deleted. */
#ifndef CORE_DECIDE_DISRUPTION_REPLACE_H
#define CORE_DECIDE_DISRUPTION_REPLACE_H

#include "core/decide/packing.h"

/* After packing: launches replacements for disrupted workers in use for which no worker is free. */
void disruption_replace(struct packing *packing);
/* False: a feature plans the end of the worker, and its replacement is not there, or another worker of
 * its group starts. */
bool disruption_may_begin(const struct packing *packing, const struct worker *worker);

#endif
