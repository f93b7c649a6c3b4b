/* The candidates of one try: classes of nodes, and types that may be launched. Ray fills every node
 * as far as possible, scores the outcomes, keeps the best, and repeats with the rest. The outcome
 * is the same when a fill is reused until fewer units are left than it contains. A candidate
 * without a valid fill is in its heap with a bound that no fill exceeds; only a candidate whose
 * bound is the highest key is filled.
 *
 * Lives in the attempt arena of the run; must not outlive the try. */
#ifndef CORE_SCHEDULE_CANDIDATE_H
#define CORE_SCHEDULE_CANDIDATE_H

#include "core/schedule/schedule_requests.h"
#include "core/schedule/schedule_run.h"

/* Existing nodes (and new ones of the same launch) precede those that would be launched. */
enum schedule_heap_name { SCHEDULE_HEAP_NODES = 0, SCHEDULE_HEAP_TYPES };

struct schedule_candidate {
	uint32_t state;
	size_t type;                 /* SCHEDULE_NO_INDEX: existing nodes */
	bool touched, fresh, listed; /* listed: in its heap */
	/* Of equal keys the earlier is chosen: of classes by the first member, of types by rank. */
	uint32_t node;
	uint64_t rank;
	uint32_t rest, placed; /* of its first member */
	uint64_t *may;         /* bits of shapes that may fit into its state */
	VEC(struct schedule_fill) fill;
	double *terms;
	struct schedule_key key; /* while not fresh: the bound */
	struct schedule_key bound;
	int64_t bound_at; /* active_count when the bound was made; -1: none */
	int labels_max;
	size_t heap_at;
	uint32_t stamp;
};

/* The candidates that depend on a shape's remaining units. */
struct schedule_use {
	VEC(struct schedule_candidate *) users; /* whose fill contains it, with repetition */
	int64_t most;                           /* largest number of units of it in a fresh fill */
};

struct schedule_try {
	struct schedule_run *run;
	const struct schedule_requests *requests;
	const struct schedule_list *list;
	int64_t *left;                             /* by shape: units to place */
	uint64_t *active;                          /* bitmap of shapes with units left */
	int64_t active_count;                      /* shapes with units left */
	struct schedule_use *uses;                 /* by shape */
	VEC(struct schedule_candidate *) heaps[2]; /* the best first */
	size_t next;        /* position in the ranking: the classes before it are candidates */
	uint64_t next_rank; /* of types */
	bool ranked;        /* the ranking bounds the keys of the remaining classes */
	uint32_t types_max; /* upper bound over all keys */
	int labels_max;
	int64_t trimmed_at; /* active_count when the ratios were trimmed */
	uint32_t stamp;
};

void schedule_try_init(struct schedule_try *try, struct schedule_run *run,
		       const struct schedule_requests *requests);
void schedule_try_add_type(struct schedule_try *try, size_t type);
/* Adds new members to a class (nodes of the same launch). */
void schedule_try_add_class(struct schedule_try *try, uint32_t state);
/* The best candidate of a heap, fresh; NULL when no candidate can take a unit. */
struct schedule_candidate *schedule_try_best(struct schedule_try *try,
					     enum schedule_heap_name heap);
void schedule_try_drop(struct schedule_try *try, struct schedule_candidate *c);
/* Records the fill of the candidate for one node, which its class has removed (or which is to be
 * launched), and moves it to its place in the heap, or removes it when the class has no members
 * left. */
void schedule_try_book(struct schedule_try *try, struct schedule_candidate *c);

/* ---- one candidate (schedule_candidate.c) ---- */

/* By name: the need of each shape per unit of the pivot, the largest first; infinite when a shape
 * does not need the pivot. */
void schedule_try_make_ratios(struct schedule_try *try);
/* Removes used-up shapes from the ratios from time to time, so that they are rarely skipped. */
void schedule_try_trim_ratios(struct schedule_try *try);

/* Sets the key to the bound for the remaining units; false when none can be placed. */
bool schedule_candidate_bound(struct schedule_try *try, struct schedule_candidate *c);
/* Fills its state with the remaining units: fill and key are fresh; the fill is empty when nothing
 * fits. */
void schedule_candidate_fill(struct schedule_try *try, struct schedule_candidate *c);
/* Reads the first member of a class. Resets the key to the bound if that could improve it. */
void schedule_candidate_read_first(struct schedule_try *try, struct schedule_candidate *c);

#endif
