/* The pools that core/share divides, and the result, as plain data. All amounts are GPUs in 1/10000 (RESOURCE_UNIT).
 *
 * A pool has queues (teams); a cluster draws from one queue of the pool. A cluster that
 * uses two pools has an entry in each, and queues with one name in several pools are one team. A
 * worker is a replica that holds GPUs: a Pod, all hosts of a slice, or a patch in flight. A unit is
 * an indivisible ask: a replica, a slice of hosts, a gang. */
#ifndef CORE_SHARE_SHARE_POOL_H
#define CORE_SHARE_SHARE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/resources.h"

#define SHARE_NONE SIZE_MAX
#define SHARE_WEIGHT_MAX INT64_C(1000000)
#define SHARE_NEVER INT64_C(-1)

struct share_queue {
	const char *name; /* unique in its pool */
	/* Guarantees of a pool that exceed its capacity count in proportion. */
	int64_t guaranteed;
	int64_t lendable; /* part of it that others may borrow while it is not asked for */
	int64_t maximum;  /* RESOURCE_AMOUNT_MAX: none */
	int64_t weight;   /* 1 to SHARE_WEIGHT_MAX */
	int64_t priority;
	/* busy.afterSeconds: notice before a busy worker of this queue ends; SHARE_NEVER: it is
	 * kept. */
	int64_t drain_after_ms;
};

struct share_cluster {
	const char *name; /* "namespace/name" */
	size_t queue;
};

struct share_unit {
	size_t cluster;
	int64_t amount;   /* of all its Pods, above 0 */
	int64_t since_ms; /* it waits since then */
	int32_t priority; /* within the queue */
	bool passed_over; /* it takes nothing in this call, and nothing is kept for it */
	bool unreserved;  /* there is never a reservation for it */
	bool refused;     /* nor is there one now */
	bool unlent; /* nothing of a reservation for it is lent: it needs GPUs of other pools too */
	bool requested; /* nothing waits for it (request_resources of Ray's SDK) */
};

enum share_state {
	SHARE_BUSY = 0, /* or unknown */
	SHARE_STARTING, /* also a patch in flight */
	SHARE_IDLE,     /* and may be terminated */
	SHARE_LEAVING,  /* drained or deleted: it still holds its GPUs */
};

struct share_worker {
	size_t cluster;
	int64_t amount;
	enum share_state state;
	/* Of an idle one: demand is placed on it (request_resources). Of a busy one: it ends after others. */
	bool needed;
	bool requested;   /* of an idle one that is needed: by such a request alone */
	int64_t since_ms; /* in this state */
	int64_t order;    /* of release in a queue, lower first: whole Nodes before others */
};

/* Where Pods fit, kept by the caller for the time of one call: what is free now, and what will be
 * free soon, when the workers that leave have left. Now is never more than soon. */
struct share_places {
	void *context;
	/* Takes a place for each Pod of the unit, or none and returns false. soon: of what will be
	 * free. Otherwise of both. */
	bool (*take)(void *context, size_t unit, bool soon);
	/* The places of a worker will be free soon. */
	void (*leave)(void *context, size_t worker);
	/* The present state, and the return to it. */
	size_t (*mark)(void *context);
	void (*rollback)(void *context, size_t mark);
};

struct share_pool {
	int64_t capacity, now_ms;
	int64_t idle_after_ms;    /* an idle worker may be released after this time */
	int64_t reserve_after_ms; /* SHARE_NEVER: no reservation */
	/* Work of this age is expected to run for as long again: what it uses is not reserved.
	 * 0: any work may end. */
	int64_t reserve_at_most_ms;
	int64_t reserved_since_ms; /* a reservation, of this call or an earlier one */
	const struct share_queue *queues;
	size_t queue_count;
	const struct share_cluster *clusters;
	size_t cluster_count;
	const struct share_unit *units; /* of a cluster: in the order in which it wants them */
	size_t unit_count;
	const struct share_worker *workers;
	size_t worker_count;
	const struct share_places *places; /* NULL: amounts alone decide */
};

enum share_verdict {
	SHARE_WAITS = 0,  /* for GPUs of the pool, or for a place */
	SHARE_AT_MAXIMUM, /* of its queue */
	SHARE_IMPOSSIBLE, /* larger than the pool or the maximum */
	SHARE_PASSED_OVER,
	SHARE_COMING, /* GPUs are kept for it, and workers leave */
	SHARE_GRANTED,
};

enum share_action { SHARE_STAY = 0, SHARE_RELEASE, SHARE_DRAIN };

struct share_order {
	enum share_action action;
	size_t unit;         /* the unit that it is for; SHARE_NONE: the pool has become smaller */
	int64_t deadline_ms; /* of SHARE_DRAIN */
};

struct share_result {
	enum share_verdict *units;   /* parallel to those of the pool */
	struct share_order *workers; /* as well */
	size_t reserved;             /* the unit; SHARE_NONE: no reservation, or it was granted */
	size_t granted;              /* the unit of a reservation; SHARE_NONE */
	int64_t next_ms;             /* time alone changes nothing before it; INT64_MAX: ever */
};

#endif
