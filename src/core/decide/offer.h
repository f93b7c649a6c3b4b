/* The third value of a decision: what counts as capacity, what may be terminated and what may be
 * launched, as the problem for the packing. Const after offer_make() of decide.c. */
#ifndef CORE_DECIDE_OFFER_H
#define CORE_DECIDE_OFFER_H

#include "core/decide/health.h"
#include "core/schedule/schedule_problem.h"

/* How a worker can be removed, from the facts of this snapshot. */
enum removal {
	REMOVAL_FORBIDDEN = 0, /* busy, unknown, starting: it stays */
	REMOVAL_DRAIN,         /* idle in Ray: Ray must drain it */
	REMOVAL_DELETE,        /* cannot be busy: drained, dead or never started */
};

struct replica; /* replica.h */

/* Set by terminate_classify(). */
struct worker_offer {
	enum removal removal;
	bool deleted_now; /* this decision deletes it in any case: drained, or expired */
	bool incomplete;  /* removed because hosts of its replica are lost or cannot start */
	bool ends;        /* released with a deadline, and above minReplicas: it takes no demand */
	/* Features: why it ends if it is idle too long; NONE: it is idle. */
	enum reason end_reason;
	const char *end_message;
};

/* A resource in a template that a worker made from it does not have. */
struct template_lack {
	const char *resource;
	int64_t promised, seen; /* 1/10000 */
	const char *pod;
	bool inferred; /* the accelerator type was only inferred from nodeSelector or affinity */
};

struct group_offer {
	/* Of its Pods that are not being deleted, in canonical order (of their first member): the
	 * hosts that are removed or kept together. Set by terminate_classify(). */
	const struct replica *replicas;
	size_t replica_count;
	int64_t ours,
		others; /* launch: replicas not registered, requested by this program, by others */
	/* Set by template_seen. */
	struct capacity seen_capacity;    /* of one worker: as a registered worker reports it */
	struct capacity promised;         /* by the template, with the inferred type */
	struct accelerator_type inferred; /* type NULL for none */
	bool model_open; /* its workers will report a model, and nothing tells yet which one */
	const struct template_lack *lacks;
	size_t lack_count;
	const char *device_lack; /* features: what a new worker waits for; NULL: nothing known */
};

/* Which demands (or gangs) are in a list of schedule_problem: maps its index to theirs. */
struct packed_list {
	const size_t *index;
	size_t count;
};

struct offer {
	const struct facts *facts;
	const struct health *health;
	const struct snapshot *snapshot;
	struct arena *arena;
	struct worker_offer *workers;
	struct group_offer *groups;
	/* Set by packing_state(). */
	struct schedule_problem problem;
	struct packed_list packed_demands, packed_gangs;
	struct packed_list *packed_constraints;
	bool within_pools;                /* of pool_offer(): with the grants as a limit */
	const struct feature_slot *slots; /* of features */
	const char *gpu_ceiling;          /* name of the lowest GPU limit */
	/* Features: why use_budget of the problem ends there. */
	enum reason use_reason;
	const char *use_message;
	struct memory_state memory; /* templates; marks of features */
};

#endif
