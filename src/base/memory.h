/* Heap memory that cannot fail: allocation failure aborts through CHECK.
 * Also the two helpers of ownership: AUTO runs a destructor at scope end, steal() hands over.
 * Not for the memory of one pass: that is the arena (arena.h). */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *memory_alloc(size_t bytes);                 /* zeroed; bytes 0 returns a unique pointer */
void *memory_array(size_t elements, size_t size); /* zeroed; CHECKs the product */
void *memory_resize(void *old, size_t elements, size_t size); /* grown part is not zeroed */
char *memory_strdup(const char *text);
char *memory_strndup(const char *text, size_t size);
void memory_free(void *pointer); /* NULL is fine */
/* For functions that take a pointer without const and only read by it, and for the owner that frees. */
static inline void *memory_without_const(const void *pointer)
{
	return (void *)(uintptr_t)pointer;
}
/* Frees the text and puts a copy of `value` there, which may be a part of it; NULL: nothing. */
void memory_set_string(char **text, const char *value);

/* For libraries that can be given an allocator: malloc, calloc and realloc, NULL when the heap is exhausted.
 * Freed by memory_free. */
void *memory_try_alloc(size_t bytes);
void *memory_try_array(size_t elements, size_t size);
void *memory_try_resize(void *old, size_t bytes);
/* The bytes that all blocks of these functions hold now. Any thread. */
size_t memory_heap_bytes(void);

/* AUTO(buf_done) struct buf b = ...; the destructor is called with &b when the scope ends. */
#define AUTO(destructor) __attribute__((cleanup(destructor)))
/* A parameter of a callback that this one does not need. */
#define UNUSED __attribute__((unused))

/* For char *: AUTO(memory_free_string) char *text = memory_strdup(...). */
void memory_free_string(char **text);

/* Returns the value of *(T *)slot and sets it to NULL. */
#define steal(slot)                                                                                \
	({                                                                                         \
		__typeof__(*(slot)) stolen_ = *(slot);                                             \
		*(slot) = NULL;                                                                    \
		stolen_;                                                                           \
	})

#endif
