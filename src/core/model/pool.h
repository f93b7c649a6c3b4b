/* GPUs that RayClusters share, as one decision sees them: what the pools allow this RayCluster (part
 * of its snapshot), and what it asks of them (part of its plan). feature/pools makes the first from
 * the second of all RayClusters. Plain data. */
#ifndef CORE_MODEL_POOL_H
#define CORE_MODEL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/reason.h"

#define POOL_REPLICAS_MAX 1000000000

/* Nodes under repair at once: so many, or the percentage of those in use, of which it allows one at least; the larger
 * counts. */
static inline int64_t pool_repair_limit(int64_t nodes, int64_t percent, int64_t used)
{
	int64_t by_percent = used * percent / 100;

	if (percent > 0 && by_percent == 0)
		by_percent = 1;
	return by_percent > nodes ? by_percent : nodes;
}

/* A worker group that draws from a pool. Others have no limit here. */
struct pool_grant {
	const char *group;
	/* That may be launched beside existing ones and minReplicas: 0 to POOL_REPLICAS_MAX. */
	int64_t replicas;
	/* The pool collects GPUs for a gang that waits for more, so its idle workers stay. For one gang of a pool
	 * without a bound in time, else gangs that wait for each other would hold all GPUs. */
	bool collects;
	const char *repair_pool; /* the pool, where it limits Nodes under repair; "": it does not */
	int64_t repair_nodes;    /* at once, of all RayClusters */
	enum reason reason;      /* why no more, for demand that then waits; of REASONS_OF_DEMAND */
	const char *message;
};

/* A worker of this RayCluster that ends for a waiting unit of another one. */
struct pool_release {
	const char *pod;
	/* TIME_NONE: it is drained as soon as it is idle, whatever its idle timeout. Otherwise its
	 * work has until then: it is drained with this deadline, and terminated after it. */
	time_ms deadline;
	const char *message;
};

/* The limits of the pools for one RayCluster. */
struct pool_terms {
	const struct pool_grant *grants; /* each group at most once */
	size_t grant_count;
	const struct pool_release *releases; /* each Pod at most once */
	size_t release_count;
	/* 1/10000 GPU: all that its pools and its queues in them may ever give it; 0: no limit, or not known. */
	int64_t most;
};

/* The replicas of one group in a unit. */
struct pool_ask_part {
	size_t group; /* index in the RayCluster */
	int64_t replicas;
	int64_t there; /* of a gang: replicas that it has already */
};

/* `count` equal indivisible units that wait to be launched: a replica, or all replicas for a gang. */
struct pool_ask {
	VEC(struct pool_ask_part) parts; /* by group, each at most once */
	int64_t count;
	bool gang;
	bool requested; /* nothing waits for it: request_resources of Ray's SDK alone asks for it */
};

/* A VEC. */
struct pool_ask_list {
	struct pool_ask *at;
	size_t count, capacity;
};

#endif
