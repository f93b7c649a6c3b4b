/* UTF-8 sequence by sequence; shared by readers, by writers and by output for terminals. Pure. Must
 * not be given pointers past the end: `left` is the number of readable bytes. */
#ifndef CODEC_TEXT_UTF8_H
#define CODEC_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* 1 to 4 for a well-formed sequence at `text` (no surrogates, no overlong forms, at most U+10FFFF),
 * 0 for anything else, also when `left` cuts it off. */
size_t utf8_length(const char *text, size_t left);
/* The code point of a sequence of this utf8_length. */
uint32_t utf8_code_point(const char *text, size_t length);
/* False for control characters (C0, DEL, C1), for line and paragraph separators, and for characters
 * that are invisible or change the direction of text: a name with them could be mistaken for
 * another one. */
bool utf8_is_visible(uint32_t code_point);
/* Appends \uXXXX as in a JSON string, beyond U+FFFF a pair of surrogates. */
void utf8_add_json_escape(struct buf *buf, uint32_t code_point);

#endif
