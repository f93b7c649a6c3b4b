#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/check.h"
#include "base/memory.h"

#define FIRST_CAPACITY ((size_t)64)

void buf_init(struct buf *buf, size_t ceiling_bytes)
{
	CHECK(ceiling_bytes < PTRDIFF_MAX);
	*buf = (struct buf){ .ceiling_bytes = ceiling_bytes };
}

void buf_done(struct buf *buf)
{
	memory_free(buf->data);
	budget_release(buf->budget, buf->capacity);
	buf_init(buf, buf->ceiling_bytes);
}

void buf_clear(struct buf *buf)
{
	buf->size = 0;
	buf->overflowed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

/* Ensures capacity for `more` bytes and the NUL, or returns the error. */
static int make_room(struct buf *buf, size_t more)
{
	size_t capacity = buf->capacity > 0 ? buf->capacity : FIRST_CAPACITY;

	if (buf->overflowed || more > buf->ceiling_bytes - buf->size) {
		buf->overflowed = true;
		return -1;
	}
	if (buf->size + more < buf->capacity)
		return 0;
	while (capacity <= buf->size + more)
		capacity *= 2; /* cannot wrap: the limit is below PTRDIFF_MAX */
	if (capacity > buf->ceiling_bytes + 1)
		capacity = buf->ceiling_bytes + 1;
	if (!budget_charge(buf->budget, capacity - buf->capacity)) {
		buf->overflowed = true;
		return -1;
	}
	buf->data = memory_resize(buf->data, capacity, 1);
	buf->capacity = capacity;
	return 0;
}

int buf_add(struct buf *buf, const void *data, size_t size)
{
	if (make_room(buf, size) < 0)
		return -1;
	if (size > 0)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	buf->data[buf->size] = '\0';
	return 0;
}

int buf_add_string(struct buf *buf, const char *text)
{
	return buf_add(buf, text, strlen(text));
}

int buf_add_char(struct buf *buf, char c)
{
	return buf_add(buf, &c, 1);
}

int buf_printf(struct buf *buf, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int size = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	CHECK(size >= 0);
	if (make_room(buf, (size_t)size) < 0)
		return -1;
	va_start(arguments, format);
	size = vsnprintf(buf->data + buf->size, (size_t)size + 1, format, arguments);
	va_end(arguments);
	CHECK(size >= 0);
	buf->size += (size_t)size;
	return 0;
}

void buf_consume(struct buf *buf, size_t bytes)
{
	CHECK(bytes <= buf->size);
	if (bytes == 0)
		return;
	memmove(buf->data, buf->data + bytes, buf->size - bytes + 1);
	buf->size -= bytes;
}

const char *buf_string(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

char *buf_steal(struct buf *buf)
{
	char *data = steal(&buf->data);

	budget_release(buf->budget, buf->capacity);
	buf_init(buf, buf->ceiling_bytes);
	return data ? data : memory_strdup("");
}
