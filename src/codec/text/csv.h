/* CSV (RFC 4180), row by row: cells that commas separate, quoted ones with "" for a quote, lines that
 * end with LF or CR LF. Knows nothing of headers. */
#ifndef CODEC_TEXT_CSV_H
#define CODEC_TEXT_CSV_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define CSV_CELLS_MAX 1000
#define CSV_ROW_BYTES_MAX (1 << 20)

struct csv_cell {
	const char *text; /* without its quotes; cut at a NUL character */
	size_t offset;    /* of its first byte in the text */
};

struct csv_rows {
	const char *text; /* borrowed */
	size_t size;
	size_t start, offset; /* of the row, and of the next one */
	VEC(struct csv_cell) cells;
	struct arena arena; /* of the cells; for the caller as well: valid until the next row */
	struct buf quoted;
};

void csv_rows_init(struct csv_rows *rows, const char *text, size_t size);
void csv_rows_done(struct csv_rows *rows);
/* Reads a row into `cells`. 1, 0 at the end of the text, or -1 with line and column in the error. An
 * empty line is a row with one empty cell. */
int csv_rows_next(struct csv_rows *rows, struct err *err);

#endif
