/* The GPUPools of the API server, copied, because an allocation uses them longer than the cache keeps
 * them, the labels of Namespaces, which are watched as soon as there is a GPUPool, and the Workloads of Kueue,
 * as soon as one has kueueOutside. Controller mode
 * only, and optional: without the CRD or the rights that is logged once, and tried again every five
 * minutes. Must not decide anything. */
#ifndef FEATURE_POOLS_CTL_POOL_OBJECTS_H
#define FEATURE_POOLS_CTL_POOL_OBJECTS_H

#include "ctl/shared/control.h"
#include "feature/pools/core/gpu_pool.h"

struct pool_objects;

/* NULL for a controller of one namespace, which does not see all that a pool has; every function accepts
 * NULL and finds no pool. */
struct pool_objects_callbacks {
	/* A pool, but its status, or the labels of a Namespace. */
	void (*changed)(void *context);
	/* pool_objects_in_kueue of this RayCluster. */
	void (*kueue_changed)(void *context, const char *namespace_, const char *name);
	void *context;
};
struct pool_objects *pool_objects_new(const struct control *control,
				      const struct pool_objects_callbacks *callbacks);
void pool_objects_free(struct pool_objects *objects); /* NULL is fine */

/* By name; valid until `changed` has been called. */
const struct gpu_pool *const *pool_objects_list(const struct pool_objects *objects,
						size_t *ret_count);
/* The GPUPools, the namespaces if there are pools, and the Workloads are read or refused. `changed` is called when that
 * becomes true. */
bool pool_objects_known(const struct pool_objects *objects);
/* Why nothing can be shared by them now; NULL: all objects are read. */
const char *pool_objects_problem(const struct pool_objects *objects);
/* NULL: unknown. Borrowed until the loop turns. */
const struct labels *pool_objects_namespace(const struct pool_objects *objects, const char *name);
/* As kube_informer_next. */
const struct namespace *pool_objects_next_namespace(const struct pool_objects *objects, size_t *at);
/* A Workload of Kueue with quota is that of the RayCluster with this uid. */
bool pool_objects_in_kueue(const struct pool_objects *objects, const char *uid);
/* The Workloads are needed, and cannot be read. */
bool pool_objects_kueue_refused(const struct pool_objects *objects);
/* The resourceVersion in the cache; NULL: the object does not exist. Borrowed likewise. */
const char *pool_objects_version(const struct pool_objects *objects, const char *name);

#endif
