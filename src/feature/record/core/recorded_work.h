/* The work of a RayCluster over time, from what its GCS lists once or again and again: a GCS forgets
 * work that has ended, this keeps it. Gives the items of a workload. Owned by its creator. */
#ifndef FEATURE_RECORD_CORE_RECORDED_WORK_H
#define FEATURE_RECORD_CORE_RECORDED_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "feature/record/core/ray_work.h"

#define RECORDED_WORK_ROWS_MAX 500000
/* Never reached: a GCS and the decoder of its answers bound the bundles. */
#define RECORDED_KEY_BYTES_MAX ((size_t)1 << 30)

struct recorded_work;

struct recorded_work *recorded_work_new(void);
void recorded_work_free(struct recorded_work *work); /* NULL is fine */

/* Adds an answer of the GCS: rows with a known id get its later times. Everything is copied. */
void recorded_work_add(struct recorded_work *work, const struct ray_work_page *page);

/* A worker: the id of its node in Ray, and when Ray was ready in it. */
void recorded_work_node(struct recorded_work *work, const char *node, time_ms ready);

/* The median time that a Python process took to start: from the submission of a task or an actor, or
 * from the readiness of its worker if that was later, to its begin. Counts the work that began on a known
 * worker before any other had ended there, so that no process was left for it, and that is in no
 * placement group. -1: there is none. *ret_count: how many. */
int64_t recorded_work_process_ms(const struct recorded_work *work, size_t *ret_count);

/* `count` equal pieces of work. */
struct recorded_item {
	enum work_kind kind;
	enum placement_strategy strategy;
	const char *job; /* the id of a submitted Ray job, else of the job; "" unknown */
	time_ms submitted;
	int64_t duration_ms; /* above 0 */
	int64_t count;
	const struct work_bundle *bundles; /* at least one, each with resources */
	size_t bundle_count;
	const char *key; /* equal for work that is equal but for its submission; NULL of a request */
};

struct recorded_items {
	const struct recorded_item *at; /* by `submitted` */
	size_t count;
	int64_t by_kind[WORK_KINDS]; /* sums of counts */
	int64_t open;                /* of them: they have not ended, and get the time until now */
	int64_t endless;             /* left out: they have ended, at an unknown time */
	int64_t full;                /* left out: above RECORDED_WORK_ROWS_MAX */
	int64_t unusable;            /* left out: requests that no workload can have */
	int64_t early;               /* of them: requests that were there before the first answer */
};

/* The items that were there between `since` and `until`; `until`: of the last answer. Submissions
 * are rounded to 0.1 s, and durations to three digits, so that equal work becomes one item. Work in a
 * placement group gives no item of its own: the group has its resources until the last of it ends. Points
 * into `work`; takes O(n log n). */
void recorded_work_items(const struct recorded_work *work, time_ms since, time_ms until,
			 struct arena *arena, struct recorded_items *ret);

#endif
