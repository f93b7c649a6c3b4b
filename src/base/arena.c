#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bounded.h"
#include "base/budget.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"

/* Under AddressSanitizer, memory that is not allocated is poisoned, so that use after a reset and
 * writes past an allocation are detected as on the heap. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#endif
#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#define POISON(memory, bytes) __asan_poison_memory_region((memory), (bytes))
#define UNPOISON(memory, bytes) __asan_unpoison_memory_region((memory), (bytes))
#else
#define POISON(memory, bytes) ((void)(memory), (void)(bytes))
#define UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#define ALIGNMENT ((size_t)16)
#define FIRST_BLOCK_BYTES ((size_t)4 << 10)
#define LEAST_BLOCK_BYTES ((size_t)256) /* of an arena that began smaller, by arena_reserve */
#define LARGEST_BLOCK_BYTES ((size_t)64 << 10)
/* For an arena that is large already: malloc maps such blocks one by one (net/process), so that
 * they return to the system with the arena regardless of later allocations. */
#define LARGE_ARENA_BYTES ((size_t)1 << 20)
#define LARGE_ARENA_BLOCK_BYTES ((size_t)512 << 10)
#define PRINTF_BYTES 256 /* longer texts are formatted twice */
#define FIRST_ARRAY_ELEMENTS ((size_t)4)

struct arena_block {
	struct arena_block *next; /* older */
	size_t capacity, used;    /* bytes of data[] */
	char *latest;             /* the latest allocation of the arena, if it is in this block */
	struct budget *budget;    /* charged with it; NULL: none */
	/* The list of the bounded run that took it, while that continues; *place points here. */
	struct arena_block *following, **place;
	_Alignas(16) char data[];
};

