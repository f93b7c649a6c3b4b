/* GPUPool (rayscaler.dev/v1alpha1), to and from struct gpu_pool. The field table is also the source of
 * crd/gpupools.rayscaler.dev.yaml (make docs). */
#ifndef FEATURE_POOLS_CODEC_GPU_POOL_JSON_H
#define FEATURE_POOLS_CODEC_GPU_POOL_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "feature/pools/core/gpu_pool.h"

struct cJSON;

#define GPU_POOL_KIND "GPUPool"
/* Of the files of a simulation, and of changes by a path. */
#define POOL_KEPT_KINDS(X) X(GPU_POOL_KIND, "gpuPools", gpu_pool_fields)

extern const struct field gpu_pool_fields[];        /* of struct gpu_pool; writes no status */
extern const struct field gpu_pool_status_fields[]; /* of struct gpu_pool_status */
/* Members that are not given have their documented values; no status. */
extern const struct gpu_pool_status gpu_pool_status_initial;

/* An invalid value is one of the problems; a wrong JSON type and a list above its limit are errors. A
 * member of the status that has an unknown form counts as absent. The result lives in the arena. */
int gpu_pool_decode(const struct cJSON *json, const char *path, struct arena *arena,
		    struct gpu_pool *ret_pool, struct err *err);
/* A pool that cannot be decoded because of `why`, which is its only problem: only names, uid, versions
 * and status are read. -1 without a name. */
int gpu_pool_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
			       struct gpu_pool *ret_pool);

/* The JSON text of the member `status`: the content of a merge patch, where null removes a member.
 * Equal texts are equal statuses. `summary` and held_text are made from the figures. The body of the
 * request is autoscaler_status_body(text, resource_version). */
const char *gpu_pool_status_text(const struct gpu_pool_status *status, struct arena *arena);
/* "52 of 64" */
const char *gpu_pool_held_text(const struct gpu_pool_status *status, struct arena *arena);

#endif
