/* ray.io/v1 (and v1alpha1) RayCluster, JSON to struct ray_cluster and back.
 * The result lives in the arena, nothing points into the tree. */
#ifndef CODEC_OBJECTS_RAY_CLUSTER_JSON_H
#define CODEC_OBJECTS_RAY_CLUSTER_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* `path` is the prefix of the fields in messages ("rayCluster", "" for a bare object). Only fields
 * that struct ray_cluster has are read; one of a wrong JSON type is ERR_INPUT with its path. An
 * invalid value of the right type is added to ret_cluster->problems. Missing fields have the CRD's
 * defaults. A missing metadata.name is an error. */
int ray_cluster_decode(const struct cJSON *json, const char *path, struct arena *arena,
		       struct ray_cluster *ret_cluster, struct err *err);
/* A RayCluster that cannot be read, for the reason `why` (`unreadable`): only its metadata, and the
 * owner for scaling. ERR_INPUT when it has no name. */
int ray_cluster_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
				  struct ray_cluster *ret_cluster, struct err *err);

/* feature/lint/objects/lint_shape checks types over them. Writing is for the snapshot file only: never sent
 * to an API server. */
extern const struct field ray_cluster_fields[];

#endif
