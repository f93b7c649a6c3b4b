/* Changes of the spec of an object, by a path that its field table knows. */
#ifndef CODEC_OBJECTS_SPEC_EDIT_H
#define CODEC_OBJECTS_SPEC_EDIT_H

#include "codec/schema/field.h"
#include "codec/text/json_edit.h"

/* The row of a member of spec; NULL: there is none. */
const struct field *spec_edit_row(const struct field *table, const char *name);
/* A path to a GPUPool's member, for messages. */
#define GPU_POOLS_PATH "gpuPools[NAME].queues[NAME].guaranteed"

/* Fails for a member that no decision reads, with those that are read: it would change nothing. The
 * tables end at maps and at members with a reader of their own. */
int spec_edit_check(const struct field *table, const struct json_steps *steps, const char *path,
		    struct arena *arena, struct err *err);
/* Fails for a path that begins with neither a member of the spec of these two tables nor a setting:
 * ERR_NOT_FOUND with the nearest of them. */
int spec_edit_refuse(const struct field *clusters, const struct field *autoscalers,
		     const char *path, const char *first, struct arena *arena, struct err *err);
/* json_edit_set in the member `spec`, which is made where it is missing, of each of these objects;
 * -1: none of them was changed, or ERR_INPUT in one. */
int spec_edit_set(struct cJSON *const *trees, size_t count, const struct json_steps *steps,
		  const char *value, struct err *err);

#endif
