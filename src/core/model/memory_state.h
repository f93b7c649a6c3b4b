/* The state that one decision passes to the next (the plan's `memory`). Small; it may be dropped
 * without harm: only back-offs and start times are then lost. Decoded from untrusted JSON with
 * limits; an entry that does not parse is dropped, never an error. Owned by the arena it was made
 * in. */
#ifndef CORE_MODEL_MEMORY_STATE_H
#define CORE_MODEL_MEMORY_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/resources.h"

/* A back-off of a group, kept for some time after its end. */
struct memory_backoff {
	const char *group;
	time_ms until;   /* launches to it are held until then; the end is the probe */
	int64_t seconds; /* length of the present step; doubles with the next failure */
	const char *cause, *message;
};

/* Launches of this program: replicas that it added and that have not registered yet. */
struct memory_launch {
	const char *group;
	int64_t replicas;       /* this program's replicas that are not registered */
	int64_t base_replicas;  /* the value of spec.replicas after this program's patch */
	int64_t not_registered; /* the group's replicas not registered then, of all writers */
	int64_t unneeded;       /* lowest number of its replicas unneeded since unneeded_since */
	time_ms unneeded_since; /* TIME_NONE: needed in the last pass */
	time_ms round;          /* start of the Conservative interval; TIME_NONE: ended */
};

/* "Since when" marks, by a stable key of their kind. */
struct memory_since {
	const char *key;
	time_ms since;
	int64_t count; /* stuck_demand: the fewest bundles since then; replica_conflicts, replica_raises:
			* how often; lowered: replicas; leaving: Pods */
	const char
		*who; /* replica_conflicts, replica_raises: a manager's name; ray_sessions: a run of
			  * the head's container; NULL: unknown */
};

/* The last worker of a group that was seen alive; see core/decide/template_seen.h. */
struct memory_template {
	const char *group;
	const char *fingerprint; /* of the template that it was made from */
	time_ms since; /* TIME_NONE, or when the template was edited: Pods from before are others */
	const char *pod;            /* lacks a resource; "" */
	struct resources resources; /* those that differ from the template's; 0: absent */
	struct labels labels;       /* of Ray, that every worker of the template has */
};

struct memory_state {
	VEC(struct memory_template) templates;
	VEC(struct memory_backoff) backoffs;
	VEC(struct memory_launch) launches;
	VEC(struct memory_since) raylet_gone;       /* key: Pod name */
	VEC(struct memory_since) not_registered;    /* key: Pod name */
	VEC(struct memory_since) start_grace;       /* key: Pod name; count: see settling.c */
	VEC(struct memory_since) stuck_demand;      /* key: text of the request's shape */
	VEC(struct memory_since) replica_conflicts; /* key: the group's name */
	VEC(struct memory_since) replica_raises;    /* the same, after this program lowered it */
	VEC(struct memory_since) lowered;           /* key: the group's name; since: last patch */
	VEC(struct memory_since) disrupted; /* key: the group's name; since: last seen in use */
	/* The accepted session, and one that is not accepted yet; key: cluster_session_name; who:
	 * the run of the head's container. See ray_session.c. */
	VEC(struct memory_since) ray_sessions;
};

#endif
