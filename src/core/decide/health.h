/* The second value of a decision: what facts and memory say about the condition of workers and
 * groups. Each member is set by the module that its comment names, and const after health_make() of
 * decide.c. */
#ifndef CORE_DECIDE_HEALTH_H
#define CORE_DECIDE_HEALTH_H

#include "core/decide/facts.h"

/* Why a Pod has not registered with Ray; in order of precedence. */
enum obstacle {
	OBSTACLE_NONE = 0, /* it is starting normally */
	OBSTACLE_WAITING, /* Unschedulable, gated or not yet scheduled, and still within its time */
	OBSTACLE_GATED,
	OBSTACLE_NO_NODE,
	OBSTACLE_NODE_TIMEOUT,
	OBSTACLE_FAILED,
	OBSTACLE_START_TIMEOUT,
};

/* The rule for a Pod whose obstacle is OBSTACLE_GATED. */
enum gate_rule {
	GATE_CANCELLED = 0, /* its group is backed off, and its Pods with this rule are cancelled */
	GATE_WAITS,         /* for any time */
};

/* Launches that a group in back-off cancels. */
enum cancels {
	CANCELS_NOTHING = 0,
	CANCELS_MISSING, /* replicas without a Pod */
	CANCELS_GATED,   /* Pods with OBSTACLE_GATED and GATE_CANCELLED */
	CANCELS_ALL,     /* both, and all Pods that cannot start, without those with GATE_WAITS */
};

struct worker_health {
	bool unsure;            /* raylet: missing in Ray's replies for a short time */
	bool unregistered;      /* raylet: runs, but missing in Ray's replies for long enough */
	bool start_grace;       /* raylet: its start grace: its work may look pending */
	enum obstacle obstacle; /* progress */
	const char *obstacle_message; /* progress: of the Pod's condition or event */
	enum reason waiting_reason;   /* progress: why it has no Node; NONE: it may have one */
	time_ms gated_since;          /* progress: the last change of its gates; TIME_NONE: none */
	const struct event *refusal; /* progress: of the queue it is in, its newest Event; or NULL */
	const char *start_failure;   /* progress: of the newest Event of the kubelet; "": none */
	enum gate_rule gate;         /* features */
	enum reason cause;   /* features: of a back-off in place of its obstacle; NONE: none */
	bool raylet_expired; /* raylet: the time of raylet_gone has expired */
	bool starved; /* backoff: its group is in back-off and it cannot start, so it is cancelled */
};

struct group_health {
	/* features: of a back-off, and the last evidence of it; NONE: none */
	enum reason cause;
	const char *cause_message;
	time_ms caused_at;
	/* conflict: number of reverted raises so far, in a pass with a revert; 0: none */
	int64_t reverts;
	const char *reverts_by;  /* NULL: unknown */
	bool lowers_held;        /* replicas above maxReplicas is left as another writer sets it */
	int64_t idle_timeout_ms; /* in force: longer than configured in an ownership conflict */
	/* backoff */
	bool backed_off;
	enum cancels cancels;     /* what is cancelled then */
	bool raises_held;         /* because another writer reverts replicas */
	time_ms gangs_held_until; /* a part of a gang waited in vain there; TIME_NONE: it does not */
	const struct memory_backoff *backoff; /* in `memory`; NULL when there is none */
};

struct health {
	const struct facts *facts;
	const struct snapshot *snapshot; /* of facts, as in all values */
	struct arena *arena;
	struct worker_health *workers;
	struct group_health *groups;
	struct capacity_check *capacity_check; /* computed on first use: capacity_check.h */
	struct memory_state memory; /* back-offs, and marks of workers and ownership conflicts */
	const struct feature_slot *slots; /* of features */
};

/* The time of its raylet's death or of its start has run out. */
static inline bool worker_is_expired(const struct worker_health *worker)
{
	return worker->raylet_expired || worker->obstacle == OBSTACLE_START_TIMEOUT;
}

/* The idle time after which the worker is terminated. A released one is terminated as soon as it is
 * idle, but not while another writer reverts that. */
static inline int64_t worker_idle_timeout_ms(const struct health *health,
					     const struct worker *worker)
{
	int64_t in_force = health->groups[worker->group].idle_timeout_ms;

	if (worker->release && in_force == health->facts->groups[worker->group].idle_timeout_ms)
		return 0;
	return in_force;
}

#endif
