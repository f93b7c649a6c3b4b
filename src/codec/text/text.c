#include "codec/text/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "codec/text/utf8.h"

/* The length of the first character, *ret_safe whether it may be shown. */
static size_t next_character(const char *text, size_t left, bool *ret_safe)
{
	size_t length = utf8_length(text, left);

	*ret_safe = length > 0 && utf8_is_visible(utf8_code_point(text, length));
	return length > 0 ? length : 1;
}

static void add_clean(struct buf *buf, const char *text, bool lines)
{
	size_t left = strlen(text);

	while (left > 0) {
		bool safe;
		size_t length = next_character(text, left, &safe);

		if (safe || (lines && *text == '\n'))
			buf_add(buf, text, length);
		else
			buf_add_char(buf, '?');
		text += length;
		left -= length;
	}
}

void text_add_clean(struct buf *buf, const char *text)
{
	add_clean(buf, text, false);
}

__attribute__((format(printf, 2, 0))) static void add_formatted(struct buf *buf, const char *format,
								va_list arguments)
{
	AUTO(memory_free_string) char *text = NULL;

	CHECK(vasprintf(&text, format, arguments) >= 0);
	text_add_clean(buf, text);
}

void text_add(struct buf *buf, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_formatted(buf, format, arguments);
	va_end(arguments);
}

void text_add_line(struct buf *buf, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_formatted(buf, format, arguments);
	va_end(arguments);
	buf_add_char(buf, '\n');
}

void text_add_clean_lines(struct buf *buf, const char *text)
{
	add_clean(buf, text, true);
}

size_t text_columns(const char *text)
{
	size_t left = strlen(text), columns = 0;

	for (; left > 0; columns++) {
		bool safe;
		size_t length = next_character(text, left, &safe);

		text += length;
		left -= length;
	}
	return columns;
}

void text_add_padded(struct buf *buf, const char *text, size_t columns)
{
	text_add_clean(buf, text);
	for (size_t have = text_columns(text); have < columns; have++)
		buf_add_char(buf, ' ');
}

void text_add_reason(struct buf *buf, const char *reason, const char *message)
{
	text_add_clean(buf, reason);
	if (*reason != '\0' && *message != '\0')
		buf_add_string(buf, ": ");
	text_add_clean(buf, message);
	buf_add_char(buf, '\n');
}

static void new_line(struct buf *buf, size_t indent)
{
	buf_add_char(buf, '\n');
	for (size_t i = 0; i < indent; i++)
		buf_add_char(buf, ' ');
}

void text_add_wrapped(struct buf *buf, const char *text, size_t column, size_t indent, size_t width)
{
	bool first = true;
	AUTO(buf_done) struct buf word = BUF_INIT(strlen(text) + 1);

	while (*text != '\0') {
		size_t size = strcspn(text, " ");

		buf_clear(&word);
		buf_add(&word, text, size);
		size_t columns = text_columns(buf_string(&word));
		if (!first && column + 1 + columns > width) {
			new_line(buf, indent);
			column = indent;
		} else if (!first) {
			buf_add_char(buf, ' ');
			column++;
		}
		text_add_clean(buf, buf_string(&word));
		column += columns;
		first = false;
		text += size;
		text += strspn(text, " ");
	}
}
