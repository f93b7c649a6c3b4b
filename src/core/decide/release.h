/* Workers that the pools release for other RayClusters (struct pool_release). Without a deadline such a
 * worker is drained as soon as it is idle and no demand is placed on it; request_resources, warm workers
 * and waiting gangs do not keep it. With a deadline it is drained also while it is busy, and terminated
 * when Ray has drained it or the deadline has passed. minReplicas and the annotation do-not-disrupt win.
 * A multi-host replica is released as a whole, with the mildest release of the hosts that do not leave
 * already. */
#ifndef CORE_DECIDE_RELEASE_H
#define CORE_DECIDE_RELEASE_H

#include "core/decide/replica.h"

/* A replica that is released with a deadline. */
struct release_state {
	const struct pool_release *release;
	bool may_end; /* false: nothing is done for a release with a deadline; the others are false too */
	bool idle;     /* every host is idle in Ray, which can refuse a drain without a deadline */
	bool draining; /* Ray drains every host */
	bool passed;   /* the deadline */
};

/* Sets the release of each worker, after they are joined. */
void release_mark(struct facts *facts);
struct release_state release_state_of(const struct offer *offer, const struct replica *replica);

#endif
