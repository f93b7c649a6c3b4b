/* The lists of tasks, actors, placement groups and jobs of a GCS for a recording, protobuf bytes to
 * struct ray_work: what each needs, and when it was ready, began and ended. Runtime environments,
 * names of functions and entrypoints are not kept. Pure; any thread. */
#ifndef FEATURE_RECORD_GCS_GCS_WORK_H
#define FEATURE_RECORD_GCS_GCS_WORK_H

#include <stddef.h>

#include "feature/record/core/ray_work.h"

/* Rows that are requested of each list. A GCS keeps 100,000 task events by
 * default (RAY_task_events_max_num_task_in_gcs). */
#define GCS_WORK_ROWS_MAX 30000
#define GCS_WORK_REPLY_MAX_BYTES ((size_t)48 << 20)
#define GCS_WORK_BUNDLES_MAX 10000 /* of one placement group; a larger one is missing */

extern const struct gcs_list_use gcs_work;

#endif
