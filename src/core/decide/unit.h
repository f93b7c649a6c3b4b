/* What goes or stays as a whole: one worker, or the hosts of one multi-host replica.
 * Made from the classified workers of a group; must not change them. */
#ifndef CORE_DECIDE_UNIT_H
#define CORE_DECIDE_UNIT_H

#include "core/decide/situation.h"

struct unit {
	const size_t *members; /* indices into workers, canonical order */
	size_t count;
	bool deletable;     /* every member may be deleted */
	bool removable;     /* every member may be deleted or drained */
	bool broken;        /* a member has been drained, is gone or came too late */
	bool drained;       /* a member has been drained */
	bool never_started; /* no member's Ray container has run */
	bool cancellable;   /* every member is unregistered or has never started */
	bool needed;        /* something was packed on a member */
	bool stuck;         /* a member is stuck in a back-off */
	bool leaving;       /* Kubernetes is about to take a member away, and so all of it */
	bool unjoined;      /* no member is or was in Ray */
};

/* The units of the Pods of a group that are not on their way out, in canonical order (of their
 * first member). */
struct unit *unit_list(const struct situation *situation, const struct group *group,
		       size_t *ret_count);

#endif
