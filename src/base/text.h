/* UTF-8 text for messages. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* The size of the longest beginning of the text that has at most max_bytes bytes and no half
 * character. */
size_t text_fit(const char *text, size_t max_bytes);

/* The text, or its beginning and "..." when it has more than max_bytes (at least 3) bytes; never
 * half a character. The result is the text itself or in the arena. */
const char *text_cut(struct arena *arena, const char *text, size_t max_bytes);

bool text_is_among(const char *text, const char *const *list, size_t count);

#endif
