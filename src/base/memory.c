#include "base/memory.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static size_t product(size_t elements, size_t size)
{
	size_t bytes = 0;
	bool overflow = __builtin_mul_overflow(elements, size, &bytes);

	CHECK(!overflow);
	return bytes;
}

/* Of all blocks; signed, as a library may free with one what it took without the other. */
static int64_t heap_bytes;

static void *count(void *memory)
{
	if (memory)
		(void)__atomic_add_fetch(&heap_bytes, (int64_t)malloc_usable_size(memory),
					 __ATOMIC_RELAXED);
	return memory;
}

static void uncount(void *memory)
{
	if (memory)
		(void)__atomic_sub_fetch(&heap_bytes, (int64_t)malloc_usable_size(memory),
					 __ATOMIC_RELAXED);
}

size_t memory_heap_bytes(void)
{
	int64_t bytes = __atomic_load_n(&heap_bytes, __ATOMIC_RELAXED);

	return bytes > 0 ? (size_t)bytes : 0;
}

void *memory_try_alloc(size_t bytes)
{
	return count(malloc(bytes));
}

void *memory_try_array(size_t elements, size_t size)
{
	return count(calloc(elements, size));
}

void *memory_try_resize(void *old, size_t bytes)
{
	void *memory;

	uncount(old);
	memory = realloc(old, bytes);
	if (!memory && bytes > 0)
		(void)count(old);
	return count(memory);
}

void *memory_alloc(size_t bytes)
{
	void *memory = memory_try_array(1, bytes > 0 ? bytes : 1);

	CHECK(memory);
	return memory;
}

void *memory_array(size_t elements, size_t size)
{
	return memory_alloc(product(elements, size));
}

void *memory_resize(void *old, size_t elements, size_t size)
{
	size_t bytes = product(elements, size);
	void *memory = memory_try_resize(old, bytes > 0 ? bytes : 1);

	CHECK(memory);
	return memory;
}

char *memory_strdup(const char *text)
{
	return memory_strndup(text, strlen(text));
}

char *memory_strndup(const char *text, size_t size)
{
	size_t used = strnlen(text, size);
	char *copy = memory_alloc(used + 1);

	memcpy(copy, text, used);
	return copy;
}

void memory_free(void *pointer)
{
	uncount(pointer);
	free(pointer);
}

void memory_set_string(char **text, const char *value)
{
	char *copy = value ? memory_strdup(value) : NULL;

	memory_free(*text);
	*text = copy;
}

void memory_free_string(char **text)
{
	memory_free(*text);
	*text = NULL;
}
