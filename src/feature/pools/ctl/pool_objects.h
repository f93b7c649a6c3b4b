/* The GPUPools of the API server, copied, because an allocation uses them longer than the cache keeps
 * them, and the labels of Namespaces, which are watched as soon as there is a GPUPool. Controller mode
 * only, and optional: without the CRD or the rights that is logged once, and tried again every five
 * minutes. Must not decide anything. */
#ifndef FEATURE_POOLS_CTL_POOL_OBJECTS_H
#define FEATURE_POOLS_CTL_POOL_OBJECTS_H

#include "ctl/shared/control.h"
#include "feature/pools/core/gpu_pool.h"

struct pool_objects;

/* NULL for a controller of one namespace, which does not see all that a pool has; every function accepts
 * NULL and finds no pool. changed: a pool, but its status, or the labels of a Namespace have changed. */
struct pool_objects *pool_objects_new(const struct control *control, void (*changed)(void *context),
				      void *context);
void pool_objects_free(struct pool_objects *objects); /* NULL is fine */

/* By name; valid until `changed` has been called. */
const struct gpu_pool *const *pool_objects_list(const struct pool_objects *objects,
						size_t *ret_count);
/* The GPUPools, and the namespaces if there are pools, are read or refused. `changed` is called when that
 * becomes true. */
bool pool_objects_known(const struct pool_objects *objects);
/* Why nothing can be shared by them now; NULL: all objects are read. */
const char *pool_objects_problem(const struct pool_objects *objects);
/* NULL: unknown. Borrowed until the loop turns. */
const struct labels *pool_objects_namespace(const struct pool_objects *objects, const char *name);
/* As kube_informer_next. */
const struct namespace *pool_objects_next_namespace(const struct pool_objects *objects, size_t *at);
/* The resourceVersion in the cache; NULL: the object does not exist. Borrowed likewise. */
const char *pool_objects_version(const struct pool_objects *objects, const char *name);

#endif
