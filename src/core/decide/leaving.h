/* Workers that Kubernetes is about to take away: Pods with the condition DisruptionTarget, and Pods on
 * Nodes that are tainted for their end. Their capacity is no place for anything any more, and what runs
 * on them gets a replacement before they are gone. Nothing that is in use is ended here.
 *
 * The operator counts such a Pod until it is gone. So `replicas` is raised above it while a Pod is to
 * be made beside it, and lowered again as soon as that Pod is there (it deletes nothing for that): when the
 * old Pod goes, nobody makes a second one. At maxReplicas there is no room beside it: the replacement
 * waits, and the operator makes it when the old Pod is gone. */
#ifndef CORE_DECIDE_LEAVING_H
#define CORE_DECIDE_LEAVING_H

#include "core/decide/situation.h"

/* Marks the workers; before they are counted. Only while Ray is reachable and nothing is malformed. */
void leaving_mark(struct situation *situation, struct worker *workers, size_t count);
/* A replica is whole or nothing: the other hosts of one that goes go with it. */
void leaving_spread(const struct situation *situation, const struct group *group,
		    struct worker *workers);
/* After packing: launches what is in use on such workers and has no free worker to go to. */
void leaving_replace(struct situation *situation);

#endif
