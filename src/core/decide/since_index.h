/* Finds the entry of a key in a list of `struct memory_since`. Lives in an arena. Must not outlive
 * the memory that it was made from. */
#ifndef CORE_DECIDE_SINCE_INDEX_H
#define CORE_DECIDE_SINCE_INDEX_H

#include <stddef.h>

#include "base/arena.h"
#include "core/model/memory_state.h"

struct since_index {
	const struct memory_since **at; /* sorted by key */
	size_t count;
};

/* marks may be NULL when count is 0. */
struct since_index since_index_of(struct arena *arena, const struct memory_since *marks,
				  size_t count);
/* NULL: none with this key. Of several with the same key, any. */
const struct memory_since *since_index_find(const struct since_index *index, const char *key);

#endif