static size_t rounded(size_t bytes)
{
	CHECK(bytes <= PTRDIFF_MAX - sizeof(struct arena_block) - ALIGNMENT);
	if (bytes == 0)
		return ALIGNMENT;
	return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

/* Charges a new block. A bounded run ends where its budget refuses it. */
static void charge(struct arena *arena, struct budget *budget, size_t bytes)
{
	struct bounded *bounded = bounded_current();

	if (bounded) {
		if (budget_charge(budget, bytes))
			return;
		(void)budget_refuse(budget, bytes, &bounded->err);
		bounded_end(bounded);
	}
	if (!budget_take(budget, bytes))
		arena->over_budget = true;
}

static void list_block(struct arena_block **list, struct arena_block *block)
{
	block->following = *list;
	block->place = list;
	*list = block;
	if (block->following)
		block->following->place = &block->following;
}

static void unlist_block(struct arena_block *block)
{
	if (!block->place)
		return;
	*block->place = block->following;
	if (block->following)
		block->following->place = block->place;
	block->place = NULL;
}

static struct arena_block *block_new(struct arena *arena, size_t capacity)
{
	struct bounded *bounded = bounded_current();
	struct budget *budget = !arena->budget && bounded ? bounded->memory : arena->budget;
	struct arena_block *block;

	charge(arena, budget, sizeof(*block) + capacity);
	block = memory_resize(NULL, 1, sizeof(*block) + capacity);
	*block = (struct arena_block){ .capacity = capacity, .budget = budget };
	if (bounded)
		list_block(&bounded->blocks, block);
	POISON(block->data, capacity);
	return block;
}

static void block_free(struct arena_block *block)
{
	unlist_block(block);
	budget_release(block->budget, sizeof(*block) + block->capacity);
	UNPOISON(block->data, block->capacity);
	memory_free(block);
}

void arena_keep_blocks(struct arena_block **list)
{
	while (*list)
		unlist_block(*list);
}

void arena_free_blocks(struct arena_block **list)
{
	while (*list)
		block_free(*list);
}

struct arena_mark arena_mark(const struct arena *arena)
{
	const struct arena_block *head = arena->head;
	struct arena_mark mark = { .arena = *arena };

	if (head) {
		mark.next = head->next;
		mark.used = head->used;
		mark.latest = head->latest;
	}
	return mark;
}

void arena_rewind(struct arena *arena, const struct arena_mark *mark)
{
	struct arena_block *head = mark->arena.head;

	*arena = mark->arena;
	if (!head)
		return;
	head->next = mark->next;
	head->used = mark->used;
	head->latest = mark->latest;
	POISON(head->data + head->used, head->capacity - head->used);
}

static void free_blocks_after(struct arena_block *kept)
{
	struct arena_block *block = kept->next;

	kept->next = NULL;
	while (block) {
		struct arena_block *next = block->next;

		block_free(block);
		block = next;
	}
}

void arena_reset(struct arena *arena)
{
	struct arena_block *kept = arena->head;

	arena->used_bytes = 0;
	arena->over_budget = false;
	if (!kept)
		return;
	free_blocks_after(kept);
	if (kept->capacity > LARGEST_BLOCK_BYTES) {
		/* A very large pass must not keep its memory. */
		arena_done(arena);
		return;
	}
	kept->used = 0;
	kept->latest = NULL;
	POISON(kept->data, kept->capacity);
}

void arena_done(struct arena *arena)
{
	struct budget *budget = arena->budget;

	if (arena->head) {
		free_blocks_after(arena->head);
		block_free(arena->head);
	}
	*arena = ARENA_INIT;
	arena->budget = budget;
}

void arena_reserve(struct arena *arena, size_t bytes)
{
	struct arena_block *block = arena->head;

	if (block && block->capacity - block->used >= bytes)
		return;
	if (block && block->used == 0)
		arena_done(arena); /* an unused block of the wrong size, kept by arena_reset */
	block = block_new(arena, rounded(bytes));
	block->next = arena->head;
	arena->head = block;
}

void arena_move(struct arena *arena, struct budget *budget)
{
	for (struct arena_block *block = arena->head; block; block = block->next) {
		size_t bytes = sizeof(*block) + block->capacity;

		(void)budget_take(budget, bytes);
		budget_release(block->budget, bytes);
		block->budget = budget;
	}
	arena->budget = budget;
}

bool arena_trim(struct arena *arena)
{
	struct arena_block *block = arena->head;
	uintptr_t before = (uintptr_t)block;
	size_t capacity = block ? rounded(block->used) : 0;

	if (!block || capacity >= block->capacity)
		return true;
	UNPOISON(block->data, block->capacity);
	budget_release(block->budget, block->capacity - capacity);
	block->capacity = capacity;
	arena->head = memory_resize(block, 1, sizeof(*block) + capacity);
	if (arena->head->place)
		*arena->head->place = arena->head;
	if (arena->head->place && arena->head->following)
		arena->head->following->place = &arena->head->following;
	return (uintptr_t)arena->head == before;
}

static size_t next_block_bytes(const struct arena *arena)
{
	const struct arena_block *head = arena->head;
	size_t bytes = head ? head->capacity * 2 : FIRST_BLOCK_BYTES;

	if (arena->used_bytes > LARGE_ARENA_BYTES)
		return LARGE_ARENA_BLOCK_BYTES;
	if (bytes < LEAST_BLOCK_BYTES)
		return LEAST_BLOCK_BYTES;
	return bytes < LARGEST_BLOCK_BYTES ? bytes : LARGEST_BLOCK_BYTES;
}

/* A block with at least `bytes` free. A large request gets a separate block behind the head, so
 * that the rest of the head still serves small ones. */
static struct arena_block *block_with_room(struct arena *arena, size_t bytes)
{
	struct arena_block *head = arena->head;
	size_t usual = next_block_bytes(arena);

	if (head && head->capacity - head->used >= bytes)
		return head;
	struct arena_block *block = block_new(arena, bytes > usual / 4 ? bytes : usual);
	if (head && block->capacity == bytes) {
		block->next = head->next;
		head->next = block;
	} else {
		block->next = head;
		arena->head = block;
	}
	return block;
}

/* Bytes up to the next multiple of the alignment. */
static size_t padding(size_t used)
{
	return -used & (ALIGNMENT - 1);
}

/* Work to zero and fill them. */
static int64_t units_of(size_t bytes)
{
	return 1 + (int64_t)(bytes / ALIGNMENT);
}

/* `taken` bytes, of which the first `bytes` are zeroed and returned. used_bytes counts as if all
 * allocations were in one block, so that arena_reserve can make that block. */
static char *take(struct arena *arena, size_t bytes, size_t taken, bool aligned)
{
	bounded_count(units_of(taken));
	size_t before = arena->head && aligned ? padding(arena->head->used) : 0;
	struct arena_block *block = block_with_room(arena, taken + before);

	if (aligned) {
		arena->used_bytes += padding(arena->used_bytes);
		block->used += padding(block->used);
	}
	char *memory = block->data + block->used;
	arena->head->latest = NULL;
	block->latest = memory;
	block->used += taken;
	arena->used_bytes += taken;
	UNPOISON(memory, bytes);
	memset(memory, 0, bytes);
	return memory;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	return take(arena, bytes, rounded(bytes), true);
}

/* Strings need no alignment; with poisoning they keep it, for the gap that catches overruns. */
static char *alloc_text(struct arena *arena, size_t bytes)
{
#ifdef ARENA_POISONS
	return arena_alloc(arena, bytes);
#else
	return take(arena, bytes, bytes, false);
#endif
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes = 0;
	bool overflow = __builtin_mul_overflow(count, size, &bytes);

	CHECK(!overflow);
	return arena_alloc(arena, bytes);
}

void *arena_join(struct arena *arena, const void *first, size_t first_count, const void *second,
		 size_t second_count, size_t size)
{
	char *both = arena_array(arena, first_count + second_count, size);

	if (first_count > 0)
		memcpy(both, first, first_count * size);
	if (second_count > 0)
		memcpy(both + first_count * size, second, second_count * size);
	return both;
}

void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size)
{
	return arena_join(arena, from, count, NULL, 0, size);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

const char *arena_text(struct arena *arena, const char *text)
{
	const char *word = arena->words ? words_find(arena->words, text, arena->learns) : NULL;

	return word ? word : arena_strdup(arena, text);
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
	size_t used = strnlen(text, size);
	char *copy = alloc_text(arena, used + 1);

	memcpy(copy, text, used);
	return copy;
}

char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
	char first[PRINTF_BYTES];
	va_list again;

	va_copy(again, arguments);
	int size = vsnprintf(first, sizeof(first), format, arguments);
	CHECK(size >= 0);
	char *text = alloc_text(arena, (size_t)size + 1);
	if ((size_t)size < sizeof(first))
		memcpy(text, first, (size_t)size + 1);
	else
		CHECK(vsnprintf(text, (size_t)size + 1, format, again) == size);
	va_end(again);
	return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = arena_vprintf(arena, format, arguments);
	va_end(arguments);
	return text;
}

