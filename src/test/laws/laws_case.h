/* One snapshot under all laws: decides it, decides the snapshots that follow from it, and names the
 * law that broke. The decision runs as in `rayscaler plan`: from the JSON of a snapshot to the JSON
 * of a plan. */
#ifndef TEST_LAWS_CASE_H
#define TEST_LAWS_CASE_H

#include <stdint.h>

#include "laws_check.h"
#include "test/support/plan_stays.h"

/* Results of second decisions, over all cases. */
struct laws_counts {
	int64_t cases, decisions;
	int64_t second;      /* second decisions that were compared */
	int64_t freed;       /* launched again: a place below a maximum was freed, more is served */
	int64_t repaired;    /* only hosts that a replica lost are recreated */
	int64_t greedy;      /* launched again with packing ray: Ray's own order does the same */
	int64_t unexplained; /* with packing ray, and Ray's own order does not */
	int64_t ties;        /* a launch that Ray's order needs only with some orders of its ties */
	int64_t fewest;      /* launched again with fewest-gpus */
	int64_t terminations; /* plans that terminate workers */
	int64_t launches;     /* plans that launch */
	int64_t placements;
	int64_t cut; /* packings that were cut: the law "cut" */
	struct plan_stays stays;
	int64_t asked;   /* something is asked of pools: the law "pools" */
	int64_t emptied; /* a Node is emptied: the law "repair" */
	int64_t unused;  /* a worker ends that only requests kept: the law "unused" */
	int64_t queued, halves, ending, drains; /* the laws of these names act */
	int64_t waiting; /* a placement group waits beside idle workers: the law "keeps" */
};

/* A snapshot of a seed, with a memory that an earlier decision may have left. NULL when it cannot
 * be read, which is an error of the generator. */
struct cJSON *laws_case_make(uint64_t seed);

/* The first law that breaks, or verdict->law NULL. `counts` may be NULL. The seed shuffles. */
void laws_case_check(const struct cJSON *snapshot, uint64_t seed, struct laws_counts *counts,
		     struct laws_verdict *verdict);

/* The plan of a snapshot as text with its placements, NULL when it cannot be read (then the verdict
 * is set); memory_free. */
char *laws_case_plan(const struct cJSON *snapshot, bool debug, struct laws_verdict *verdict);

/* A fault that the checker is to find, for the test of the checker itself: changes the plan after it was
 * made. NULL: none. */
extern void (*laws_case_fault)(struct cJSON *plan);

#endif
