/* A replica, which is removed or kept as a whole: one worker, or the hosts of one multi-host
 * replica. Made from the classified workers of a group; must not change them. */
#ifndef CORE_DECIDE_REPLICA_H
#define CORE_DECIDE_REPLICA_H

#include "core/decide/packing.h"

struct replica {
	const size_t *members; /* indices into workers, canonical order */
	size_t count;
	bool deletable;      /* every member may be deleted */
	bool removable;      /* every member may be deleted or drained */
	bool broken;         /* a member has been drained, is dead or expired */
	bool drained;        /* a member has been drained */
	bool never_started;  /* no member's Ray container has run */
	bool cancellable;    /* every member is unregistered or has never started */
	bool starved;        /* a member cannot start during a back-off */
	bool disrupted;      /* a member is disrupted, and so all of it */
	bool not_registered; /* no member is or was registered */
};

/* Sets the replicas of the group in the offer, whose workers are classified. */
void replica_list(struct offer *offer, const struct group *group);
/* Demand was placed on a member, or a member is kept for another reason. */
bool replica_is_needed(const struct packing *packing, const struct replica *replica);

#endif
