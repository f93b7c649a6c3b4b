/* Workloads from files: YAML (apiVersion rayscaler.dev/v1alpha1, kind Workload, items), JSON lines
 * (one item a line), and CSV with a description of its columns. docs/SIMULATE.md describes them.
 * Strict: an unknown member is an error. Of a recording (feature/record/objects/recording) the Workload. */
#ifndef CODEC_OBJECTS_WORKLOAD_FILE_H
#define CODEC_OBJECTS_WORKLOAD_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/workload.h"

/* A tree of YAML takes about ten times the bytes of its text. */
#define WORKLOAD_YAML_BYTES_MAX ((size_t)64 << 20)
/* JSON lines and CSV. A file with WORKLOAD_ITEMS_MAX lines is smaller. */
#define WORKLOAD_BYTES_MAX ((size_t)512 << 20)

/* `columns`: NULL for YAML and JSON lines, which the text tells apart; for CSV as --columns, such as
 * "submit=creation_time,duration=minutes:min,gpus=num_gpu". ERR_INPUT and ERR_LIMIT with line and
 * column. */
int workload_read(const char *text, size_t size, const char *columns, struct arena *arena,
		  struct workload *ret_workload, struct err *err);

#endif
