/* Text of an HTML page: escapes, and charts as inline SVG. Values on hover are <title> elements, so
 * that a page needs no script. The colours are CSS classes of the page. */
#ifndef CLI_SHARED_HTML_H
#define CLI_SHARED_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/* "0.25", "8.5", "24,500", "8 M", "12,000 M": without an exponent, of at least 0. */
const char *html_number(struct arena *arena, double value);

/* Appends the cleaned text with &, <, >, and quotes as entities. */
void html_add(struct buf *buf, const char *text);
/* The same between two tags, which are HTML already. */
void html_add_between(struct buf *buf, const char *start, const char *text, const char *end);
/* The same line by line: line ends stay. */
void html_add_lines(struct buf *buf, const char *text);

/* A value from at until the next point. */
struct html_point {
	double at;
	double values[3];
};

struct html_mark {
	double at;
	bool up;
	const char *title;
};

/* Steps over time in ms, 0 to `end`: values[0] as a line over the areas of values[1] and, darker, values[2]. */
struct html_steps {
	double most; /* the end of the axis, above 0: charts that are compared have the same */
	const char *names[3];
	const struct html_point *points; /* by time */
	size_t point_count;
	const struct html_mark *marks;
	size_t mark_count;
	double end;
	const char *(*time_text)(struct arena *arena, double at);
};

void html_steps_write(const struct html_steps *chart, struct arena *arena, struct buf *buf);

struct html_bar {
	const char *name, *text; /* left of it, and behind it */
	double value;
};

/* Horizontal bars; `most` fills the width: charts that are compared have the same. */
void html_bars_write(const struct html_bar *bars, size_t count, double most, struct buf *buf);

struct html_dot {
	double x, y;
	const char *title;
	bool best;
};

/* Each dot has its number, from 1. */
void html_dots_write(const struct html_dot *dots, size_t count, const char *x_name,
		     const char *y_name, struct buf *buf);

#endif
