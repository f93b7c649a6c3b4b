/* Disrupted workers: Pods with the condition DisruptionTarget, and Pods on Nodes with a taint that
 * announces their end. Their capacity is not used for demand, and work that runs on them gets a
 * replacement before Kubernetes deletes them (core/decide/disruption_replace).
 *
 * Nothing is in a hurry where a feature plans the end of a Node (planned_end): Ray is notified when the
 * replacement has registered, or can not be launched (core/decide/relay). */
#ifndef CORE_DECIDE_DISRUPTION_H
#define CORE_DECIDE_DISRUPTION_H

#include "core/decide/facts.h"

/* Marks the workers before they are counted. Only while Ray is reachable and no object is
 * malformed. */
void disruption_mark(struct facts *facts, struct worker *workers, size_t count);
/* A replica is disrupted as a whole: marks the other hosts of a disrupted one. */
void disruption_spread(const struct facts *facts, const struct group *group,
		       struct worker *workers);

#endif
