/* v1 Pod, JSON to struct pod. The result lives in the arena, nothing points into the tree. */
#ifndef CODEC_POD_JSON_H
#define CODEC_POD_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "core/kubernetes.h"

struct cJSON;

/* As ray_cluster_decode: ERR_INPUT with the path for a wrong JSON type or a missing metadata.name,
 * problems for bad values. */
int pod_decode(const struct cJSON *json, const char *path, struct arena *arena, struct pod *ret_pod,
	       struct err *err);

#endif
