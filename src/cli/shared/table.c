#include "cli/shared/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/check.h"
#include "codec/text/text.h"

#define GAP 2
#define WIDTH_MIN 40
#define LAST_MIN 20 /* columns of the last cell; a narrower one is not broken */
#define WIDTH_DEFAULT 100

static const char *const colour_codes[] = {
	[TABLE_PLAIN] = "",       [TABLE_GOOD] = "\033[32m", [TABLE_BUSY] = "\033[33m",
	[TABLE_BAD] = "\033[31m", [TABLE_FAINT] = "\033[2m", [TABLE_TITLE] = "\033[1m",
};
static const char plain_code[] = "\033[0m";
const char *const table_colour_words[] = { "auto", "always", "never", NULL };

void table_add(struct table *table, enum table_colour colour, const char *text)
{
	VEC_PUSH(table->arena, &table->cells,
		 ((struct table_cell){ *text != '\0' ? text : "-", colour }));
}

void table_add_texts(struct table *table, const char *const *texts)
{
	for (; *texts; texts++)
		table_add(table, TABLE_PLAIN, *texts);
}

static size_t *widths(const struct table *table)
{
	size_t *found = arena_array(table->arena, table->column_count, sizeof(*found));

	for (size_t c = 0; c < table->column_count; c++)
		found[c] = strlen(table->columns[c].title);
	for (size_t i = 0, c = 0; i < table->cells.count; i++) {
		size_t width = text_columns(table->cells.at[i].text);

		if (width > found[c])
			found[c] = width;
		c = c + 1 < table->column_count ? c + 1 : 0;
	}
	return found;
}

static void add_spaces(struct buf *buf, size_t count)
{
	while (count-- > 0)
		buf_add_char(buf, ' ');
}

void table_add_text(struct buf *buf, enum table_colour colour, const char *text, bool colours)
{
	const char *code = colours ? colour_codes[colour] : "";

	buf_add_string(buf, code);
	text_add_clean(buf, text);
	if (*code != '\0')
		buf_add_string(buf, plain_code);
}

size_t table_terminal_width(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col >= WIDTH_MIN)
		return size.ws_col;
	return SIZE_MAX;
}

/* The bytes of the first line of a text that has `width` columns: up to a blank, or its first word. */
static size_t line_bytes(const char *text, size_t width, struct arena *arena)
{
	size_t end = strcspn(text, " ");

	while (text[end] != '\0') {
		size_t next = end + 1 + strcspn(text + end + 1, " ");

		if (text_columns(arena_strndup(arena, text, next)) > width)
			break;
		end = next;
	}
	return end;
}

/* The last cell of a row, which begins at column `indent`: below each other where the terminal is narrower. */
static void write_last(const struct table *table, const struct table_cell *cell, size_t indent,
		       bool colours, struct buf *buf)
{
	size_t columns = table_terminal_width(), size;
	const char *text = cell->text;

	if (columns < SIZE_MAX && columns > indent + LAST_MIN)
		for (; text_columns(text) > columns - indent; text += size + 1) {
			size = line_bytes(text, columns - indent, table->arena);
			if (text[size] == '\0')
				break;
			table_add_text(buf, cell->colour, arena_strndup(table->arena, text, size),
				       colours);
			buf_add_char(buf, '\n');
			add_spaces(buf, indent);
		}
	table_add_text(buf, cell->colour, text, colours);
}

/* The columns of a table that are beside each other: the first one of all, and those from `from` to before `end`. */
struct part {
	size_t from, end;
};

/* One row of cells; the last column of the part is not padded. */
static void write_row(const struct table *table, struct part part, const struct table_cell *cells,
		      const size_t *width, bool colours, struct buf *buf)
{
	size_t indent = 0;

	for (size_t c = 0; c < part.end; c = c == 0 ? part.from : c + 1) {
		size_t have = text_columns(cells[c].text), pad = width[c] - have;
		bool last = c + 1 == part.end || part.end == 1;

		if (table->columns[c].right)
			add_spaces(buf, pad);
		if (last && c + 1 == table->column_count)
			write_last(table, &cells[c], indent, colours, buf);
		else
			table_add_text(buf, cells[c].colour, cells[c].text, colours);
		indent += width[c] + GAP;
		if (!last)
			add_spaces(buf, (table->columns[c].right ? 0 : pad) + GAP);
	}
	buf_add_char(buf, '\n');
}

/* As many columns as the terminal has room for, and at least one beside the first. The last one of the table can be
 * broken, if it is text. */
static struct part part_from(const struct table *table, const size_t *width, size_t from)
{
	struct part part = { from, from };
	size_t used = width[0], room = table_terminal_width();

	for (; part.end < table->column_count; part.end++) {
		bool is_text = part.end + 1 == table->column_count &&
			       !table->columns[part.end].right && width[part.end] > LAST_MIN;
		size_t need = GAP + (is_text ? LAST_MIN + 1 : width[part.end]);

		if (part.end > from && used + need > room)
			break;
		used += GAP + width[part.end];
	}
	return part;
}

void table_write(const struct table *table, bool colours, struct buf *buf)
{
	struct part part = { 0, 0 };
	const size_t *width = widths(table);
	struct table_cell *titles = arena_array(table->arena, table->column_count, sizeof(*titles));

	CHECK(table->column_count > 0 && table->cells.count % table->column_count == 0);
	for (size_t c = 0; c < table->column_count; c++)
		titles[c] = (struct table_cell){ table->columns[c].title, TABLE_TITLE };
	do {
		part = part_from(table, width, part.end == 0 ? 1 : part.end);
		if (part.from > 1)
			buf_add_char(buf, '\n');
		write_row(table, part, titles, width, colours, buf);
		for (size_t i = 0; i < table->cells.count; i += table->column_count)
			write_row(table, part, &table->cells.at[i], width, colours, buf);
	} while (part.end < table->column_count);
}

const char *table_age(struct arena *arena, int64_t seconds)
{
	long long s = seconds > 0 ? seconds : 0;

	if (s < 120)
		return arena_printf(arena, "%llds", s);
	if (s < 3600)
		return arena_printf(arena, "%lldm%llds", s / 60, s % 60);
	if (s < 86400)
		return arena_printf(arena, "%lldh%lldm", s / 3600, s % 3600 / 60);
	return arena_printf(arena, "%lldd%lldh", s / 86400, s % 86400 / 3600);
}

bool table_colours(int choice)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (choice != 0)
		return choice == 1;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color != '\0') &&
	       !(term && strcmp(term, "dumb") == 0);
}

size_t table_width(void)
{
	size_t columns = table_terminal_width();

	return columns < SIZE_MAX ? columns : WIDTH_DEFAULT;
}
