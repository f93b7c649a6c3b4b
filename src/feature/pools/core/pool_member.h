/* One RayCluster as the pools see it: what each of its worker groups draws from, what it holds, what
 * it asks for. Amounts held are from Kubernetes objects alone (core/capacity/gpu_count), because Ray's
 * reports can be forged; only whether a worker is idle is from Ray, by the last plan, and a cluster
 * that lies about it can only keep what it has. Pure; a value, const once made. */
#ifndef FEATURE_POOLS_CORE_POOL_MEMBER_H
#define FEATURE_POOLS_CORE_POOL_MEMBER_H

#include "core/capacity/gpu_count.h"
#include "core/model/field.h"
#include "core/model/plan.h"
#include "core/share/share_pool.h"
#include "feature/pools/core/pool_asks.h"
#include "feature/pools/core/pool_room.h"

/* The workers of the last plan, by Pod. */
struct pool_report_worker {
	uint64_t pod; /* hash_text of its name: a RayCluster may only deceive itself with equal ones */
	enum share_state state;
	bool needed;    /* of an idle one: request_resources or a waiting gang holds it */
	bool requested; /* as of a share_worker */
	time_ms since;  /* in this state; of an idle one: its last work has ended */
	time_ms ends;   /* Ray drains it until then, as read at the start; 0: not known */
};

struct pool_report {
	struct pool_report_worker *workers; /* sorted by Pod */
	size_t worker_count;
	int64_t *min_replicas; /* by group, with those of schedules */
	size_t group_count;
};
extern const struct field pool_report_fields[];

/* Busy workers that are drained, until their Pods have ended. */
struct pool_drains {
	VEC(struct pool_release) list;
};
extern const struct field pool_drains_fields[];

struct pool_group {
	const char *name;
	size_t pool; /* POOL_NONE: it draws from none */
	int64_t replica_gpus;
	const struct pod_spec *spec; /* of its template; not in pool_groups */
	const char *shape; /* equal ones: the scheduler places their Pods alike, with equal GPUs */
	int64_t hosts;
	/* kueueOutside of the pool, and the RayCluster is in_kueue: it asks the pool for nothing, nothing
	 * limits it, and its GPUs count in no queue. Not in pool_groups. */
	bool outside;
};

/* The part of a RayCluster's templates that pools need: it costs as much as they are long, so it is made off
 * the loop and kept (feature/pools/ctl/pool_derived). */
struct pool_groups {
	struct pool_group *list;
	size_t count;
	struct gpu_templates templates;
	size_t head_pool; /* of the head's template */
	bool claims;      /* it changes with the devices */
};

struct pool_member_input {
	const char *namespace_, *key;      /* key: "namespace/name" */
	const struct ray_cluster *cluster; /* NULL: deleted, or it cannot be read */
	const struct pool_groups *groups;  /* pool_groups_make; NULL without a cluster */
	const struct pod *const *pods;
	size_t pod_count;
	bool in_kueue;           /* a Workload of Kueue with quota is that of the RayCluster */
	const int64_t *replicas; /* by group, with patches in flight; NULL: those of the spec */
	const struct pool_report *report;    /* NULL: no decision yet, all workers count as busy */
	const struct pool_drains *drains;    /* NULL: none */
	const struct gpu_pool *const *pools; /* by name */
	size_t pool_count;
	const struct settings *settings;
	const struct device_table *devices;
	/* Of these pools: a group whose Pods are on Nodes of a pool draws from it. NULL: not known. */
	const struct pool_room *free;
};

#define POOL_NODE_OTHER SIZE_MAX         /* none of the pools', or it is not known */
#define POOL_NODE_UNBOUND (SIZE_MAX - 1) /* it waits for a Node */

struct pool_pod {
	const char *name;
	const struct pod *pod; /* borrowed, also by a copy: until it changes; NULL: not known */
	size_t node;           /* of pool_member_locate; POOL_NODE_... */
};

/* A replica, or requested ones that do not exist. */
struct pool_worker {
	uint32_t group, pool;   /* group: UINT32_MAX: the head, or none of the cluster's */
	enum share_state state; /* STARTING also of one that may not be ended here */
	bool needed, requested; /* as of a share_worker */
	bool outside;           /* as of a pool_group */
	int64_t gpus;
	time_ms since, ends;              /* as of a pool_report_worker */
	const struct pool_release *drain; /* NULL: none */
	VEC(struct pool_pod) pods;        /* none: requested */
};

struct pool_member {
	const char *namespace_, *key; /* "namespace/name" */
	struct pool_group *groups;
	size_t group_count;
	VEC(struct pool_worker) workers; /* with GPUs of a pool */
	bool strays; /* a group with GPUs draws from none: on another Node it may */
};
/* A copy borrows all names, the specs of the cluster's templates and the Pods. */
extern const struct field pool_member_fields[], pool_member_group_fields[];

/* old: the last one, from which `since` is kept while the state is the same; NULL: none. Borrows. */
const struct pool_report *pool_report_make(const struct plan *plan, const struct pool_report *old,
					   time_ms now, struct arena *arena);
/* Of the cluster, the pools, settings and devices of the input alone; borrows nothing. */
const struct pool_groups *pool_groups_make(const struct pool_member_input *input,
					   struct arena *arena);
/* Borrows all objects, and the groups. */
const struct pool_member *pool_member_make(const struct pool_member_input *input,
					   struct arena *arena);
/* Finds the Nodes of all Pods, before an allocation with these free amounts. */
void pool_member_locate(struct pool_member *member, const struct pool_room *free);
/* It has groups that draw from a pool, or holds GPUs of one. */
bool pool_member_draws(const struct pool_member *member);

#endif
