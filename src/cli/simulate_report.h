/* The page of `simulate --report`: one HTML file with inline SVG, which loads nothing and has no
 * script. The charts are drawn here and not by a library: those that draw for a browser need a script
 * in the page, and the few shapes are a page of code. */
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

/* All variants have their result. `command`: the command line. */
void simulate_report_write(const struct simulate_plan *plan, const char *command,
			   const struct simulate_source *sources, size_t count, struct buf *buf);

#endif
