#include "codec/text/csv.h"

#include <stdbool.h>
#include <string.h>

#include "codec/text/position.h"

static int fail(const struct csv_rows *rows, struct err *err, size_t offset, const char *what)
{
	struct position at = position_of_byte(rows->text, offset);

	return err_set(err, ERR_INPUT, "line %u, column %u: %s", at.line, at.column, what);
}

/* The line ends before this byte, with LF or CR LF, or the text does. */
static bool at_end(const char *text, size_t left)
{
	return left == 0 || *text == '\n' || (*text == '\r' && (left == 1 || text[1] == '\n'));
}

/* The bytes up to the next comma or the end of the line. */
static size_t read_plain(const char *text, size_t left)
{
	size_t used = 0;

	while (!at_end(text + used, left - used) && text[used] != ',')
		used++;
	return used;
}

/* The bytes with both quotes, 0 if there is no second one. The text without them is added to `cell`,
 * with one quote for each two. */
static size_t read_quoted(const char *text, size_t left, struct buf *cell)
{
	buf_clear(cell);
	for (size_t used = 1; used < left; used++) {
		bool quote = text[used] == '"';

		if (quote && (used + 1 == left || text[used + 1] != '"'))
			return used + 1;
		used += quote;
		buf_add_char(cell, text[used]);
	}
	return 0;
}

/* The cell at the offset, which moves behind it. */
static int read_cell(struct csv_rows *rows, struct err *err)
{
	struct csv_cell *cell = VEC_ADD(&rows->arena, &rows->cells);
	const char *text = rows->text + rows->offset;
	size_t left = rows->size - rows->offset, used;

	cell->offset = rows->offset;
	if (left == 0 || *text != '"') {
		used = read_plain(text, left);
		cell->text = arena_strndup(&rows->arena, text, used);
		rows->offset += used;
		return 0;
	}
	if (left > CSV_ROW_BYTES_MAX)
		left = CSV_ROW_BYTES_MAX;
	used = read_quoted(text, left, &rows->quoted);
	if (used == 0)
		return fail(rows, err, cell->offset,
			    "the quote that begins here has no end; add it");
	cell->text = arena_strdup(&rows->arena, buf_string(&rows->quoted));
	rows->offset += used;
	if (rows->offset < rows->size && rows->text[rows->offset] != ',' &&
	    !at_end(rows->text + rows->offset, rows->size - rows->offset))
		return fail(rows, err, rows->offset, "a comma must follow the quoted cell");
	return 0;
}

int csv_rows_next(struct csv_rows *rows, struct err *err)
{
	bool more = true;

	rows->start = rows->offset;
	rows->cells.at = NULL;
	rows->cells.count = rows->cells.capacity = 0;
	arena_reset(&rows->arena);
	if (rows->offset >= rows->size)
		return 0;
	while (more) {
		if (read_cell(rows, err))
			return -1;
		more = rows->offset < rows->size && rows->text[rows->offset] == ',';
		rows->offset += more;
		if (rows->cells.count > CSV_CELLS_MAX ||
		    rows->offset - rows->start > CSV_ROW_BYTES_MAX)
			return fail(rows, err, rows->start,
				    "the row has more than 1,000 cells or 1 MiB");
	}
	if (rows->offset < rows->size && rows->text[rows->offset] == '\r')
		rows->offset++;
	if (rows->offset < rows->size && rows->text[rows->offset] == '\n')
		rows->offset++;
	return 1;
}

void csv_rows_init(struct csv_rows *rows, const char *text, size_t size)
{
	*rows = (struct csv_rows){ .text = text,
				   .size = size,
				   .quoted = BUF_INIT(CSV_ROW_BYTES_MAX) };
	if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		rows->offset = 3;
}

void csv_rows_done(struct csv_rows *rows)
{
	arena_done(&rows->arena);
	buf_done(&rows->quoted);
}
