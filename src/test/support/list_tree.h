/* A LIST reply that is parsed as a whole, for tests: the program cuts the items out of the bytes
 * (codec/objects/list_stream). Header only. */
#ifndef TEST_SUPPORT_LIST_TREE_H
#define TEST_SUPPORT_LIST_TREE_H

#include <cjson/cJSON.h>

/* The array `items` of a list; NULL when it is missing, null or no array. */
__attribute__((unused)) static const struct cJSON *list_tree_items(const struct cJSON *tree)
{
	const struct cJSON *items = cJSON_GetObjectItemCaseSensitive(tree, "items");

	return cJSON_IsArray(items) ? items : NULL;
}

#endif
