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

/* Waiting times of what started. Each task, actor and placement group is one unit, which weighs as
 * much as the GPUs of all its bundles: p95 is the least time that units with 95 % of the GPUs did not
 * exceed, so a few large groups count beside many small tasks. Units without GPUs weigh nothing, but
 * if none has GPUs, each weighs one. max is of all units. */
struct simulate_waits {
	int64_t p50_ms, p95_ms, max_ms;
	int64_t item_p50_ms, item_p95_ms; /* each unit weighs one */
	double waited; /* GPU-hours for which work waited; without GPUs hours of units */
	int64_t started, unstarted; /* units */
	double unstarted_gpus;
};

struct simulate_job {
	const char *job; /* "": items without one */
	struct simulate_waits waits;
};

/* As struct sim_queue of the result. */
struct simulate_queue {
	size_t pool;
	const char *name;
	size_t clusters;
	double held, used, lost, idle_while_others_waited; /* GPU-hours */
	int64_t below_guarantee_ms;
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

/* Points over time of one group, with GPUs. */
struct simulate_series {
	const struct sim_point *points;
	size_t count;
};

/* Waiting times from the span before up to below_ms. */
enum { SIMULATE_SPANS = 7 };
struct simulate_span {
	const char *name;
	int64_t below_ms;
	double gpus; /* of the units */
	int64_t units;
};

struct simulate_row {
	double provisioned, used, idle, starting, terminating; /* GPU-hours */
	bool has_cost;
	double cost; /* of the groups that have a price, in the currency of the price table */
	/* Rows are weighed by their cost: no row has GPU-hours without a price. */
	bool by_cost;
	struct simulate_waits waits;
	uint64_t course; /* as of the result */
	int64_t finished, restarted, scale_ups, makespan_ms, end_ms, decisions;
	int64_t head_ms, suspensions, resizes;   /* as of the result */
	int64_t peak_gpus;                       /* 1/10000 */
	const struct sim_group *groups;          /* with their marks, without points */
	const struct simulate_group_cost *costs; /* of each group */
	size_t group_count;
	const struct sim_pool *pools; /* GPUPools */
	size_t pool_count;
	const struct simulate_queue *queues;
	size_t queue_count;
	const struct simulate_job *jobs; /* by name */
	size_t job_count;
	const struct simulate_never *never;
	size_t never_count;
	/* Of the page; set by simulate_row_keep. Of each group, count 0 for one without GPUs; NULL: not kept. */
	const struct simulate_series *series;
	struct simulate_span spans[SIMULATE_SPANS];
};

double simulate_gpu_hours(__int128 gpu_ms); /* of 1/10000 GPU times ms */

/* All in the arena; nothing points into the result but its items. */
void simulate_row_make(const struct sim_result *result, struct arena *arena,
		       struct simulate_row *ret_row);

/* Also keeps the result's points over time and its waiting times by span. */
void simulate_row_keep(const struct sim_result *result, struct arena *arena,
		       struct simulate_row *row);

/* Sets the markets and, with a price table in the input, the costs of the row, which was made in this
 * arena. */
void simulate_row_price(const struct sim_input *input, struct arena *arena,
			struct simulate_row *row);
/* Whether GPU-hours of this group are not in the cost. */
bool simulate_row_lacks_price(const struct simulate_row *row, size_t group);
/* The cost if rows are weighed by it, else GPU-hours: this much is weighed against the waiting. */
double simulate_row_spent(const struct simulate_row *row);

/* The two runs did the same at the same times, at the same cost. */
bool simulate_row_is_same(const struct simulate_row *a, const struct simulate_row *b);
/* The first row that is the same; `index` itself where no earlier one is. */
size_t simulate_row_first(const struct simulate_row *const *rows, size_t count, size_t index);
/* True when no other row has no more cost (or GPU-hours), no longer waiting (p95 and max) and no more
 * work that never ran, and less of one of them; and no earlier row is the same. */
bool simulate_row_is_starred(const struct simulate_row *const *rows, size_t count, size_t index);
/* Among the best rows in which the least work never ran: the row with the least sum of GPU-hours
 * that are provisioned and GPU-hours for which work waited. With costs an hour of waiting counts as
 * much as a provisioned GPU-hour costs on average. */
size_t simulate_row_trade(const struct simulate_row *const *rows, size_t count);
/* Among the same rows: the one with the lowest cost (or fewest GPU-hours), and the one with the least
 * sum of p95 and max. */
size_t simulate_row_thrifty(const struct simulate_row *const *rows, size_t count);
size_t simulate_row_fast(const struct simulate_row *const *rows, size_t count);

/* "25.4s", "3m05s", "2h10m" */
const char *simulate_time_text(struct arena *arena, int64_t ms);
/* A time of these; "" where nothing started. */
const char *simulate_wait_text(struct arena *arena, const struct simulate_waits *waits, int64_t ms);
const char *simulate_hours_text(struct arena *arena, double hours);

#endif
