/* The result of one simulation as one row of the table of `simulate`. */
#ifndef CLI_SIMULATE_ROW_H
#define CLI_SIMULATE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/price.h"
#include "sim/result.h"
#include "sim/simulate.h"

struct simulate_waits {
	int64_t p50_ms, p95_ms, max_ms; /* of what started */
	int64_t started, unstarted;
};

struct simulate_job {
	const char *job; /* "": items without one */
	struct simulate_waits waits;
};

/* Equal reasons of one job as one. */
struct simulate_never {
	const char *job, *reason, *message;
	int64_t count;
};

/* Of one group. */
struct simulate_group_cost {
	enum price_market market;
	bool has_price;
	double cost; /* of its provisioned GPU-hours; 0 without a price */
};

struct simulate_row {
	double provisioned, used, idle, starting, terminating; /* GPU-hours */
	bool has_cost;
	double cost; /* of the groups that have a price, in the currency of the price table */
	/* Rows are weighed by their cost: no row has GPU-hours without a price. */
	bool by_cost;
	struct simulate_waits waits;
	int64_t finished, restarted, scale_ups, makespan_ms, end_ms, decisions;
	int64_t head_ms, suspensions;            /* as of the result */
	int64_t peak_gpus;                       /* 1/10000 */
	const struct sim_group *groups;          /* with their marks, without points */
	const struct simulate_group_cost *costs; /* of each group */
	size_t group_count;
	const struct simulate_job *jobs; /* by name */
	size_t job_count;
	const struct simulate_never *never;
	size_t never_count;
};

double simulate_gpu_hours(__int128 gpu_ms); /* of 1/10000 GPU times ms */

/* All in the arena; nothing points into the result but its items. */
void simulate_row_make(const struct sim_result *result, struct arena *arena,
		       struct simulate_row *ret_row);

/* Sets the markets and, with a price table in the input, the costs of the row, which was made in this
 * arena. */
void simulate_row_price(const struct sim_input *input, struct arena *arena,
			struct simulate_row *row);
/* Whether GPU-hours of this group are not in the cost. */
bool simulate_row_lacks_price(const struct simulate_row *row, size_t group);
/* The cost if rows are weighed by it, else GPU-hours: this much is weighed against the waiting. */
double simulate_row_spent(const struct simulate_row *row);

/* True when no other row has no more cost (or GPU-hours), waiting (p95) and work that never ran, and less of
 * one of them. */
bool simulate_row_is_best(const struct simulate_row *const *rows, size_t count, size_t index);
/* The row among these best ones with the least sum of cost and waiting, each from 0 to 1
 * between the least and the most of the best rows. */
size_t simulate_row_trade(const struct simulate_row *const *rows, size_t count);

#endif
