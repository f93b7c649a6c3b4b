/* The work of a RayCluster as JSON: the answer of /work/NAMESPACE/NAME, written and read by one
 * table. */
#ifndef FEATURE_RECORD_OBJECTS_RAY_WORK_JSON_H
#define FEATURE_RECORD_OBJECTS_RAY_WORK_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "feature/record/core/ray_work.h"

#define RAY_WORK_BYTES_MAX ((size_t)64 << 20)

extern const struct field ray_work_fields[]; /* of struct ray_work_page */

/* Rows that no workload can have, such as one with an invalid label selector, are counted and left
 * out. ERR_INPUT, ERR_LIMIT. */
int ray_work_read(const char *text, size_t size, struct arena *arena, struct ray_work_page *ret,
		  struct err *err);

#endif
