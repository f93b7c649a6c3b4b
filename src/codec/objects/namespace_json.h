/* v1 Namespace, JSON to struct namespace: its name and labels alone. */
#ifndef CODEC_OBJECTS_NAMESPACE_JSON_H
#define CODEC_OBJECTS_NAMESPACE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* As pod_decode. */
int namespace_decode(const struct cJSON *json, const char *path, struct arena *arena,
		     struct namespace *ret_namespace, struct err *err);

#endif
