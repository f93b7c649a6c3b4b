/* The pools of one allocation as core/share sees them: inside feature/pools/core only. Built by
 * pool_allocation.c, shared by pool_rounds.c. */
#ifndef FEATURE_POOLS_CORE_POOL_TABLE_H
#define FEATURE_POOLS_CORE_POOL_TABLE_H

#include "feature/pools/core/pool_input.h"

#define QUEUE_STATUS struct gpu_pool_queue_status

/* The units of one entry of asks in one pool, as many as it could hold and one more. */
struct pool_run {
	const struct pool_waiting *ask;
	size_t cluster, first, count; /* units */
	int64_t granted;              /* of them */
};

#define POOL_NO_ROOM_MAX 2 /* shapes of one pool that have such a text */

/* Units of a shape that the free GPUs would be enough for, and that the Nodes have no room for. */
struct pool_no_room {
	const char *shape, *why; /* of pool_places_why */
	int64_t room;            /* as well */
};

/* One pool as core/share sees it, and the way back. A cluster is a member in this pool; its runs follow
 * each other, and so do its workers. */
struct pool_table {
	const struct gpu_pool *pool;
	const struct label *last_labels; /* of the last cluster's namespace, which is in last_queue */
	size_t last_queue;
	VEC(struct share_queue) queues;
	VEC(struct share_cluster) clusters;
	VEC(const struct pool_member *) members; /* by cluster */
	VEC(struct share_unit) units;
	VEC(const struct pool_waiting *) asks; /* by unit */
	VEC(struct pool_run) runs;
	VEC(struct share_worker) workers;
	VEC(const struct pool_worker *) held; /* by worker */
	int64_t outside;                      /* held by members in no queue */
	struct pool_places_input places;
	struct share_result result;
	struct pool_no_room no_room[POOL_NO_ROOM_MAX];
	size_t no_room_count;
	QUEUE_STATUS *figures; /* by queue */
	int64_t used;          /* of all queues, and outside */
	int64_t granted;       /* not yet launched */
	int64_t repair_nodes;  /* that may be repaired at once; -1: no limit */
	time_ms next;          /* as of share_result, with what the pool itself does in time */
	bool waits;            /* a unit has no grant */
	size_t waiter;         /* a cluster with a unit that more GPUs would help; POOL_NONE */
	bool waiters;          /* there are others */
};

/* Where the runs and the workers of a member begin in one pool. */
struct pool_part {
	size_t cluster; /* POOL_NONE: it is not there */
	size_t first_run, first_worker;
};

/* An entry of asks whose units have parts in several pools. */
struct pool_joint {
	const struct pool_waiting *ask;
	const char *key; /* of the member */
	size_t *runs;    /* by pool; POOL_NONE */
	size_t kept;     /* units that may take GPUs; the others are passed over */
};

struct pool_tables {
	struct pool_table *at; /* by pool */
	VEC(struct pool_joint) joints;
	struct pool_part *parts; /* pool * member_count + member */
};

/* Shares the pools, and sets the results of their tables and `pasts`. A unit of several pools
 * takes something only if each of them has its part in the same call. */
void pool_rounds(const struct pool_input *input, struct pool_tables *tables,
		 struct pool_past *pasts, struct arena *arena);

#endif
