#include "core/schedule/schedule_intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define FIRST_SLOTS 64

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0x9fb21c651e98df25);
	value ^= value >> 29;
	value *= UINT64_C(0xd6e8feb86659fd93);
	return value ^ (value >> 32);
}

static uint32_t hash_of(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = mix(size + 1), word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return (uint32_t)mix(hash ^ word);
}

void schedule_intern_init(struct schedule_intern *intern, struct arena *arena)
{
	*intern = (struct schedule_intern){ .arena = arena };
}

/* The slot that contains these bytes, or the free slot for them. */
static uint32_t *slot_of(const struct schedule_intern *intern, const void *bytes, size_t size,
			 uint32_t hash)
{
	size_t mask = intern->slot_count - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &intern->slots[i];
		const struct schedule_intern_entry *entry;

		if (!*slot)
			return slot;
		entry = &intern->entries.at[*slot - 1];
		if (entry->hash == hash && entry->size == size &&
		    (!size || !memcmp(entry->bytes, bytes, size)))
			return slot;
	}
}

static void grow(struct schedule_intern *intern)
{
	size_t mask;

	intern->slot_count = intern->slot_count ? intern->slot_count * 4 : FIRST_SLOTS;
	intern->slots = arena_array(intern->arena, intern->slot_count, sizeof(*intern->slots));
	mask = intern->slot_count - 1;
	for (size_t id = 0; id < intern->entries.count; id++) {
		size_t i = intern->entries.at[id].hash & mask;

		while (intern->slots[i])
			i = (i + 1) & mask;
		intern->slots[i] = (uint32_t)id + 1;
	}
}

uint32_t schedule_intern_add(struct schedule_intern *intern, const void *bytes, size_t size)
{
	uint32_t hash = hash_of(bytes, size), *slot;
	struct schedule_intern_entry *entry;
	void *copy;

	CHECK(size < UINT32_MAX && intern->entries.count < UINT32_MAX - 1);
	if (2 * intern->entries.count >= intern->slot_count)
		grow(intern);
	slot = slot_of(intern, bytes, size, hash);
	if (*slot)
		return *slot - 1;
	copy = arena_alloc(intern->arena, size + 1);
	if (size)
		memcpy(copy, bytes, size);
	entry = VEC_ADD(intern->arena, &intern->entries);
	*entry = (struct schedule_intern_entry){ .bytes = copy,
						 .size = (uint32_t)size,
						 .hash = hash };
	*slot = (uint32_t)intern->entries.count;
	return *slot - 1;
}

/* SCHEDULE_ID_NONE when they were never added. */
static uint32_t schedule_intern_find(const struct schedule_intern *intern, const void *bytes,
				     size_t size)
{
	uint32_t slot;

	if (!intern->slot_count)
		return SCHEDULE_ID_NONE;
	slot = *slot_of(intern, bytes, size, hash_of(bytes, size));
	return slot ? slot - 1 : SCHEDULE_ID_NONE;
}

void schedule_words_init(struct schedule_words *words, struct arena *arena)
{
	*words = (struct schedule_words){ .places = NULL };
	schedule_intern_init(&words->intern, arena);
}

void schedule_words_add(struct schedule_words *words, const void *bytes, size_t size)
{
	CHECK(!words->places);
	schedule_intern_add(&words->intern, bytes, size);
}

static int compare_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
	size_t common = a_size < b_size ? a_size : b_size;
	int order = common ? memcmp(a, b, common) : 0;

	return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_ids(const void *a, const void *b, void *context)
{
	const struct schedule_intern_entry *entries = context;
	const struct schedule_intern_entry *first = &entries[*(const uint32_t *)a];
	const struct schedule_intern_entry *second = &entries[*(const uint32_t *)b];

	return compare_bytes(first->bytes, first->size, second->bytes, second->size);
}

void schedule_words_sort(struct schedule_words *words)
{
	size_t count = words->intern.entries.count;

	words->places = arena_array(words->intern.arena, count + 1, sizeof(*words->places));
	words->sorted = arena_array(words->intern.arena, count + 1, sizeof(*words->sorted));
	for (size_t i = 0; i < count; i++)
		words->sorted[i] = (uint32_t)i;
	if (count)
		qsort_r(words->sorted, count, sizeof(*words->sorted), compare_ids,
			words->intern.entries.at);
	for (size_t i = 0; i < count; i++)
		words->places[words->sorted[i]] = (uint32_t)i;
}

size_t schedule_words_count(const struct schedule_words *words)
{
	return words->intern.entries.count;
}

uint32_t schedule_words_find(const struct schedule_words *words, const void *bytes, size_t size)
{
	uint32_t id = schedule_intern_find(&words->intern, bytes, size);

	CHECK(words->places);
	return id == SCHEDULE_ID_NONE ? id : words->places[id];
}

uint32_t schedule_words_before(const struct schedule_words *words, const void *bytes, size_t size)
{
	size_t low = 0, high = words->intern.entries.count;

	CHECK(words->places);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct schedule_intern_entry *entry =
			&words->intern.entries.at[words->sorted[middle]];

		if (compare_bytes(entry->bytes, entry->size, bytes, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}
