#include "base/words.h"

#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/slots.h"

#define GROWTH 2
#define PROBES_MAX ((size_t)16) /* limits the comparisons under forged collisions */
#define SEEN_SLOTS ((size_t)4096)

struct words {
	struct slots slots;
	char **list; /* slots.used of them */
	size_t capacity, bytes;
	uint32_t seen[SEEN_SLOTS]; /* hashes of recently seen strings */
};

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = hash_bytes(HASH_START, text, size);

	return hash ^ hash >> 29;
}

static void reserve(struct words *words)
{
	size_t wanted = slots_wanted(&words->slots, GROWTH);

	if (wanted > 0)
		memory_free(slots_move(&words->slots, memory_array(wanted, sizeof(struct slot)),
				       wanted));
}

struct words *words_new(void)
{
	struct words *words = memory_alloc(sizeof(*words));

	reserve(words);
	return words;
}

void words_free(struct words *words)
{
	if (!words)
		return;
	for (size_t i = 0; i < words->slots.used; i++)
		memory_free(words->list[i]);
	memory_free(words->list);
	memory_free(words->slots.at);
	memory_free(words);
}

static bool is_word(const void *list, size_t place, const void *text)
{
	return strcmp(((char *const *)list)[place], text) == 0;
}

/* The slot that holds the text or is free for it; NULL: none near its hash. */
static struct slot *slot_of(const struct words *words, const char *text, uint64_t hash)
{
	return slots_find(&words->slots, (uint32_t)hash, PROBES_MAX, is_word, words->list, text);
}

static bool seen_before(struct words *words, uint64_t hash)
{
	uint32_t *seen = &words->seen[hash & (SEEN_SLOTS - 1)], tag = (uint32_t)(hash >> 32);

	if (*seen == tag)
		return true;
	*seen = tag;
	return false;
}

const char *words_find(struct words *words, const char *text, bool learn)
{
	size_t size = strnlen(text, WORDS_LENGTH_MAX + 1), count = words->slots.used;
	uint64_t hash = hash_of(text, size);
	struct slot *slot = size > WORDS_LENGTH_MAX ? NULL : slot_of(words, text, hash);

	if (!slot || slot->entry)
		return slot ? words->list[slot->entry - 1] : NULL;
	if (!learn || count == WORDS_MAX || words->bytes + size > WORDS_BYTES_MAX ||
	    !seen_before(words, hash))
		return NULL;
	reserve(words);
	slot = slot_of(words, text, hash);
	if (!slot)
		return NULL;
	if (count == words->capacity) {
		words->capacity = words->slots.count;
		words->list = memory_resize(words->list, words->capacity, sizeof(*words->list));
	}
	words->list[count] = memory_strdup(text);
	words->bytes += size + 1;
	slots_take(&words->slots, slot, count, (uint32_t)hash);
	return words->list[count];
}

size_t words_count(const struct words *words)
{
	return words->slots.used;
}
