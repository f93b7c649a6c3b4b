/* --columns: which column of a CSV file has which value of an item, and its unit. For
 * codec/objects/workload_csv only. */
#ifndef CODEC_OBJECTS_WORKLOAD_COLUMN_H
#define CODEC_OBJECTS_WORKLOAD_COLUMN_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/csv.h"

enum target_kind {
	TARGET_TIME, /* of a struct row */
	TARGET_COUNT,
	TARGET_TEXT,
	TARGET_AMOUNT, /* given twice: the product */
	TARGET_LABEL,
};

enum row_time { ROW_SUBMIT, ROW_BEGIN, ROW_END, ROW_DURATION, ROW_TIMES };

struct workload_target {
	const char *name;   /* in --columns; with a dot at its end a prefix */
	const char *member; /* of the item, for the position of errors */
	enum target_kind kind;
	unsigned time;        /* of a TIME */
	const char *resource; /* of an AMOUNT; NULL: the rest of the name */
};

struct workload_column {
	const struct workload_target *target;
	const char *resource; /* of an AMOUNT and a LABEL */
	const char *header;   /* the name in the first line */
	size_t index;         /* of the cell */
	/* A value times factor by divisor is in seconds, or in units of the resource. Division keeps
	 * 460 milli the double that 0.46 is. */
	double factor, divisor;
};

struct workload_columns {
	const struct workload_column *at;
	size_t count;
};

/* `header`: the cells of the first line. The result lives in the arena. ERR_INPUT names the part of
 * `text` that is wrong. */
int workload_columns_parse(const char *text, const struct csv_rows *header, struct arena *arena,
			   struct workload_columns *ret_columns, struct err *err);

#endif
