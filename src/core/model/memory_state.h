/* What one decision tells the next one (the plan's `memory`). Small; may be dropped without harm:
 * a lost memory only forgets back-offs and "since when". Decoded from untrusted JSON with ceilings;
 * what does not parse is dropped, never an error. Owned by the arena it was made in. */
#ifndef CORE_MODEL_MEMORY_STATE_H
#define CORE_MODEL_MEMORY_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/resources.h"

/* A group that brought no capacity. */
struct memory_backoff {
	const char *group;
	time_ms until;   /* launches to it are held until then; the end is the probe */
	int64_t seconds; /* length of the present step; doubles with the next failure */
	const char *cause, *message;
};

/* Launches that this program asked for: replicas it added that have not joined yet. */
struct memory_launch {
	const char *group;
	int64_t replicas;      /* how many of the present replicas are ours and have not joined */
	int64_t base_replicas; /* the value of spec replicas after our patch */
	int64_t unjoined; /* replicas of the group that had not joined then, ours and others' */
	int64_t unneeded; /* the fewest of ours that nothing needed since unneeded_since */
	time_ms unneeded_since; /* TIME_NONE: needed in the last pass */
	time_ms round;          /* of Conservative: when it began; TIME_NONE: it is over */
};

/* "Since when" marks, by a stable key of their kind. */
struct memory_since {
	const char *key;
	time_ms since;
	int64_t count; /* stuck_demand: the fewest bundles since then; replica_fights, replica_raises:
			* how often; lowered: replicas; leaving: Pods */
	const char *who; /* replica_fights, replica_raises: a manager's name; ray_sessions: a run of
			  * the head's container; NULL: unknown */
};

/* The last worker of a group that was seen alive; see core/decide/template_seen.h. */
struct memory_template {
	const char *group;
	const char *fingerprint; /* of the template that it was made from */
	time_ms since; /* TIME_NONE, or when the template was edited: Pods from before are others */
	const char *pod;            /* that lacks something; "" */
	struct resources resources; /* that differ from what the template promises; 0: not there */
	struct labels labels;       /* of Ray, that every worker of the template has */
};

struct memory_state {
	VEC(struct memory_template) templates;
	VEC(struct memory_backoff) backoffs;
	VEC(struct memory_launch) launches;
	VEC(struct memory_since) raylet_gone;    /* key: Pod name */
	VEC(struct memory_since) unjoined;       /* key: Pod name */
	VEC(struct memory_since) settling;       /* key: Pod name; count: see settling.c */
	VEC(struct memory_since) stuck_demand;   /* key: text of the request's shape */
	VEC(struct memory_since) replica_fights; /* key: the group's name */
	VEC(struct memory_since) replica_raises; /* the same, after ours had lowered it */
	VEC(struct memory_since) lowered;        /* key: the group's name; since: our patch */
	VEC(struct memory_since) leaving; /* key: the group's name; since: last seen in use */
	/* The believed one, and one that is not yet; key: cluster_session_name; who: the run of the
	 * head's container. See ray_session.c. */
	VEC(struct memory_since) ray_sessions;
};

#endif
