/* A table for people: aligned columns with two spaces between them, the last one unpadded and, on a terminal,
 * broken between words at its width, and colours where the caller says that the output is a terminal. On a terminal
 * that is too narrow for all columns the others follow in a second table, which begins with the first column again. The caller owns struct table; cells
 * live in its arena. Cells are made safe (codec/text/text.h). Nothing is ever cut: a name that cannot be
 * copied is of no use. */
#ifndef CLI_SHARED_TABLE_H
#define CLI_SHARED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum table_colour {
	TABLE_PLAIN = 0,
	TABLE_GOOD,  /* green */
	TABLE_BUSY,  /* yellow: in progress */
	TABLE_BAD,   /* red */
	TABLE_FAINT, /* of no interest */
	TABLE_TITLE, /* bold */
};

/* The flag --color of every command with a text for people. */
extern const char *const table_colour_words[];
#define COLOUR_FLAG(choice)                                                                        \
	{                                                                                          \
		NULL, "--color", .words = table_colour_words, .word = &(choice)                    \
	}
#define COLOUR_HELP                                                                                \
	"  --color WHEN                  auto (default: on a terminal, unless NO_COLOR is\n"       \
	"                                set), always or never\n"

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

#define TABLE_INIT(arena_, titles, number)                                                         \
	((struct table){ .arena = (arena_), .columns = (titles), .column_count = (number) })
/* The next cell, row by row; `text` must live as long as the table. "" shows as "-". */
void table_add(struct table *table, enum table_colour colour, const char *text);
/* Plain cells: TABLE_ADD_TEXTS(&table, name, group). */
#define TABLE_ADD_TEXTS(table, ...)                                                                \
	table_add_texts((table), (const char *const[]){ __VA_ARGS__, NULL })
void table_add_texts(struct table *table, const char *const *texts);
/* The title line and the rows; the last row must be whole. */
void table_write(const struct table *table, bool colours, struct buf *buf);

/* Appends the cleaned text, in its colour if `colours`. */
void table_add_text(struct buf *buf, enum table_colour colour, const char *text, bool colours);

/* A span of time: "41s", "3m10s", "2h5m", "4d3h"; whole seconds, negative ones count as 0. */
const char *table_age(struct arena *arena, int64_t seconds);

/* Should colours be used? `choice`: the value of COLOUR_FLAG; 0, auto: on a terminal that can, unless
 * NO_COLOR is set (https://no-color.org) or TERM is "dumb". */
bool table_colours(int choice);

/* The columns of the terminal; SIZE_MAX of another output, whose lines are not broken. */
size_t table_terminal_width(void);

/* The columns of the terminal; of another output 100. */
size_t table_width(void);

#endif