/* Extends the arena's latest allocation in place, if possible. */
static bool extend(struct arena *arena, const void *array, size_t old_bytes, size_t new_bytes)
{
	struct arena_block *head = arena->head;
	size_t more = rounded(new_bytes) - rounded(old_bytes);

	if (!array || head->latest != array || head->capacity - head->used < more)
		return false;
	bounded_count(units_of(more));
	head->used += more;
	arena->used_bytes += more;
	UNPOISON(head->latest, new_bytes);
	memset(head->latest + old_bytes, 0, new_bytes - old_bytes);
	return true;
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity > 0 ? *capacity * 2 : FIRST_ARRAY_ELEMENTS;
	size_t bytes = 0;
	void *grown;

	CHECK(size > 0);
	CHECK(count <= *capacity);
	if (count < *capacity) {
		memset((char *)array + count * size, 0, size);
		return array;
	}
	CHECK(*capacity <= PTRDIFF_MAX / 2 && !__builtin_mul_overflow(wanted, size, &bytes));
	if (!extend(arena, array, count * size, bytes)) {
		grown = arena_alloc(arena, bytes);
		if (count > 0)
			memcpy(grown, array, count * size);
		array = grown;
	}
	*capacity = wanted;
	return array;
}

const char *arena_cut(struct arena *arena, const char *text, size_t max_bytes)
{
	static const char dots[] = "...";

	if (text[text_fit(text, max_bytes)] == '\0')
		return text;
	return arena_printf(arena, "%.*s%s", (int)text_fit(text, max_bytes - (sizeof(dots) - 1)),
			    text, dots);
}
