/* The resources that request_resources and its annotation have requested over time, from answers that
 * each say which ones hold now. Ray keeps one request, and does not say since when: a bundle counts
 * from the first answer that has it, to the first one that has not. Owned by its creator. */
#ifndef FEATURE_RECORD_CORE_RECORDED_REQUESTS_H
#define FEATURE_RECORD_CORE_RECORDED_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/model/ray_state.h"
#include "feature/record/core/recorded_work.h"

#define RECORDED_REQUESTS_MAX 10000 /* bundles over time */

struct recorded_requests;

struct recorded_requests *recorded_requests_new(void);
void recorded_requests_free(struct recorded_requests *requests); /* NULL is fine */

/* Adds the requests at a time; the times of calls do not decrease. Several constraints are
 * served by the same workers: of a bundle in two of them the larger count holds. Everything is
 * copied. */
void recorded_requests_add(struct recorded_requests *requests, time_ms at,
			   const struct ray_constraint *const *constraints, size_t count);

/* Appends items of kind WORK_REQUEST_RESOURCES, each of one bundle, and adds to `by_kind`, `open`,
 * `full`, `unusable` and `early`. Those of the first answer count from `since`. Points into
 * `requests`. */
void recorded_requests_items(const struct recorded_requests *requests, time_ms since, time_ms until,
			     struct arena *arena, struct recorded_items *items);

#endif
