#include "cli/shared/report_colour.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/shared/table.h"
#include "core/model/reason.h"

#define WORD_MAX 64
#define TITLE_MIN 3    /* letters */
#define CONTINUATION 4 /* columns, of a broken line beyond its own indentation */
#define REPORT_BYTES_MAX ((size_t)64 << 20)

/* Of a reason's word; of one that several tables have, as the first of them. */
static enum table_colour colour_of(const char *word)
{
	enum reason reason = REASON_UNKNOWN;

	for (enum reason_table table = REASONS_OF_GROUPS; table <= REASONS_OF_CONDITIONS; table++)
		if (table != REASONS_OF_WORKERS && reason == REASON_UNKNOWN)
			reason = reason_read(table, word);
	if (reason == REASON_NONE || reason == REASON_UNKNOWN)
		return TABLE_PLAIN;
	if (reason_has(reason, TRAIT_GOOD))
		return TABLE_GOOD;
	if (reason_has(reason, TRAIT_FAINT))
		return TABLE_FAINT;
	return reason_has(reason, TRAIT_CALM) ||
			       reason_table_of(reason) <= REASONS_OF_TERMINATIONS ?
		       TABLE_BUSY :
		       TABLE_BAD;
}

/* The capitals at the start of a line: "GROUP  REPLICAS", or "PENDING" of "PENDING  waits in Ray". */
static size_t title_size(const char *line)
{
	size_t size = 0;

	while (isupper((unsigned char)line[size]) || line[size] == ' ')
		size++;
	while (size > 0 && line[size - 1] == ' ')
		size--;
	return line[0] != ' ' && size >= TITLE_MIN ? size : 0;
}

/* The letters at the start of the text. */
static size_t word_size(const char *text)
{
	size_t size = 0;

	while (size < WORD_MAX && isalpha((unsigned char)text[size]))
		size++;
	return size;
}

/* A reason ends its line, or a colon follows it. */
static enum table_colour word_colour(const char *text, size_t size)
{
	char word[WORD_MAX + 1];

	if (text[size] != ':' && text[size] != '\n')
		return TABLE_PLAIN;
	snprintf(word, sizeof(word), "%.*s", (int)size, text);
	return colour_of(word);
}

static void add_part(struct buf *buf, enum table_colour colour, const char *text, size_t size)
{
	char part[WORD_MAX + 1];

	snprintf(part, sizeof(part), "%.*s", (int)size, text);
	table_add_text(buf, colour, part, true);
}

static void add_coloured(struct buf *buf, const char *text)
{
	bool line_start = true;

	while (*text != '\0') {
		size_t size = line_start ? title_size(text) : 0;
		enum table_colour colour = TABLE_TITLE;

		if (size == 0) {
			size = word_size(text);
			colour = word_colour(text, size);
		}
		size = size > WORD_MAX ? WORD_MAX : size;
		line_start = *text == '\n';
		if (size > 0)
			add_part(buf, colour, text, size);
		else
			buf_add_char(buf, *text);
		text += size > 0 ? size : 1;
	}
}

/* The byte of the blank where a line of more than `columns` is broken; `size`: nowhere. Bytes count as columns, so that
 * a line with other letters is broken early. */
static size_t break_of(const char *line, size_t size, size_t from, size_t columns)
{
	size_t at = columns;

	while (at > from && line[at] != ' ')
		at--;
	if (at <= from)
		for (at = columns; at < size && line[at] != ' ';)
			at++;
	return at;
}

static void add_line(struct buf *buf, const char *line, size_t size, size_t columns)
{
	size_t indent = strspn(line, " ") + CONTINUATION, from = indent, room = columns, at;

	while (size > room && (at = break_of(line, size, from, room)) < size) {
		buf_add(buf, line, at);
		buf_add_char(buf, '\n');
		for (size_t i = 0; i < indent; i++)
			buf_add_char(buf, ' ');
		line += at + 1;
		size -= at + 1;
		room = columns > indent + CONTINUATION ? columns - indent : columns;
		from = 0;
	}
	buf_add(buf, line, size);
}

static void add_broken(struct buf *buf, const char *text, size_t columns)
{
	while (*text != '\0') {
		size_t size = strcspn(text, "\n");

		add_line(buf, text, size, columns);
		text += size;
		if (*text == '\n') {
			buf_add_char(buf, '\n');
			text++;
		}
	}
}

void report_colour_add(struct buf *buf, const char *text, bool colours, size_t columns)
{
	AUTO(buf_done) struct buf broken = BUF_INIT(REPORT_BYTES_MAX);

	if (columns < SIZE_MAX) {
		add_broken(&broken, text, columns);
		text = broken.overflowed ? text : buf_string(&broken);
	}
	if (colours)
		add_coloured(buf, text);
	else
		buf_add_string(buf, text);
}
