/* v1 Namespace, JSON to struct namespace: its name and labels alone. */
#ifndef CODEC_OBJECTS_NAMESPACE_JSON_H
#define CODEC_OBJECTS_NAMESPACE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/kubernetes.h"

#define LABEL_NAMESPACE_NAME "kubernetes.io/metadata.name"

struct cJSON;

extern const struct field namespace_fields[]; /* of struct namespace */

/* As pod_decode. */
int namespace_decode(const struct cJSON *json, const char *path, struct arena *arena,
		     struct namespace *ret_namespace, struct err *err);
/* The labels with that of the name, which the API server sets on each Namespace. */
struct labels namespace_labels_of(const struct labels *labels, const char *name,
				  struct arena *arena);

#endif
