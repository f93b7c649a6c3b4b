#include "base/map.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/memory.h"

#define FIRST_SLOT_COUNT ((size_t)16)

static void *new_array(const struct map *map, size_t count, size_t size)
{
	return map->arena ? arena_array(map->arena, count, size) : memory_array(count, size);
}

static void drop_memory(const struct map *map, void *memory)
{
	if (!map->arena)
		memory_free(memory);
}

/* Folded so that the low bits depend on all. */
static size_t hash(const char *key)
{
	uint64_t value = hash_text(key);

	return (size_t)(value ^ (value >> 32));
}

/* The slot of the key, or the free slot for it. The table is never full. */
static size_t slot_of(const struct map *map, const char *key)
{
	size_t mask = map->slot_count - 1;
	size_t slot = hash(key) & mask;

	while (map->slots[slot] != 0 && strcmp(map->entries[map->slots[slot] - 1].key, key) != 0)
		slot = (slot + 1) & mask;
	return slot;
}

static void grow_slots(struct map *map)
{
	map->slot_count = map->slot_count > 0 ? map->slot_count * 2 : FIRST_SLOT_COUNT;
	drop_memory(map, map->slots);
	map->slots = new_array(map, map->slot_count, sizeof(*map->slots));
	for (size_t i = 0; i < map->count; i++)
		map->slots[slot_of(map, map->entries[i].key)] = i + 1;
}

static void grow_entries(struct map *map)
{
	struct map_entry *entries;

	map->capacity = map->capacity > 0 ? map->capacity * 2 : FIRST_SLOT_COUNT / 2;
	entries = new_array(map, map->capacity, sizeof(*entries));
	if (map->count > 0)
		memcpy(entries, map->entries, map->count * sizeof(*entries));
	drop_memory(map, map->entries);
	map->entries = entries;
}

void map_done(struct map *map)
{
	for (size_t i = 0; i < map->count; i++)
		drop_memory(map, map->entries[i].key);
	drop_memory(map, map->entries);
	drop_memory(map, map->slots);
	*map = MAP_IN(map->arena);
}

void *map_get(const struct map *map, const char *key)
{
	if (map->count == 0)
		return NULL;
	size_t index = map->slots[slot_of(map, key)];
	return index != 0 ? map->entries[index - 1].value : NULL;
}

void map_set(struct map *map, const char *key, const void *value)
{
	void *kept = memory_without_const(value);

	CHECK(value);
	if (map->count * 2 >= map->slot_count)
		grow_slots(map);
	size_t slot = slot_of(map, key);
	if (map->slots[slot] != 0) {
		map->entries[map->slots[slot] - 1].value = kept;
		return;
	}
	if (map->count == map->capacity)
		grow_entries(map);
	map->entries[map->count] = (struct map_entry){
		.key = map->arena ? arena_strdup(map->arena, key) : memory_strdup(key),
		.value = kept,
	};
	map->slots[slot] = ++map->count;
}

void *map_make(struct map *map, const char *key, size_t size)
{
	void *value = map_get(map, key);

	if (!value) {
		value = memory_alloc(size);
		map_set(map, key, value);
		*(const char **)value = map->entries[map->count - 1].key;
	}
	return value;
}

/* Frees a slot. Later slots of the same run move up; otherwise a look-up would stop at the gap. */
static void free_slot(struct map *map, size_t gap)
{
	size_t mask = map->slot_count - 1;

	for (size_t slot = (gap + 1) & mask; map->slots[slot] != 0; slot = (slot + 1) & mask) {
		size_t home = hash(map->entries[map->slots[slot] - 1].key) & mask;

		if (((slot - home) & mask) >= ((slot - gap) & mask)) {
			map->slots[gap] = map->slots[slot];
			gap = slot;
		}
	}
	map->slots[gap] = 0;
}

void *map_remove(struct map *map, const char *key)
{
	if (map->count == 0)
		return NULL;
	size_t slot = slot_of(map, key);
	if (map->slots[slot] == 0)
		return NULL;
	size_t index = map->slots[slot] - 1;
	size_t last = map->count - 1;
	struct map_entry removed = map->entries[index];
	free_slot(map, slot);
	if (index != last) {
		map->slots[slot_of(map, map->entries[last].key)] = index + 1;
		map->entries[index] = map->entries[last];
	}
	map->count--;
	drop_memory(map, removed.key); /* last: `key` may be this very string */
	return removed.value;
}

void map_drop(struct map *map, const char *key, void (*done)(void *value))
{
	void *value = map_get(map, key);

	if (!value)
		return;
	if (done)
		done(value);
	(void)map_remove(map, key);
	memory_free(value);
}

void map_drop_all(struct map *map, void (*done)(void *value))
{
	while (map->count > 0)
		map_drop(map, map->entries[map->count - 1].key, done);
	map_done(map);
}
