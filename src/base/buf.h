/* A growable byte buffer with a mandatory limit. The caller owns struct buf; buf_done frees its
 * bytes. The bytes are always followed by NUL. Exceeding the limit is an error value, never an
 * abort: a peer may cause it. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;  /* NULL only before the first byte */
	size_t size; /* bytes in use, NUL not counted */
	size_t capacity;
	size_t ceiling_bytes;  /* size never exceeds this */
	bool overflowed;       /* an append was refused; later appends are refused as well */
	struct budget *budget; /* charged with the capacity; NULL: none. Set before the first byte */
};

#define BUF_INIT(bytes) ((struct buf){ .ceiling_bytes = (bytes) })
void buf_init(struct buf *buf, size_t ceiling_bytes);
void buf_done(struct buf *buf);  /* the budget is forgotten, here and by buf_steal */
void buf_clear(struct buf *buf); /* size 0, overflowed false, memory kept */

/* Each returns 0, or -1 when the limit or the budget would be exceeded (nothing is appended,
 * overflowed is set). */
int buf_add(struct buf *buf, const void *data, size_t size);
int buf_add_string(struct buf *buf, const char *text);
int buf_add_char(struct buf *buf, char c);
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drops the first bytes (bytes <= size), moving the rest to the front. */
void buf_consume(struct buf *buf, size_t bytes);

/* The bytes as a NUL-terminated string, "" when empty; valid until the next change. */
const char *buf_string(const struct buf *buf);

/* Passes the bytes to the caller (memory_free) and leaves an empty buffer; never NULL. */
char *buf_steal(struct buf *buf);

#endif
