/* The candidates of one try: classes of nodes, and types that may be launched. Ray fills every node
 * with as much as it takes, scores the outcomes, keeps the best, and does all of it again with what
 * is left. The outcome is the same when a fill is kept until fewer units are left than it holds.
 * A candidate that has no valid fill stands in its heap with a bound: no fill scores more. Only a
 * candidate whose bound is the best is filled.
 * Lives in the attempt arena of the run; must not outlive the try. */
#ifndef CORE_SCHEDULE_CANDIDATE_H
#define CORE_SCHEDULE_CANDIDATE_H

#include "core/schedule/schedule_requests.h"
#include "core/schedule/schedule_run.h"

/* Nodes that are there (or come along with a launch) go before those that would be launched. */
enum schedule_heap_name { SCHEDULE_HEAP_NODES = 0, SCHEDULE_HEAP_TYPES };

struct schedule_candidate {
	uint32_t state;
	size_t type;                 /* SCHEDULE_NO_INDEX: nodes that are there */
	bool touched, fresh, listed; /* listed: in its heap */
	uint64_t rank;               /* of its first member: of equal keys the lowest is chosen */
	uint32_t rest, placed;       /* of its first member */
	uint64_t *may;               /* bits of shapes that may fit into its state */
	VEC(struct schedule_fill) fill;
	double *terms;
	struct schedule_key key; /* while not fresh: the bound */
	struct schedule_key bound;
	int64_t bound_at; /* active_count when the bound was made; -1: none */
	int labels_max;
	size_t heap_at;
	uint32_t stamp;
};

/* What a shape's remaining units are worth: which candidates count on them. */
struct schedule_use {
	VEC(struct schedule_candidate *) users; /* whose fill holds it, with repetition */
	int64_t most;                           /* no fresh fill holds more units of it */
};

struct schedule_try {
	struct schedule_run *run;
	const struct schedule_requests *requests;
	const struct schedule_list *list;
	int64_t *left;                             /* by shape: units to place */
	uint64_t *active;                          /* bits: shapes with units left */
	int64_t active_count;                      /* shapes with units left */
	struct schedule_use *uses;                 /* by shape */
	VEC(struct schedule_candidate *) heaps[2]; /* the best first */
	size_t next;        /* place in the ranking: the classes before it are candidates */
	uint64_t next_rank; /* of types */
	bool ranked;        /* the ranking says where the best class can be */
	uint32_t types_max; /* no key has more */
	int labels_max;
	int64_t trimmed_at; /* active_count when the ratios were trimmed */
	uint32_t stamp;
};

void schedule_try_init(struct schedule_try *try, struct schedule_run *run,
		       const struct schedule_requests *requests);
void schedule_try_add_type(struct schedule_try *try, size_t type);
/* Nodes joined a class (those that come along with a launch). */
void schedule_try_add_class(struct schedule_try *try, uint32_t state);
/* The best candidate of a heap, fresh; NULL when none can take anything. */
struct schedule_candidate *schedule_try_best(struct schedule_try *try,
					     enum schedule_heap_name heap);
void schedule_try_drop(struct schedule_try *try, struct schedule_candidate *c);
/* Books the fill of the candidate for one node, which its class has given away (or which is to be
 * launched), and puts it back in its place, or out when the class has no members left. */
void schedule_try_book(struct schedule_try *try, struct schedule_candidate *c);

/* ---- one candidate (schedule_candidate.c) ---- */

/* By name: what the shapes need of it for each unit of the pivot, the most first; infinite when a
 * shape needs no pivot. */
void schedule_try_make_ratios(struct schedule_try *try);
/* Shapes that are used up leave the ratios now and then, so that they are not passed over often. */
void schedule_try_trim_ratios(struct schedule_try *try);

/* Makes the key the bound for what is left now; false when nothing can be placed any more. */
bool schedule_candidate_bound(struct schedule_try *try, struct schedule_candidate *c);
/* Fills its state with what is left: fill and key are fresh, the fill is empty when nothing fits. */
void schedule_candidate_fill(struct schedule_try *try, struct schedule_candidate *c);
/* Reads the first member of a class. The key is the bound again when that could make it better. */
void schedule_candidate_read_first(struct schedule_try *try, struct schedule_candidate *c);

#endif
