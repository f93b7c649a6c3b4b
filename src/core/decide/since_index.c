#include "core/decide/since_index.h"

#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *left, const void *right)
{
	const struct memory_since *a = *(const struct memory_since *const *)left;
	const struct memory_since *b = *(const struct memory_since *const *)right;

	return strcmp(a->key, b->key);
}

struct since_index since_index_of(struct arena *arena, const struct memory_since *marks,
				  size_t count)
{
	struct since_index index = { .count = count };

	index.at = arena_array(arena, count, sizeof(*index.at));
	for (size_t i = 0; i < count; i++)
		index.at[i] = &marks[i];
	qsort(index.at, count, sizeof(*index.at), compare_keys);
	return index;
}

const struct memory_since *since_index_find(const struct since_index *index, const char *key)
{
	const struct memory_since wanted = { .key = key }, *pointer = &wanted;
	const struct memory_since *const *found =
		bsearch(&pointer, index->at, index->count, sizeof(*index->at), compare_keys);

	return found != NULL ? *found : NULL;
}
