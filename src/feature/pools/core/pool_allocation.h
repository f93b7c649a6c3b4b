/* Shares the GPUs of all pools between all RayClusters that draw from them (core/share), and puts the
 * result into the terms of each decision (core/model/pool.h) and the figures of each queue. The one
 * implementation for the controller, the simulation, and the quotas of flags. Pure; equal inputs give
 * equal results. */
#ifndef FEATURE_POOLS_CORE_POOL_ALLOCATION_H
#define FEATURE_POOLS_CORE_POOL_ALLOCATION_H

#include "feature/pools/core/pool_input.h"

/* The pool of the flags --max-gpus-total and --max-gpus-per-namespace: all groups that no GPUPool
 * matches, a queue for each namespace, and nothing is released. Its name is POOL_OF_FLAGS. */
struct pool_of_flags {
	struct gpu_pool pool;
	int64_t per_namespace; /* RESOURCE_AMOUNT_MAX: no limit */
};

/* Amounts in 1/10000 GPU; 0: the flag is not set. Zeros both: no such pool. */
void pool_of_flags_init(struct pool_of_flags *pool, int64_t total, int64_t per_namespace);

/* Of one member: what its decisions may do. Without texts, which pool_terms_make adds. */
struct pool_share {
	const int64_t *grants;  /* replicas, by group */
	const bool *collects;   /* by group: idle workers stay for a gang that waits; NULL: none */
	const int64_t *granted; /* units, by entry of the asks, NULL: none; below 0: in no pool */
	int64_t most;           /* of pool_terms */
	bool gives;             /* grants or releases */
	bool drains;            /* of busy workers, that begin with this allocation */
	uint64_t digest;        /* of the above but `granted`: equal ones need no new decision */
	time_ms next;           /* time alone does not end `collects` before it; INT64_MAX: ever */
};

struct pool_allocation {
	const struct pool_input *input; /* a copy; what it points to lives as long */
	struct pool_share *shares;      /* by member */
	struct pool_past *pasts;        /* by pool: those of the next input */
	struct pool_tables *tables;     /* internal */
	time_ms next;                   /* time alone changes nothing before it; INT64_MAX: ever */
	bool waits;                     /* a unit has no grant */
};

const struct pool_allocation *pool_allocate(const struct pool_input *input, struct arena *arena);

/* Nothing granted yet, for a member that no allocation has; NULL: no group of it draws from a pool. */
const struct pool_terms *pool_terms_none(const struct pool_member *member, struct arena *arena);
/* Nothing granted to any group, and idle workers stay: it is not known yet which of them draw from a pool. */
const struct pool_terms *pool_terms_unknown(const struct ray_cluster *cluster, struct arena *arena);
/* The terms of the member with this index; NULL likewise. spent: a patch has used what is granted, so nothing is. */
const struct pool_terms *pool_terms_make(const struct pool_allocation *allocation, size_t index,
					 bool spent, struct arena *arena);
/* The asks of a member after an allocation: granted ones remember since when, and one that was granted
 * for POOL_ASK_UNUSED_MS without being launched waits since now. Those of the input if nothing changes. */
const struct pool_asks *pool_asks_granted(const struct pool_allocation *allocation, size_t index,
					  struct arena *arena);
/* The drains of a member after an allocation: earlier ones whose Pods exist, and new ones. */
const struct pool_drains *pool_drains_make(const struct pool_allocation *allocation, size_t index,
					   struct arena *arena);
/* The figures of a pool. `old` is its last status (NULL: none), for the times below a guarantee and
 * the places of members whose asks are unknown. */
void pool_status_make(const struct pool_allocation *allocation, size_t pool,
		      const struct gpu_pool_status *old, struct arena *arena,
		      struct gpu_pool_status *ret_status);

#endif
