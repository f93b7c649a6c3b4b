/* GPUs shared between RayClusters, in the controller: reads the caches into the ledger of the pools
 * (feature/pools/core/pool_ledger), shares the pools again when something in it changes, and wakes the
 * RayClusters whose terms have changed. An ask is answered when the decision that has it is reported, a change
 * of what is held within 0.1 s, or 1 s while nothing waits; all allocations take at most a tenth of a
 * processor. Terms are those of the last allocation. Also the quotas of --max-gpus-total and
 * --max-gpus-per-namespace. State that a restart loses: patches in flight (nothing is added for
 * settle_ms after the start); of asks younger than the last write of the pool's status, since when
 * they wait; and rests after grants that were not used or wasted (pool_asks.h). The deadlines of drains are read from Ray. */
#ifndef FEATURE_POOLS_CTL_POOLS_H
#define FEATURE_POOLS_CTL_POOLS_H

#include "ctl/pass/gpu_share.h"
#include "ctl/shared/control.h"
#include "feature/pools/core/pool_allocation.h"
#include "feature/pools/ctl/pool_metrics.h"

#define POOLS_INTERVAL_MS 10 /* between two allocations */
/* How long a patch without an answer may still take effect after our deadline for it: the API server
 * ends a request after 60 s (kube-apiserver --request-timeout). */
#define POOLS_LOST_PATCH_MS 60000
/* No GPU is added for this long after the start, until the caches show the last patch of the previous
 * process; and at most for POOLS_SETTLE_MAX_MS until each RayCluster has been decided on, so that the
 * first one does not take what another one waited for longer. */
#define POOLS_SETTLE_MS 2000
#define POOLS_SETTLE_MAX_MS 10000

/* The source of objects: the caches of the API server, or the objects of a test. */
struct pools;

struct pools_source {
	/* By name; valid until pools_changed. problem: why none of them grants anything; NULL. */
	const struct gpu_pool *const *(*pools)(void *context, size_t *ret_count,
					       const char **ret_problem);
	/* NULL: the namespace is not known. */
	const struct labels *(*namespace_labels)(void *context, const char *namespace_);
	/* As kube_informer_next of struct namespace; NULL: not asked. */
	const struct namespace *(*next_namespace)(void *context, size_t *at);
	/* The Nodes and the Pods on them, until the loop turns; those of RayClusters are counted from next_pod.
	 * NULL: not known, now or ever. */
	const struct inventory_list *(*nodes)(void *context);
	/* The Pods of RayClusters, as kube_informer_next. */
	const struct pod *(*next_pod)(void *context, size_t *at);
	/* Calls pools_ray_cluster_changed for each RayCluster. */
	void (*each)(void *context, struct pools *pools);
	/* The objects of one cluster; unreadable: it exists and counts at least its last amount. */
	void (*look)(void *context, const char *namespace_, const char *name,
		     struct gpu_share_objects *ret_objects, bool *ret_unreadable);
	/* A Workload of Kueue with quota is that of this RayCluster. NULL: none is. */
	bool (*in_kueue)(void *context, const char *uid);
	/* Workloads cannot be read. NULL: they can. */
	bool (*kueue_refused)(void *context);
	/* The RayCluster is so large that its templates are not read on the loop. NULL: none is. */
	bool (*large)(void *context, const char *namespace_, const char *name);
	/* Passes may begin: the caches are filled and this replica leads. NULL: always. Before that nothing is
	 * allocated, because places of RayClusters that are not in the cache would be lost. */
	bool (*ready)(void *context);
	/* Its terms have changed: it decides again soon. */
	void (*wake)(void *context, const char *namespace_, const char *name);
	/* After each allocation, which took so much CPU time. NULL: not called. */
	void (*allocated)(void *context, const struct pool_allocation *allocation, int64_t cpu_us);
	void *context;
	struct pool_metrics *metrics; /* of workers that end for others; NULL: not counted */
	int64_t interval_ms, settle_ms, settle_max_ms, lost_patch_ms; /* POOLS_... */
};

/* Copies the source. */
struct pools *pools_new(const struct control *control, const struct pools_source *source);
void pools_free(struct pools *pools); /* NULL is fine */
/* The hooks of a pass; `self` is a struct pools. */
extern const struct gpu_share_hooks pools_hooks;
/* GPUPools, labels of namespaces or Nodes have changed. */
void pools_changed(struct pools *pools);
/* Whether one of the GPUPools reads Nodes. */
bool pools_count_nodes(const struct pools *pools);
/* There is another list of Nodes: an allocation reads it soon. */
void pools_nodes_listed(struct pools *pools);
/* How often templates of RayClusters were read for what is kept (feature/pools/ctl/pool_derived). */
size_t pools_derived(const struct pools *pools);
/* As of struct feature. */
void pools_pod_changed(struct pools *pools, const struct pod *old, const struct pod *new_object);
void pools_ray_cluster_changed(struct pools *pools, const char *namespace_, const char *name);

#endif
