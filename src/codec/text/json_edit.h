/* Changes of a tree by a path, for variants of an object: workerGroupSpecs[gpu].maxReplicas. An
 * element of a list is named by its groupName, name or group, or by its index, a member of an object also in
 * brackets: limits[nvidia.com/gpu]. The tree is of the caller. */
#ifndef CODEC_TEXT_JSON_EDIT_H
#define CODEC_TEXT_JSON_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct cJSON;

#define JSON_STEPS_MAX 16

/* A member of an object, or what is in brackets. */
struct json_step {
	const char *name;
	bool bracket;
	const char *key; /* the member that names a new element of a list; NULL: none is made */
};

struct json_steps {
	struct json_step at[JSON_STEPS_MAX];
	size_t count; /* at least 1; the first is a name */
};

struct cJSON *json_copy(const struct cJSON *tree);
/* In whatever order members are. */
bool json_equal(const struct cJSON *a, const struct cJSON *b);

/* Steps without keys. ERR_INPUT when the text is not a path. */
int json_steps_parse(const char *path, struct arena *arena, struct json_steps *ret_steps,
		     struct err *err);
/* Sets the value: JSON, else the text as a string. Missing members are created; of a missing element
 * of a list, {KEY: NAME} if the step has a key, else ERR_NOT_FOUND with the elements that the list
 * has. ERR_INPUT: the path leads through a text or a number. */
int json_edit_set(struct cJSON *tree, const struct json_steps *steps, const char *value,
		  struct err *err);

#endif
