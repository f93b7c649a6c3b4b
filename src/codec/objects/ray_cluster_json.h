/* ray.io/v1 (and v1alpha1) RayCluster, JSON to struct ray_cluster.
 * The result lives in the arena, nothing points into the tree. */
#ifndef CODEC_OBJECTS_RAY_CLUSTER_JSON_H
#define CODEC_OBJECTS_RAY_CLUSTER_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* `path` is what stands before the fields in messages ("rayCluster", "" for a bare object).
 * Only fields that struct ray_cluster has are looked at; one of a wrong JSON type is ERR_INPUT
 * with its path. A bad value of the right type goes to ret_cluster->problems. Missing fields have
 * the CRD's defaults. A missing metadata.name is an error. */
int ray_cluster_decode(const struct cJSON *json, const char *path, struct arena *arena,
		       struct ray_cluster *ret_cluster, struct err *err);
/* A RayCluster of which `why` says that it cannot be read (`unreadable`): only what its metadata have,
 * and whose it is to scale. ERR_INPUT when it has no name. */
int ray_cluster_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
				  struct ray_cluster *ret_cluster, struct err *err);

#endif
