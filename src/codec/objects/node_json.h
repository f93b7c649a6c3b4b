/* v1 Node, JSON to struct node. The result lives in the arena, nothing points into the tree. */
#ifndef CODEC_OBJECTS_NODE_JSON_H
#define CODEC_OBJECTS_NODE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* As pod_decode. */
int node_decode(const struct cJSON *json, const char *path, struct arena *arena,
		struct node *ret_node, struct err *err);
/* Writing is for the snapshot file only. */
extern const struct field node_fields[];
extern const struct node node_initial;

#endif
