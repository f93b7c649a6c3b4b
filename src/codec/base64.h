/* Standard base64 (RFC 4648, also the URL-safe letters) to bytes. Pure. */
#ifndef CODEC_BASE64_H
#define CODEC_BASE64_H

#include <stddef.h>

#include "base/arena.h"

/* 0 and the bytes (NUL after them) in the arena; -1 when the text is not base64. Line breaks are
 * skipped, padding may be missing. */
int base64_decode(const char *text, struct arena *arena, char **ret_bytes, size_t *ret_size);

#endif
