/* The input of one allocation of pools, as plain data: the pools, the RayClusters that draw from them with what they hold
 * and ask for, and the reservations of the last allocation. */
#ifndef FEATURE_POOLS_CORE_POOL_INPUT_H
#define FEATURE_POOLS_CORE_POOL_INPUT_H

#include "feature/pools/core/pool_places.h"

/* The part of the GPU time of the pool, and of what a queue uses, that its reservations may leave unused. */
#define POOL_DEBT_PART 20
#define POOL_DEBT_LAUNCH_MS 60000 /* a grant of a reservation stays so long, until it is launched */
#define POOL_DEBT_START_MS 300000 /* and owes so much, as its workers start */

/* The reservations of one pool, from one allocation to the next. Zero: none yet. A reservation that gave its
 * unit nothing is followed by as long a time without one, and by twice as long after each further one. A queue owes
 * the GPU time, in 1/10000 ms, that was saved for its units and left unused. A twentieth of what it uses is taken
 * off, and of the pool, which such queues share; until then nothing is saved for it. So gangs that are
 * forged, withdrawn or short cost others little, from however many RayClusters. */
struct pool_past {
	time_ms reserved_since; /* 0: there is no reservation */
	time_ms reserve_again;  /* no reservation before it */
	int failures;           /* in a row, that took reserve.atMostSeconds */
	bool coming;            /* workers end for its unit */
	uint64_t pool;          /* the caller's: of its name and queues */
	size_t turn;            /* of the first pool: where units of several pools are tried next */
	time_ms at;             /* of the last allocation */
	int64_t saved;          /* unused since then, for this queue */
	size_t saved_for;
	time_ms granted_since; /* a unit for which they were saved, of this queue; its launch follows */
	size_t granted_to;
	int64_t owed[GPU_POOL_QUEUES_MAX + 1]; /* by queue */
};

/* Its reservation is there, or was granted a moment ago. */
static inline bool pool_past_has(const struct pool_past *past, size_t queue, time_ms now)
{
	return (past->reserved_since > 0 && past->saved_for == queue) ||
	       (now - past->granted_since < POOL_DEBT_LAUNCH_MS && past->granted_to == queue);
}

/* For a new leader, which continues a reservation. */
static inline int64_t pool_past_unused(const struct pool_past *past, size_t queue)
{
	return queue > GPU_POOL_QUEUES_MAX || pool_past_has(past, queue, past->at) ?
		       0 :
		       past->owed[queue] / (RESOURCE_UNIT * MS_PER_SECOND) +
			       (past->owed[queue] % (RESOURCE_UNIT * MS_PER_SECOND) > 0);
}

struct pool_input {
	const struct gpu_pool *const *pools; /* by name, that of the flags last */
	const int64_t *capacities;           /* of each; as found where the pool does not say */
	/* Why the pool grants and releases nothing at present; NULL: it does. */
	const char *const *held;
	bool settling; /* by `held` for a moment after the start: the condition Ready stays as it is */
	/* The first queue that selects no namespace, by pool; NULL: each does. The list may be NULL. */
	const char *const *empty_queues;
	bool kueue_refused; /* the Workloads of Kueue cannot be read */
	size_t pool_count;
	int64_t per_namespace;                    /* of the pool of the flags */
	const struct pool_member *const *members; /* sorted by key */
	/* Parallel to members; &pool_asks_unknown: nothing is known of it since the start. */
	const struct pool_asks *const *asks;
	size_t member_count;
	/* Labels of the members' namespaces, parallel to members; an unknown namespace has none. */
	const struct labels *namespace_labels;
	/* Of these pools, with all Pods; NULL: not known, amounts alone decide. */
	const struct pool_free *free;
	const struct device_table *devices; /* of free */
	const struct pool_past *pasts;      /* by pool, of the last allocation; NULL: none */
	time_ms now;
};

#endif
