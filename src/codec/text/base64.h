/* Standard base64 (RFC 4648) to bytes and back. Results live in the arena. Pure. */
#ifndef CODEC_TEXT_BASE64_H
#define CODEC_TEXT_BASE64_H

#include <stddef.h>

#include "base/arena.h"

/* 0 and the bytes (NUL after them) in the arena; -1 when the text is not base64. Line breaks are
 * skipped, padding may be missing, the URL-safe letters are accepted as well. */
int base64_decode(const char *text, struct arena *arena, char **ret_bytes, size_t *ret_size);

/* With padding, without line breaks. */
const char *base64_encode(const void *bytes, size_t size, struct arena *arena);

#endif
