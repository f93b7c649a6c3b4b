/* Memory of one pass: allocate freely, free all at once. Aborts when the heap is exhausted. An
 * allocation never fails for a budget. In a bounded run (base/bounded.h) it does not return above it, and takes
 * no memory; elsewhere `over_budget` is set, and code whose allocations a peer can influence checks
 * it in its loops and stops. The arena owns all allocations; pointers are invalid after arena_reset or
 * arena_done. Must not hold data that outlives a pass. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct arena_block;

struct arena {
	struct arena_block *head; /* newest block; NULL in an empty arena */
	size_t used_bytes;        /* handed out since init or reset */
	/* Of arena_text: borrowed, reset by arena_done. They must outlive the strings made with
	 * them. */
	struct words *words; /* NULL: none */
	bool learns;         /* arena_text counts its strings as seen (base/words.h) */
	/* Charged with its blocks; NULL: none, or that of a bounded run. Set while the arena is empty (else by arena_move),
	 * outlives it, stays with it. */
	struct budget *budget;
	bool over_budget; /* since init, reset or done */
};

#define ARENA_INIT ((struct arena){ .head = NULL, .used_bytes = 0 })

void arena_reset(struct arena *arena); /* invalidates all pointers; may keep one block for reuse */
void arena_done(struct arena *arena);  /* frees everything; usable again afterwards */

/* Reserves `bytes` in one block: in an empty arena a block of exactly that size. An object that is
 * built a second time in the same way fits the used_bytes of its first arena (to keep objects
 * compactly). An arena that outgrows it gets blocks of twice the size, from this one on: with a
 * few bytes reserved, a small arena stays small. */
void arena_reserve(struct arena *arena, size_t bytes);
/* From now on another budget is charged with all blocks, in any case; NULL: none. */
void arena_move(struct arena *arena, struct budget *budget);
/* Gives the unused end of the newest block back to the heap, to keep the content compactly. False: the
 * heap moved the block (glibc never does, a memory checker always), so all pointers are invalid. */
bool arena_trim(struct arena *arena);

/* The state of an arena, which arena_rewind brings back once the blocks that it took since then are freed. Not
 * over a reset, done or trim. */
struct arena_mark {
	struct arena arena;
	struct arena_block *next;
	size_t used;
	char *latest;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, const struct arena_mark *mark);
/* Of base/bounded_run: the blocks of its list belong to their arenas alone from now on; or are freed. */
void arena_keep_blocks(struct arena_block **list);
void arena_free_blocks(struct arena_block **list);

void *arena_alloc(struct arena *arena, size_t bytes);              /* zeroed, aligned to 16 */
void *arena_array(struct arena *arena, size_t count, size_t size); /* zeroed; CHECKs the product */
char *arena_strdup(struct arena *arena, const char *text);
/* The same for a text that is never changed: the copy in the arena's words if it is one of them. */
const char *arena_text(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

/* The text, or its beginning and "..." when it has more than max_bytes (at least 3) bytes; never
 * half a character. The result is the text itself or in the arena. */
const char *arena_cut(struct arena *arena, const char *text, size_t max_bytes);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/* A copy of the elements of one array, or of two, one after the other; an empty one may be NULL. */
void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size);
void *arena_join(struct arena *arena, const void *first, size_t first_count, const void *second,
		 size_t second_count, size_t size);
#define ARENA_COPY(arena, from, count) arena_copy((arena), (from), (count), sizeof(*(from)))
#define ARENA_JOIN(arena, first, first_count, second, second_count)                                \
	arena_join((arena), (first), (first_count), (second), (second_count), sizeof(*(first)))
/* A new object with a value: ARENA_PUT(arena, (struct label){ key, value }). */
#define ARENA_PUT(arena, ...) arena_copy((arena), &(__VA_ARGS__), 1, sizeof(__VA_ARGS__))

/* A growable array in an arena. Declare as a member: VEC(struct pod) pods;
 * read pods.at[i], i < pods.count. The elements move when it grows. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/* Reserves `room` elements in an empty vector (0: no effect) when the number is known: growth would
 * leave the smaller arrays in the arena. */
#define VEC_RESERVE(arena, vec, room)                                                              \
	({                                                                                         \
		size_t room_ = (room);                                                             \
		if (room_ > 0) {                                                                   \
			(vec)->at = arena_array((arena), room_, sizeof(*(vec)->at));               \
			(vec)->capacity = room_;                                                   \
		}                                                                                  \
	})

/* Appends a zeroed element and evaluates to a pointer to it. */
#define VEC_ADD(arena, vec)                                                                        \
	({                                                                                         \
		if (!(vec)->at || (vec)->count >= (vec)->capacity)                                 \
			(vec)->at = arena_grow((arena), (vec)->at, (vec)->count, &(vec)->capacity, \
					       sizeof(*(vec)->at));                                \
		memset(&(vec)->at[(vec)->count], 0, sizeof(*(vec)->at));                           \
		&(vec)->at[(vec)->count++];                                                        \
	})

#define VEC_PUSH(arena, vec, value) (*VEC_ADD((arena), (vec)) = (value))

/* Runs the next statement for each element, `each` pointing to it: of an array, or of a pointer to a
 * struct with `at` and `count`. Neither may change meanwhile. */
#define ARRAY_EACH(type, each, array, count)                                                       \
	for (__typeof__(type) *(each) = (array); (each) && (each) < (array) + (count); (each)++)
#define VEC_EACH(type, each, vec) ARRAY_EACH(type, each, (vec)->at, (vec)->count)

/* The first element whose `member` is the text, or NULL; linear. */
#define ARRAY_FIND(array, size, member, text)                                                      \
	({                                                                                         \
		__typeof__(*(array)) *found_ = (array);                                            \
		size_t left_ = (size);                                                             \
		for (; left_ > 0 && strcmp(found_->member, (text)) != 0; left_--)                  \
			found_++;                                                                  \
		left_ > 0 ? found_ : NULL;                                                         \
	})
#define VEC_FIND(vec, member, text) ARRAY_FIND((vec)->at, (vec)->count, member, text)

/* Reserves one element more than count and zeroes it; returns the (moved) array. */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size);

#endif
