/* The envelope of a Kubernetes LIST reply. Items stay in the tree for the object decoders; texts
 * are copied to the arena. */
#ifndef CODEC_OBJECTS_LIST_JSON_H
#define CODEC_OBJECTS_LIST_JSON_H

#include "base/arena.h"
#include "base/err.h"

struct cJSON;

struct list_page {
	const char *resource_version; /* opaque */
	const char *continue_token;   /* "" on the last page */
	const struct cJSON *items;    /* borrowed from the tree: walk with list_first, list_next */
	size_t count;
};

/* ERR_INPUT when it is not a list. */
int list_decode(const struct cJSON *json, struct arena *arena, struct list_page *ret_page,
		struct err *err);
const struct cJSON *list_first(const struct list_page *page); /* NULL for none */
const struct cJSON *list_next(const struct cJSON *item);      /* NULL after the last */

#endif
