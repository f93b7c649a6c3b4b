/* The text exposition format of Prometheus (0.0.4) for the families of ctl/report/metrics_table.h
 * and of features. Writes into the caller's buffer; the caller checks its limit. No state. */
#ifndef CTL_REPORT_METRICS_TEXT_H
#define CTL_REPORT_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "ctl/report/metrics_table.h"

#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_BUCKETS_MAX 14

struct metrics_histogram {
	uint64_t buckets[METRICS_BUCKETS_MAX]; /* not cumulative */
	uint64_t count;
	double sum;
};

/* A family in progress: its header is written before its first sample, and left out without
 * samples. */
struct metrics_family {
	struct buf *buf;
	const struct metrics_row *row;
	bool begun;
};

#define METRICS_FAMILY(buffer, family_id)                                                          \
	((struct metrics_family){ .buf = (buffer), .row = &metrics_rows[family_id] })

/* `values` are those of the table's labels, in its order. */
void metrics_text_integer(struct metrics_family *family, const char *const *values, int64_t value);
void metrics_text_amount(struct metrics_family *family, const char *const *values,
			 int64_t amount); /* 1/10000 units */
void metrics_text_double(struct metrics_family *family, const char *const *values, double value);
/* Only of the table. */
void metrics_text_histogram(struct metrics_family *family, const char *const *values,
			    const struct metrics_histogram *histogram);

/* Counts a duration into the buckets of this family, which must be a histogram. */
void metrics_histogram_add(enum metrics_id id, struct metrics_histogram *histogram, double seconds);

#endif
