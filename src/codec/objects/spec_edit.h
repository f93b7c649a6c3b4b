/* Changes of the spec of an object, by a path that its field table knows. */
#ifndef CODEC_OBJECTS_SPEC_EDIT_H
#define CODEC_OBJECTS_SPEC_EDIT_H

#include "codec/objects/field.h"
#include "codec/text/json_edit.h"

/* The row of a member of spec; NULL: there is none. */
const struct field *spec_edit_row(const struct field *table, const char *name);
/* Fails for a member that no decision reads: it would change nothing. The tables end at maps and at
 * members with a reader of their own. */
int spec_edit_check(const struct field *table, const struct json_steps *steps, const char *path,
		    struct err *err);
/* json_edit_set in the member `spec`, which is made where it is missing. */
int spec_edit_set(struct cJSON *tree, const struct json_steps *steps, const char *value,
		  const char *key, struct err *err);

#endif
