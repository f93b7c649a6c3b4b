#include "base/words.h"

#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define SLOTS_FIRST ((size_t)256)
#define PROBES_MAX ((size_t)16) /* limits the comparisons under forged collisions */
#define SEEN_SLOTS ((size_t)4096)

struct words {
	char **slots; /* a power of two of them, at most half of them used */
	size_t slot_count, count, bytes;
	uint32_t seen[SEEN_SLOTS]; /* hashes of recently seen strings */
};

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = hash_bytes(HASH_START, text, size);

	return hash ^ hash >> 29;
}

struct words *words_new(void)
{
	struct words *words = memory_alloc(sizeof(*words));

	words->slot_count = SLOTS_FIRST;
	words->slots = memory_array(words->slot_count, sizeof(*words->slots));
	return words;
}

void words_free(struct words *words)
{
	if (!words)
		return;
	for (size_t i = 0; i < words->slot_count; i++)
		memory_free(words->slots[i]);
	memory_free(words->slots);
	memory_free(words);
}

/* The slot that holds the text or is free for it; NULL: none near its hash. */
static char **slot_of(const struct words *words, const char *text, uint64_t hash)
{
	for (size_t i = 0; i < PROBES_MAX; i++) {
		char **slot = &words->slots[(hash + i) & (words->slot_count - 1)];

		if (!*slot || strcmp(*slot, text) == 0)
			return slot;
	}
	return NULL;
}

static void grow(struct words *words)
{
	struct words old = { .slots = words->slots, .slot_count = words->slot_count };

	words->slot_count *= 2;
	words->slots = memory_array(words->slot_count, sizeof(*words->slots));
	for (size_t i = 0; i < old.slot_count; i++) {
		char *word = old.slots[i];
		size_t at = word ? hash_of(word, strlen(word)) : 0;

		if (!word)
			continue;
		/* Objects point to it: it must have a place, however far off. */
		while (words->slots[at & (words->slot_count - 1)])
			at++;
		words->slots[at & (words->slot_count - 1)] = word;
	}
	memory_free(old.slots);
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
	size_t size = strnlen(text, WORDS_LENGTH_MAX + 1);
	uint64_t hash = hash_of(text, size);
	char **slot = size > WORDS_LENGTH_MAX ? NULL : slot_of(words, text, hash);

	if (!slot || *slot)
		return slot ? *slot : NULL;
	if (!learn || words->count == WORDS_MAX || words->bytes + size > WORDS_BYTES_MAX ||
	    !seen_before(words, hash))
		return NULL;
	if (words->count * 2 >= words->slot_count) {
		grow(words);
		slot = slot_of(words, text, hash);
	}
	if (!slot)
		return NULL;
	*slot = memory_strdup(text);
	words->count++;
	words->bytes += size + 1;
	return *slot;
}

size_t words_count(const struct words *words)
{
	return words->count;
}
