/* A value in the JSON of an object with its path, for rules on fields that no decoder reads. Paths are in the
 * arena. */
#ifndef FEATURE_LINT_OBJECTS_LINT_FOUND_H
#define FEATURE_LINT_OBJECTS_LINT_FOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct cJSON;

struct lint_found {
	const struct cJSON *json; /* NULL: missing */
	const char *path;         /* of it, or of the object that lacks it */
};

/* The value at names or indexes that are separated by blanks: "template spec containers 0 env". */
struct lint_found lint_found_follow(struct lint_found from, const char *names, struct arena *arena);
/* An element of a list; json NULL behind the last. */
struct lint_found lint_found_element(struct lint_found list, size_t index, struct arena *arena);
bool lint_found_is_given(struct lint_found found); /* neither missing nor null */
/* A string, or a number or boolean as text; "" for anything else. */
const char *lint_found_text(struct lint_found found, struct arena *arena);
/* The same for a member of an object. */
const char *lint_found_member_text(struct lint_found object, const char *name, struct arena *arena);

#endif
