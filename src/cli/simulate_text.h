/* The rows of `simulate` as a table for people, JSON and CSV. */
#ifndef CLI_SIMULATE_TEXT_H
#define CLI_SIMULATE_TEXT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/simulate_variant.h"

/* The last one, COST, is shown only with prices. */
#define SIMULATE_COLUMNS 13
size_t simulate_column_count(const struct simulate_plan *plan);

/* One row of the table as text. */
struct simulate_cells {
	const char *texts[SIMULATE_COLUMNS];
	bool best; /* none is better, and no earlier one is the same; there are several */
	bool same; /* an earlier one is the same */
};

extern const char *const simulate_column_names[SIMULATE_COLUMNS];
/* For each variant, in the arena of the plan. */
const struct simulate_cells *simulate_cells_make(const struct simulate_plan *plan);
/* The meaning of the marks, if there are several rows, and of the waiting times. */
const char *simulate_legend_text(const struct simulate_plan *plan);
/* Variants that are not baselines: these come behind all others, and none is a trade. */
size_t simulate_choice_count(const struct simulate_plan *plan);
/* Up to four lines: the best trade, and what it gives up: the best rows with the fewest GPU-hours and
 * with the shortest waiting where they differ from it. Nothing where there is no choice. */
void simulate_trade_write(const struct simulate_plan *plan, struct buf *buf);
/* The rows of all variants, in the arena of the plan. */
const struct simulate_row *const *simulate_rows(const struct simulate_plan *plan);
/* A sentence with the groups of which GPU-hours are not in the cost; NULL: there are none. */
const char *simulate_unpriced_text(const struct simulate_plan *plan);

/* `by_job`: a second table with the waiting times of each job. */
void simulate_text_write(const struct simulate_plan *plan, bool by_job, bool colours,
			 struct buf *buf);
/* With all figures; with series if the rows have them. */
void simulate_json_write(const struct simulate_plan *plan, struct buf *buf);
/* `by_job`: a row for each variant and job instead of each variant. */
void simulate_csv_write(const struct simulate_plan *plan, bool by_job, struct buf *buf);

#endif
