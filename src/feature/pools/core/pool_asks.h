/* The asks of one RayCluster, and since when it waits: those of its last plan, each with the
 * time since which it waits. Equal asks (by groups and replicas) are interchangeable: the oldest ones
 * are launched first, and those that are no longer asked for are the youngest, so a place in the order
 * is kept however often demand is reported. Pure; values, const once made. */
#ifndef FEATURE_POOLS_CORE_POOL_ASKS_H
#define FEATURE_POOLS_CORE_POOL_ASKS_H

#include "core/model/field.h"
#include "core/model/pool.h"
#include "feature/pools/core/gpu_pool.h"

/* A grant that is not used for so long costs the ask its place: it waits since now again, and the RayCluster
 * is granted nothing for POOL_ASK_REST_MS, twice as long after each further one. */
#define POOL_ASK_UNUSED_MS 60000
#define POOL_ASK_REST_MS 600000
/* Workers that end although none was ever busy cost the RayCluster so many times the time for which others waited:
 * so long it is granted nothing beyond the guarantee, twice as long after each further time. */
#define POOL_ASK_WASTE_TIMES 9
#define POOL_ASK_WASTE_MAX_MS (24 * INT64_C(3600000))
#define POOL_ASK_TOLD_MS 10000 /* others read of a grant that is not used for so long */
/* Asks that Ray does not confirm for so long are granted nothing; they keep their place. */
#define POOL_ASK_CONFIRM_MS 15000
/* Of one RayCluster; further ones are left out. */
#define POOL_ASKS_MAX 1000

struct pool_waiting {
	struct pool_ask_part *parts;
	size_t part_count;
	const char *groups; /* "gpu-group*8", with what a gang has: equal asks have equal texts */
	int64_t count;
	time_ms since;
	time_ms granted_since; /* TIME_NONE: it is not granted */
	int64_t gpus;          /* of one unit in the last allocation; 0: none yet */
	bool gang, requested;
};

struct pool_asks {
	VEC(struct pool_waiting) list; /* in the order of the plan, equal ones by age */
	time_ms unconfirmed_since;     /* Ray does not answer; 0: it does */
	time_ms rests_until;           /* after grants that were not used; 0: there were none */
	int64_t unused;                /* such grants since its last launch */
	time_ms held_since;   /* others wait, and none of its workers was busy; 0; POOL_ASK_USED */
	time_ms wasted_until; /* as rests_until, beyond the guarantee, for such workers that ended */
	int64_t wasted;       /* how often, since a worker was busy */
};
/* Equal ones have the same place in the order. */
extern const struct field pool_asks_fields[];

extern const struct pool_asks pool_asks_unknown; /* empty */
/* The asks of a plan. old: those before it, from which equal asks keep their times; NULL: none. */
const struct pool_asks *pool_asks_update(const struct pool_asks *old, const struct pool_ask *asks,
					 size_t ask_count, const struct ray_cluster *cluster,
					 time_ms now, struct arena *arena);
/* Those of a decision that does not know the demand of Ray. Borrows. */
struct pool_asks pool_asks_unconfirmed(const struct pool_asks *asks, time_ms now);
/* A grant of them was not used. */
void pool_asks_unused(struct pool_asks *asks, time_ms now);
#define POOL_ASK_USED INT64_C(-1)
/* Of its workers now: `held`: there are some; `busy`: one is. others: other RayClusters wait for GPUs of its pools. */
void pool_asks_use(struct pool_asks *asks, bool held, bool busy, bool others, time_ms now);
/* They are granted nothing now. */
bool pool_asks_rest(const struct pool_asks *asks, time_ms now);
/* Time alone changes nothing of them before it; INT64_MAX: ever. */
time_ms pool_asks_next(const struct pool_asks *asks, time_ms now);
/* Without those that a patch launches, which raises `replicas` by launched[group]. */
const struct pool_asks *pool_asks_launched(const struct pool_asks *asks, const int64_t *launched,
					   size_t group_count, struct arena *arena);

#endif
