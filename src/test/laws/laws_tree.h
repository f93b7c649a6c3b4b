/* Small reading and changing of JSON trees, for the laws of decide(): snapshots and plans are read
 * as a user sees them, as JSON. Trees belong to the caller. */
#ifndef TEST_LAWS_TREE_H
#define TEST_LAWS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define TREE_EACH(item, list)                                                                      \
	for (const struct cJSON *item = (list) ? (list)->child : NULL; item; item = item->next)

/* The member at the end of the names; NULL when one of them is missing. */
#define TREE_AT(tree, ...) tree_at((tree), (const char *const[]){ __VA_ARGS__, NULL })

static inline struct cJSON *tree_at(const struct cJSON *tree, const char *const *names)
{
	struct cJSON *at = (struct cJSON *)tree;

	for (; at && *names; names++)
		at = cJSON_GetObjectItemCaseSensitive(at, *names);
	return at;
}

static inline struct cJSON *tree_first(const struct cJSON *list)
{
	return list ? list->child : NULL;
}

static inline const char *tree_text(const struct cJSON *tree, const char *name)
{
	const struct cJSON *at = TREE_AT(tree, name);

	return cJSON_IsString(at) ? at->valuestring : "";
}

static inline bool tree_is(const struct cJSON *tree, const char *name, const char *value)
{
	return strcmp(tree_text(tree, name), value) == 0;
}

/* A number, or a string that is one, as int64 fields of proto3 JSON are. */
static inline double tree_number(const struct cJSON *tree, const char *name, double otherwise)
{
	const struct cJSON *at = TREE_AT(tree, name);

	if (cJSON_IsNumber(at))
		return at->valuedouble;
	return cJSON_IsString(at) ? strtod(at->valuestring, NULL) : otherwise;
}

static inline int64_t tree_integer(const struct cJSON *tree, const char *name, int64_t otherwise)
{
	return (int64_t)tree_number(tree, name, (double)otherwise);
}

#endif
