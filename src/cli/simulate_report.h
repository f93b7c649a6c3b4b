/* The page of `simulate --report`: one HTML file that loads nothing. A script of its own (simulate_page.html) draws the
 * JSON of `simulate -o json`, with points over time, and the cells of the text table. */
#ifndef CLI_SIMULATE_REPORT_H
#define CLI_SIMULATE_REPORT_H

#include "base/buf.h"
#include "cli/simulate_variant.h"

/* Each row has charts. */
#define SIMULATE_REPORT_ROWS_MAX 50

/* A file that the simulation read, for the reader of the page. */
struct simulate_source {
	const char *name, *text; /* text: or a sentence on why it is not shown */
};

/* All rows have their series. `command`: the command line. */
void simulate_report_write(const struct simulate_plan *plan, const char *command,
			   const struct simulate_source *sources, size_t count, struct buf *buf);

#endif
