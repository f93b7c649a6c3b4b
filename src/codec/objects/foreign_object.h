/* The tree of one object from the API server. There is always a tree, whatever a tenant wrote into
 * the object: an object that cannot be read as a whole gives the skeleton
 * (codec/objects/object_skeleton), so that it is known by its name and counts as present. */
#ifndef CODEC_OBJECTS_FOREIGN_OBJECT_H
#define CODEC_OBJECTS_FOREIGN_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct cJSON;

/* An object in etcd has at most 1.5 MiB, and custom resources are stored as the JSON that is sent:
 * each of them is accepted. Built-in objects are stored as protobuf, and "<" has six bytes in the
 * API server's JSON: a Pod may have 9 MiB, but no normal Pod is above 2 MiB. */
#define FOREIGN_OBJECT_MAX_BYTES ((size_t)2 << 20)
/* A tree costs about 100 bytes for each value. A RayCluster of 1.5 MiB has fewer than 100,000. */
#define FOREIGN_OBJECT_MAX_VALUES 200000
#define FOREIGN_OBJECT_MAX_DEPTH 200

/* *ret_json is never NULL; the caller frees it. ret_problem->kind is ERR_NONE, or says why the tree
 * is only the skeleton. `watch`: the text is a watch event with an object in it. */
void foreign_object_parse(const char *text, size_t size, bool watch, struct cJSON **ret_json,
			  struct err *ret_problem);

/* The object's skeleton alone; the caller frees it. */
struct cJSON *foreign_object_skeleton(const char *text, size_t size, bool watch);

/* The problem text of an object above `limit` bytes; in the arena. */
const char *foreign_object_too_large(struct arena *arena, size_t limit);

#endif
