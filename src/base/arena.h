/* Memory of one pass: allocate freely, free all at once. Aborts when the heap is out.
 * An allocation never fails for a budget: above it `over_budget` is set, and who allocates what a peer can
 * influence looks at that in its loops and gives up.
 * The arena owns all that it gives out; pointers die with arena_reset or arena_done.
 * Must not hold anything that outlives a pass. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;
struct budget;
struct words;

struct arena {
	struct arena_block *head; /* newest block; NULL in an empty arena */
	size_t used_bytes;        /* handed out since init or reset */
	/* Of arena_text: borrowed, forgotten by arena_done. They must outlive what was made with them. */
	struct words *words; /* NULL: none */
	bool learns;         /* what arena_text gets counts as seen (base/words.h) */
	/* Charged with its blocks; NULL: none. Set while the arena is empty, outlives it, stays with it. */
	struct budget *budget;
	bool over_budget; /* since init, reset or done */
};

#define ARENA_INIT ((struct arena){ .head = NULL, .used_bytes = 0 })

void arena_reset(struct arena *arena); /* all pointers die; may keep one block for reuse */
void arena_done(struct arena *arena);  /* frees everything; usable again afterwards */

/* Room for `bytes` in one block: in an empty arena a block of exactly that size. Something that is
 * made twice in the same way fits the used_bytes of its first arena (keep objects like that). */
void arena_reserve(struct arena *arena, size_t bytes);

void *arena_alloc(struct arena *arena, size_t bytes);              /* zeroed, aligned to 16 */
void *arena_array(struct arena *arena, size_t count, size_t size); /* zeroed; CHECKs the product */
char *arena_strdup(struct arena *arena, const char *text);
/* The same for a text that nobody will change: the copy in the arena's words where it is one of them. */
const char *arena_text(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/* A growable array in an arena. Declare as a member: VEC(struct pod) pods;
 * read pods.at[i], i < pods.count. The elements move when it grows. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/* Room for `room` elements at once in an empty one (0: nothing happens), where the number is known:
 * growing would leave the smaller arrays behind in the arena. */
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
		(vec)->at = arena_grow((arena), (vec)->at, (vec)->count, &(vec)->capacity,         \
				       sizeof(*(vec)->at));                                        \
		&(vec)->at[(vec)->count++];                                                        \
	})

#define VEC_PUSH(arena, vec, value) (*VEC_ADD((arena), (vec)) = (value))

/* Makes room for one element more than count and zeroes it; returns the (moved) array. */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size);

#endif
