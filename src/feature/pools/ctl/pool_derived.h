/* The part of a RayCluster's templates that pools need (pool_groups): made once for each generation of it,
 * for other pools, and for other devices if it claims some. For an object that is not small on a thread of the
 * pool, so that the loop never reads templates whose length a tenant chooses; until then nothing is known of the
 * RayCluster, which counts as one that cannot be read. Charged to the objects of its namespace. */
#ifndef FEATURE_POOLS_CTL_POOL_DERIVED_H
#define FEATURE_POOLS_CTL_POOL_DERIVED_H

#include "ctl/shared/control.h"
#include "feature/pools/core/pool_member.h"

struct derive_job;

/* Zero: nothing is known yet. */
struct pool_derived {
	struct arena arena;               /* of the groups */
	const struct pool_groups *groups; /* of what follows; NULL: not yet */
	char *uid;                        /* NULL: there was no RayCluster */
	int64_t generation;
	uint64_t pools, devices;
	struct budget *budget;  /* of the namespace; NULL: no limit */
	struct derive_job *job; /* NULL: none */
	size_t made;            /* how often */
};

struct pool_derived_source {
	const struct control *control;
	const struct gpu_pool *const *pools;
	size_t pool_count;
	uint64_t version; /* another one for other pools */
	bool small;       /* the RayCluster: its groups are made on the loop */
	/* On the loop, after a job. */
	void (*made)(void *context);
	/* Takes over the memory of groups that are replaced. */
	void (*replaced)(void *context, struct arena arena);
	void *context;
};

/* The groups of this RayCluster, of a cache; NULL: not known yet, `made` is called when they are. */
const struct pool_groups *pool_derived_update(struct pool_derived *derived,
					      const struct pool_derived_source *source,
					      const struct ray_cluster *cluster);
/* The groups of this RayCluster, which a pass may have read: those that are known, or of a small one made in the
 * arena; NULL: not known, wait for the cache. */
const struct pool_groups *pool_derived_find(const struct pool_derived *derived,
					    const struct pool_derived_source *source,
					    const struct ray_cluster *cluster, struct arena *arena);
void pool_derived_done(struct pool_derived *derived, const struct pool_derived_source *source);

#endif
