/* A hash map from strings to pointers, on the heap or in an arena (MAP_IN, which map_done does not free),
 * with its keys copied. The caller owns the map and the objects that the values point to. Iteration follows insertion order, so that output made
 * from it is stable; removing moves the last entry into the gap. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>

#include "base/slots.h"

struct arena;

struct map_entry {
	char *key; /* owned by the map */
	void *value;
};

struct map {
	struct map_entry *entries; /* count of them, in insertion order */
	size_t count;
	size_t capacity;
	struct slots slots;  /* of entries */
	struct arena *arena; /* NULL: the heap */
};

#define MAP_INIT ((struct map){ .entries = NULL })
#define MAP_IN(memory) ((struct map){ .arena = (memory) })

void map_done(struct map *map);                        /* frees keys and table, not the values */
void *map_get(const struct map *map, const char *key); /* NULL when absent */
/* value must not be NULL; replaces. It is given back as it is: of a const one by the same module. */
void map_set(struct map *map, const char *key, const void *value);
void *map_remove(struct map *map, const char *key); /* the old value, NULL when absent */

/* A map that owns its values, from the heap. map_make: the value of the key, a new one of `size` zeroed bytes
 * when there is none; its first member is a const char *, which it sets to the key in the memory of the map.
 * done: frees what a value owns, while it is in the map; NULL: it owns nothing. map_drop: nothing when it is
 * absent. map_drop_all: map_done as well. */
void *map_make(struct map *map, const char *key, size_t size);
void map_drop(struct map *map, const char *key, void (*done)(void *value));
void map_drop_all(struct map *map, void (*done)(void *value));

#endif
