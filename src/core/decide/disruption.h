/* Disrupted workers: Pods with the condition DisruptionTarget, and Pods on Nodes with a taint that
 * announces their end. Their capacity is not used for demand, and work that runs on them gets a
 * replacement before Kubernetes deletes them. A worker that is in use is not terminated here.
 *
 * The operator counts such a Pod until it is deleted. So `replicas` is raised while the replacement
 * is to be created and lowered once it exists (the operator then deletes no Pod): when the old Pod
 * is deleted, the operator does not create a second one. At maxReplicas there is no capacity for
 * both, so the operator creates the replacement after the old Pod is deleted. */
#ifndef CORE_DECIDE_DISRUPTION_H
#define CORE_DECIDE_DISRUPTION_H

#include "core/decide/packing.h"

/* Marks the workers before they are counted. Only while Ray is reachable and no object is
 * malformed. */
void disruption_mark(struct facts *facts, struct worker *workers, size_t count);
/* A replica is disrupted as a whole: marks the other hosts of a disrupted one. */
void disruption_spread(const struct facts *facts, const struct group *group,
		       struct worker *workers);
/* After packing: launches replacements for disrupted workers in use for which no worker is free. */
void disruption_replace(struct packing *packing);

#endif
