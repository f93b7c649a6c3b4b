/* The input of one allocation of pools, as plain data: the pools, the RayClusters that draw from them with what they hold
 * and ask for, and the reservations of the last allocation. */
#ifndef FEATURE_POOLS_CORE_POOL_INPUT_H
#define FEATURE_POOLS_CORE_POOL_INPUT_H

#include "feature/pools/core/pool_places.h"

/* The part of the GPU time of the pool, and of what a queue uses, that its reservations may leave unused. */
#define POOL_DEBT_PART 20
#define POOL_DEBT_LAUNCH_MS 60000 /* a grant of a reservation stays so long, until it is launched */
#define POOL_DEBT_START_MS 300000 /* each reservation owes so much, as workers start */
#define POOL_FAILURES_MAX 6       /* that are counted */

/* The reservations of one pool, from one allocation to the next. Zero: none yet. A reservation that gave its
 * unit nothing is followed by as long a time without one, and by twice as long after each further one. A queue owes
 * the GPU time, in 1/10000 ms, that was saved for its units and left unused. A twentieth of what it uses is taken
 * off, and of the pool, which such queues share. While a queue owes, no other reservation begins, and one whose unit
 * has cost half of the most that it may cost ends. So gangs that are forged, withdrawn or short leave unused at most
 * one such half and the twentieths, from however many RayClusters, namespaces and queues. */
struct pool_past {
	time_ms reserved_since; /* 0: there is no reservation */
	time_ms reserve_again;  /* no reservation before it */
	int64_t failures;       /* in a row, that took reserve.atMostSeconds or cost too much */
	bool coming;            /* workers end for its unit */
	uint64_t pool;          /* the caller's: of its name and queues */
	size_t turn;            /* of the first pool: where units of several pools are tried next */
	time_ms at;             /* of the last allocation */
	int64_t saved;          /* unused since then, for this queue */
	int64_t most;           /* that it may owe */
	size_t saved_for;
	struct pool_past_queue {
		int64_t owed;
		time_ms granted_since; /* the last reservation of it that was granted; its launch follows */
	} queues[GPU_POOL_QUEUES_MAX + 1];
};

/* Its last reservation was granted a moment ago. */
static inline bool pool_past_granted(const struct pool_past *past, size_t queue)
{
	return past->at - past->queues[queue].granted_since < POOL_DEBT_LAUNCH_MS;
}

struct pool_input {
	const struct gpu_pool *const *pools; /* by name, that of the flags last */
	const int64_t *capacities;           /* of each; as found where the pool does not say */
	/* Why the pool grants and releases nothing at present; NULL: it does. */
	const char *const *stopped;
	bool settling; /* by `stopped` for a moment after the start: the condition Ready stays as it is */
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
	const struct pool_room *free;
	const struct device_table *devices; /* of free */
	const struct pool_past *pasts;      /* by pool, of the last allocation; NULL: none */
	time_ms now;
};

#endif
