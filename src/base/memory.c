#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static size_t product(size_t count, size_t size)
{
	size_t bytes = 0;
	bool overflow = __builtin_mul_overflow(count, size, &bytes);

	CHECK(!overflow);
	return bytes;
}

void *memory_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes > 0 ? bytes : 1);

	CHECK(memory);
	return memory;
}

void *memory_array(size_t count, size_t size)
{
	return memory_alloc(product(count, size));
}

void *memory_resize(void *old, size_t count, size_t size)
{
	size_t bytes = product(count, size);
	void *memory = realloc(old, bytes > 0 ? bytes : 1);

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
