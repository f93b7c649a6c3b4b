/* The length of one UTF-8 sequence; shared by the JSON scanner and the writer.
 * Pure. Must not be given pointers past the end: `left` is what may be read. */
#ifndef CODEC_UTF8_H
#define CODEC_UTF8_H

#include <stddef.h>

/* 1 to 4 for a well-formed sequence at `text` (no surrogates, no overlong forms, at most U+10FFFF),
 * 0 for anything else, also when it is cut off by `left`. */
size_t utf8_length(const char *text, size_t left);

#endif
