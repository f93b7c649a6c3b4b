/* CSV of traces (RFC 4180, the first line names the columns) as items of a workload: each row
 * becomes the JSON of an item, so that all checks are those of codec/objects/workload_item. */
#ifndef CODEC_OBJECTS_WORKLOAD_CSV_H
#define CODEC_OBJECTS_WORKLOAD_CSV_H

#include <stddef.h>

#include "base/err.h"

struct workload_builder;

/* `columns` as workload_read; 0, or -1 with line and column in the error. */
int workload_csv_add(struct workload_builder *builder, const char *text, size_t size,
		     const char *columns, struct err *err);

#endif
