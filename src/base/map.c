#include "base/map.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/memory.h"

#define FIRST_CAPACITY ((size_t)8)
#define GROWTH 2

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
static uint32_t hash_of(const char *key)
{
	uint64_t value = hash_text(key);

	return (uint32_t)(value ^ (value >> 32));
}

static bool is_key(const void *list, size_t place, const void *key)
{
	const struct map_entry *entries = list;

	return strcmp(entries[place].key, key) == 0;
}

/* The slot of the key, or the free slot for it. The table is never full. */
static struct slot *slot_of(const struct map *map, const char *key, uint32_t hash)
{
	struct slot *slot = slots_find(&map->slots, hash, SIZE_MAX, is_key, map->entries, key);

	CHECK(slot);
	return slot;
}

static void grow_entries(struct map *map)
{
	struct map_entry *entries;

	map->capacity = map->capacity > 0 ? map->capacity * 2 : FIRST_CAPACITY;
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
	drop_memory(map, map->slots.at);
	*map = MAP_IN(map->arena);
}

void *map_get(const struct map *map, const char *key)
{
	if (map->count == 0)
		return NULL;
	const struct slot *slot = slot_of(map, key, hash_of(key));
	return slot->entry ? map->entries[slot->entry - 1].value : NULL;
}

void map_set(struct map *map, const char *key, const void *value)
{
	size_t wanted = slots_wanted(&map->slots, GROWTH);
	uint32_t hash = hash_of(key);
	void *kept = memory_without_const(value);

	CHECK(value);
	if (wanted > 0)
		drop_memory(map, slots_move(&map->slots,
					    new_array(map, wanted, sizeof(struct slot)), wanted));
	struct slot *slot = slot_of(map, key, hash);
	if (slot->entry) {
		map->entries[slot->entry - 1].value = kept;
		return;
	}
	if (map->count == map->capacity)
		grow_entries(map);
	slots_take(&map->slots, slot, map->count, hash);
	map->entries[map->count++] = (struct map_entry){
		.key = map->arena ? arena_strdup(map->arena, key) : memory_strdup(key),
		.value = kept,
	};
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

void *map_remove(struct map *map, const char *key)
{
	if (map->count == 0)
		return NULL;
	struct slot *slot = slot_of(map, key, hash_of(key));
	if (!slot->entry)
		return NULL;
	size_t index = slot->entry - 1;
	struct map_entry removed = map->entries[index], last = map->entries[map->count - 1];
	slots_free(&map->slots, slot);
	if (index != --map->count) {
		slot_of(map, last.key, hash_of(last.key))->entry = (uint32_t)index + 1;
		map->entries[index] = last;
	}
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
