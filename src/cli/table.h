/* A table for people: aligned columns with two spaces between them, the last one unpadded, and
 * colours where the caller says that the output is a terminal. The caller owns struct table; cells
 * live in its arena. Cells are made safe (cli/text). Nothing is ever cut: a name that cannot be
 * copied is of no use. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

enum table_colour {
	TABLE_PLAIN = 0,
	TABLE_GOOD,  /* green */
	TABLE_BUSY,  /* yellow: in progress */
	TABLE_BAD,   /* red */
	TABLE_FAINT, /* of no interest */
};

struct table_column {
	const char *title;
	bool right; /* numbers */
};

struct table_cell {
	const char *text;
	enum table_colour colour;
};

struct table {
	struct arena *arena;
	const struct table_column *columns;
	size_t column_count;
	VEC(struct table_cell) cells; /* row by row */
};

void table_init(struct table *table, struct arena *arena, const struct table_column *columns,
		size_t column_count);
/* The next cell, row by row; `text` must live as long as the table. "" shows as "-". */
void table_add(struct table *table, enum table_colour colour, const char *text);
/* The title line and the rows; the last row must be whole. */
void table_write(const struct table *table, bool colours, struct buf *buf);

/* Should colours be used? `choice` NULL or "auto": on a terminal that can, unless NO_COLOR is set
 * (https://no-color.org) or TERM is "dumb"; "always", "never". -1 for another word. */
int table_colours(const char *choice, bool *ret_colours);

#endif
