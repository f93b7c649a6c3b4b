/* Small dense ids for byte strings: equal bytes, equal id, the first id is 0. The packing compares
 * ids where Ray compares strings and maps. The table and the copies of the bytes live in the arena
 * it was made with. Ids follow the order of first use, so they must not define an order that is
 * visible outside: see schedule_words for that. */
#ifndef CORE_SCHEDULE_SCHEDULE_INTERN_H
#define CORE_SCHEDULE_SCHEDULE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define SCHEDULE_ID_NONE UINT32_MAX

struct schedule_intern_entry {
	const void *bytes;
	uint32_t size, hash;
};

struct schedule_intern {
	struct arena *arena;
	VEC(struct schedule_intern_entry) entries; /* by id */
	uint32_t *slots;                           /* open addressing: id + 1, 0 free */
	size_t slot_count;
};

void schedule_intern_init(struct schedule_intern *intern, struct arena *arena);
/* The id of these bytes; they are copied when they are new. */
uint32_t schedule_intern_add(struct schedule_intern *intern, const void *bytes, size_t size);

/* Byte strings whose ids are their positions in memcmp order, so that ids may define an order. Add
 * all, then sort once; ids are valid from then on. */
struct schedule_words {
	struct schedule_intern intern;
	uint32_t *places; /* by id of the intern: place in the order; NULL before the sort */
	uint32_t *sorted; /* by place: id of the intern */
};

void schedule_words_init(struct schedule_words *words, struct arena *arena);
void schedule_words_add(struct schedule_words *words, const void *bytes, size_t size);
void schedule_words_sort(struct schedule_words *words);
size_t schedule_words_count(const struct schedule_words *words);
/* SCHEDULE_ID_NONE for a word that was never added. */
uint32_t schedule_words_find(const struct schedule_words *words, const void *bytes, size_t size);
/* The number of words before these bytes in the order. */
uint32_t schedule_words_before(const struct schedule_words *words, const void *bytes, size_t size);

#endif
