/* Open addressing: from a hash to the place of an entry in a list of the caller's, which also compares. Below base/map, base/words
 * and the equal bytes of gcs/gcs_reader (core/schedule/schedule_shape has one of its own, which sorts its ids). Linear
 * probing over a power of two of slots, of which at most half are used. Their memory is the caller's. */
#ifndef BASE_SLOTS_H
#define BASE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slot {
	uint32_t entry; /* its place + 1; 0: free */
	uint32_t hash;
};

struct slots {
	struct slot *at;
	size_t count, used;
};

/* How many slots to move to before one more is taken; 0: there is room. `growth`: a power of two. */
size_t slots_wanted(const struct slots *slots, size_t growth);
/* To a zeroed array of `count`; returns the old one, to be freed. */
struct slot *slots_move(struct slots *slots, struct slot *at, size_t count);

static inline size_t slots_home(const struct slots *slots, uint32_t hash)
{
	return hash & (slots->count - 1);
}

/* The slot of the entry with this hash for which `same` is true, or the free one for it (slots_take). NULL: neither
 * among the first `probes`, which limits the comparisons under forged collisions. There is at least one slot.
 * Inline, so that the compiler sees `same`. */
static inline struct slot *slots_find(const struct slots *slots, uint32_t hash, size_t probes,
				      bool (*same)(const void *list, size_t place, const void *key),
				      const void *list, const void *key)
{
	size_t i = slots_home(slots, hash);

	for (; probes > 0; probes--, i = (i + 1) & (slots->count - 1)) {
		struct slot *slot = &slots->at[i];

		if (!slot->entry || (slot->hash == hash && same(list, slot->entry - 1, key)))
			return slot;
	}
	return NULL;
}

static inline void slots_take(struct slots *slots, struct slot *slot, size_t place, uint32_t hash)
{
	*slot = (struct slot){ (uint32_t)place + 1, hash };
	slots->used++;
}

/* Frees a slot that is taken; later ones of the same run move up. */
void slots_free(struct slots *slots, struct slot *slot);

#endif
