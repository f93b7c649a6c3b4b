/* Makes text from outside safe for a terminal, and pads it to columns. Every name, message and
 * annotation that a command prints passes through here: no byte of it may control the terminal or
 * hide neighbouring text. Not for JSON or YAML, which escape. */
#ifndef CODEC_TEXT_TEXT_H
#define CODEC_TEXT_TEXT_H

#include <stddef.h>

#include "base/buf.h"

/* Appends the text with "?" for each control character (C0, DEL, C1), line separator, invisible or
 * direction-changing character and each byte that is not UTF-8. */
void text_add_clean(struct buf *buf, const char *text);
/* The same for a formatted text; _line: and a line end. */
void text_add(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_line(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a text of several lines: line feeds are kept. */
void text_add_clean_lines(struct buf *buf, const char *text);
/* The columns of the cleaned text: one for each character. */
size_t text_columns(const char *text);
/* Appends the cleaned text and spaces up to `columns`; a longer text is not cut. */
void text_add_padded(struct buf *buf, const char *text, size_t columns);
/* "Reason: message", or the one that is not empty, and a line end. */
void text_add_reason(struct buf *buf, const char *reason, const char *message);
/* Appends the text broken between words, so that no line but a single long word is longer than
 * `width`; lines after the first start with `indent` spaces. The first starts at column
 * `column`. */
void text_add_wrapped(struct buf *buf, const char *text, size_t column, size_t indent,
		      size_t width);

#endif
