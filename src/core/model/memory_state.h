/* The state that one decision passes to the next (the plan's `memory`). Small; it may be dropped
 * without harm: only back-offs and start times are then lost. Decoded from untrusted JSON with
 * limits; an entry that does not parse is dropped, never an error. Owned by the arena it was made
 * in. */
#ifndef CORE_MODEL_MEMORY_STATE_H
#define CORE_MODEL_MEMORY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/field.h"
#include "core/model/reason.h"
#include "core/model/resources.h"

/* A back-off of a group, kept for some time after its end. */
struct memory_backoff {
	const char *group;
	time_ms until;   /* launches to it are held until then; the end is the probe */
	int64_t seconds; /* length of the present step; doubles with the next failure */
	enum reason cause;
	const char *message;
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

#define CLUSTER_MARK_KEY                                                                           \
	"cluster" /* of MARK_REFUSAL_ENDED, MARK_CLUSTER_IDLE and MARK_DELETE_DENIED */

enum mark_kind {
	MARK_RAYLET_GONE,      /* key: Pod name */
	MARK_NOT_REGISTERED,   /* key: Pod name */
	MARK_START_GRACE,      /* key: Pod name; count: see raylet.c */
	MARK_STARVED_DEMAND,   /* key: text of the request's shape; count: fewest bundles since */
	MARK_REPLICA_CONFLICT, /* key: group; count: how often; who: a manager's name */
	MARK_REPLICA_RAISE,    /* the same, after this program lowered it */
	MARK_LOWERED,          /* key: group; since: last patch; count: replicas */
	MARK_DISRUPTED,        /* key: group; since: last seen in use; count: Pods */
	MARK_GATES, /* key: Pod name; since: the last change of its scheduling gates; count: gates */
	MARK_GANG_PART, /* key: Pod name; since: it waits for the rest of its gang; see gang_wait.h */
	/* Of gang_hold.h. key: Pod name, of an idle worker that a placement group needs (count 0), or needed until
	 * since (count 1). */
	MARK_NEEDED_BY_GANG,
	MARK_NO_POD, /* key: group; since: when the operator last had no Pod to make; count: Pods */
	/* key: the cluster; since: the newest Event of a refusal that a later change of the RayCluster has ended */
	MARK_REFUSAL_ENDED,
	/* Of relay.h. key: Pod name; since: when Ray accepted the drain; count: the deadline in seconds
	 * since 1970, 0: unknown. */
	MARK_NOTIFIED,
	/* Of idle_clock.h. key: Ray node id, or the cluster; since: idle from then, the first death */
	MARK_IDLE_SINCE,
	/* The accepted session, and one that is not accepted yet: see ray_session.c. Key:
	 * cluster_session_name; who: a run of the head's container. */
	MARK_RAY_SESSION,
	/* Nothing uses the cluster; of feature/idle_termination. who: its user in the lists. */
	MARK_CLUSTER_IDLE,
	/* The API server refused to delete the cluster. Made by ctl/pass; who: its answer. */
	MARK_DELETE_DENIED,
	MARK_REPAIR, /* key: Node; since: of its sign; count: 1 when it is emptied; of feature/repair */
	MARK_REPAIR_ENDED, /* key: Node; since: the sign ended while the Node was emptied */
	/* Of feature/requests, of the accelerators that requests of Ray's SDK ask for. since: the last growth, count:
	 * the most that they asked for, 1/10000. */
	MARK_REQUEST_ASKED,
	MARK_REQUEST_UNUSED, /* since: a worker was unused for these requests */
	MARK_KIND_COUNT,
};

/* When a pass cannot judge a kind of mark, so that the old marks are kept. */
enum mark_kept {
	MARK_KEPT_NEVER,
	MARK_KEPT_WITHOUT_RAY,
	MARK_KEPT_WITHOUT_PACKING,     /* the same, or the packing was cut */
	MARK_KEPT_WITHOUT_TERMINATION, /* nothing may be terminated in this pass */
};

/* Per kind. */
extern const struct mark_rule {
	const char *list; /* its name in JSON: part of the snapshot's format */
	enum mark_kept kept;
	bool is_applied; /* the decision that makes or drops one reads it already as later ones do */
} mark_rules[MARK_KIND_COUNT];

/* Since when something is observed, and how often, by a stable key of its kind. */
struct memory_mark {
	enum mark_kind kind;
	const char *key;
	time_ms since;
	int64_t count;
	const char *who; /* NULL: unknown */
};

/* Limits of one, because the status of an object holds those of up to 100 groups. More resources are
 * omitted, and so are names that are not printable ASCII. Resources of the template come first. */
#define MEMORY_TEMPLATE_RESOURCES_MAX 16
#define MEMORY_TEMPLATE_NAMES_SIZE_MAX 512 /* of these together */
#define MEMORY_TEMPLATE_NAME_SIZE_MAX 253

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
	VEC(struct memory_mark) marks; /* in any order of kinds */
};

#define MEMORY_MARKS "marks" /* in JSON there is a list for each kind instead */

#define MEMORY_TEMPLATES "templates"
#define MEMORY_LISTS 4

extern const struct field memory_fields[MEMORY_LISTS + 1]; /* of struct memory_state */
/* The members beside the group: the form in the status of a RayClusterAutoscaler. */
extern const struct field memory_template_fields[];

#define MEMORY_KEPT_BYTES_MAX ((size_t)1 << 20)

/* Replaces the content of `arena` by a copy of the memory, in one block of its size, to keep it until
 * the next pass. NULL above MEMORY_KEPT_BYTES_MAX: a fresh start. */
const struct memory_state *memory_state_keep(const struct memory_state *memory,
					     struct arena *arena);
/* A copy with all that it points to. */
const struct memory_state *memory_state_copy(const struct memory_state *memory,
					     struct arena *arena);

/* For the decision after the drains of one: `old` (NULL: none) with the back-offs of gangs that this one began, whose
 * parts no longer wait once they drain, and with the new times of parts that stay. `made`: the memory of its plan, whose launches are not written yet. */
const struct memory_state *memory_state_drained(const struct memory_state *old,
						const struct memory_state *made,
						struct arena *arena);

/* The next decision reads nothing in `memory` that the one on `old` (NULL: empty) did not: equal entries in the
 * same order, but for marks that are applied already. */
bool memory_state_reads_equal(const struct memory_state *memory, const struct memory_state *old,
			      struct arena *arena);

/* The first mark of the kind from `mark` on (NULL: from the beginning), without `mark` itself; NULL
 * for none. */
const struct memory_mark *memory_next_mark(const struct memory_state *memory, enum mark_kind kind,
					   const struct memory_mark *mark);

#endif
