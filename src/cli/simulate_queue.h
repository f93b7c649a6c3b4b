/* The figures of the queues of GPUPools in a simulation, as rows of a table for text and page. */
#ifndef CLI_SIMULATE_QUEUE_H
#define CLI_SIMULATE_QUEUE_H

#include "base/buf.h"
#include "cli/simulate_variant.h"

#define SIMULATE_QUEUE_COLUMNS 10

struct simulate_queue_cells {
	const char *texts[SIMULATE_QUEUE_COLUMNS];
	bool never; /* some of its work never ran */
};

struct simulate_queue_rows {
	VEC(struct simulate_queue_cells) at;
};

extern const char *const simulate_queue_names[SIMULATE_QUEUE_COLUMNS];
/* For each variant its pools, each followed by its queues; none without GPUPools. */
struct simulate_queue_rows simulate_queue_rows_make(const struct simulate_plan *plan);
/* How to read them. */
extern const char simulate_queue_legend[];
void simulate_queue_text_write(const struct simulate_plan *plan, bool colours, struct buf *buf);

#endif
