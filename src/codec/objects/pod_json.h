/* v1 Pod, JSON to struct pod and back. The result lives in the arena, nothing points into the tree. */
#ifndef CODEC_OBJECTS_POD_JSON_H
#define CODEC_OBJECTS_POD_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* As ray_cluster_decode: ERR_INPUT with the path for a wrong JSON type or a missing metadata.name,
 * problems for bad values. */
int pod_decode(const struct cJSON *json, const char *path, struct arena *arena, struct pod *ret_pod,
	       struct err *err);
/* A Pod that cannot be read, for the reason `why` (`unreadable`): only the members of its metadata
 * with the right type. ERR_INPUT when it has no name. */
int pod_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
			  struct pod *ret_pod, struct err *err);

/* A Pod in the text of the API server, an item of a list (codec/objects/list_stream) with its
 * `problem`; one that cannot be read becomes an unreadable one. ERR_INPUT when it has no name. */
int pod_decode_text(const char *text, size_t size, const char *problem, struct arena *arena,
		    struct pod *ret_pod, struct err *err);

/* Writing is for the snapshot file only: never sent to an API server. */
extern const struct field pod_fields[];
/* Writes an empty ownerReferences for a Pod without owners: a reader then uses owner references. */
void pod_write_foreign(struct json_writer *writer, const char *name, const struct pod *pod);

#endif
