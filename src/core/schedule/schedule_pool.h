/* The candidates of one try, best first: nodes in the same state are one candidate, and so is a
 * type that may be launched. A candidate's fill and key stay valid while the requests left
 * suffice for the fill; only what a choice makes invalid is tried again, so the outcome is that
 * of Ray's loop, which tries every node again after each choice.
 * Lives in the attempt arena of the run; must not outlive the try. */
#ifndef CORE_SCHEDULE_SCHEDULE_POOL_H
#define CORE_SCHEDULE_SCHEDULE_POOL_H

#include "core/schedule/schedule_index.h"
#include "core/schedule/schedule_run.h"

/* Does anything of the list fit into a state, by the sums alone? */
enum schedule_sums { SCHEDULE_SUMS_UNKNOWN = 0, SCHEDULE_SUMS_NONE, SCHEDULE_SUMS_SOME };

/* Nodes that are there (or come along with a launch) go before those that would be launched. */
enum schedule_heap_name { SCHEDULE_HEAP_NODES = 0, SCHEDULE_HEAP_TYPES };

struct schedule_candidate {
	uint32_t state;
	size_t template_type;  /* SCHEDULE_NO_INDEX: nodes that are there */
	VEC(uint32_t) members; /* nodes; of equal key the first in the list first */
	size_t next;           /* members before it are taken */
	bool mixed;  /* running nodes with different rests: the first is the best of them */
	bool heaped; /* and all are a heap by rest, from the first pop on */
	bool touched, fresh, listed; /* listed: in its heap */
	enum schedule_heap_name heap;
	uint64_t rank;         /* of its first member: of equal keys the lowest is chosen */
	uint32_t rest, placed; /* of its first member */
	VEC(struct schedule_fill) fill;
	double *terms;
	struct schedule_key key;   /* while not fresh: the bound */
	struct schedule_key bound; /* no fill gives a better key; made when `bound_at` shapes of
				    * the list were used up */
	int64_t bound_at;
	int label_bound;
	uint64_t *fits; /* bits of shapes that may fit into its state; NULL: not known */
	uint32_t ratio_at[SCHEDULE_INDEX_NAMES]; /* by name of the index: first shape that may be
						  * placed, of those sorted by ratio */
	size_t heap_at;
	uint32_t stamp;
};

/* What a shape's remaining units are worth: who counts on them. */
struct schedule_shape_use {
	VEC(uint32_t) users; /* candidates whose fill holds it, with repetition */
	int64_t most;        /* no fresh fill holds more units of it */
};

struct schedule_pool {
	struct schedule_run *run;
	const struct schedule_list *list;
	int64_t *left;    /* by shape: units to place */
	uint64_t *active; /* bits: shapes with units left */
	size_t word_count;
	int64_t active_count, used_up; /* shapes with and without units left */
	struct schedule_index index;
	struct schedule_shape_use *uses; /* by shape */
	VEC(struct schedule_candidate) candidates;
	struct {
		VEC(uint32_t) at; /* candidates, the best first */
	} heaps[2];
	uint8_t *sums;    /* by state, of those with nodes; NULL where the list is long */
	uint32_t *places; /* by given or older node: place in the list */
	uint64_t next_rank;
	uint32_t stamp;
	size_t fits_words;  /* handed out to candidates */
	uint64_t *anchored; /* scratch of the index */
};

void schedule_pool_init(struct schedule_pool *pool, struct schedule_run *run,
			const struct schedule_list *list);
/* One candidate per state of the nodes in the list. */
void schedule_pool_add_nodes(struct schedule_pool *pool);
void schedule_pool_add_type(struct schedule_pool *pool, size_t type);
/* Nodes that came along with a launch and are empty; they are a candidate from now on. Their
 * numbers are first to first + count - 1, not yet in the run. */
void schedule_pool_add_empty(struct schedule_pool *pool, size_t type, uint32_t first,
			     int64_t count);
/* The best candidate of a heap, fresh; SCHEDULE_ID_NONE when none can take anything. */
uint32_t schedule_pool_best(struct schedule_pool *pool, enum schedule_heap_name heap);
/* How many nodes of the best candidate Ray would choose in a row, each with the same fill, at
 * most `limit`. */
int64_t schedule_pool_row(const struct schedule_pool *pool, uint32_t best, int64_t limit);
/* Takes the first member out and returns it. */
uint32_t schedule_pool_pop_member(struct schedule_pool *pool, uint32_t candidate);
/* Books `nodes` fills of the candidate and puts it back in its place, or out when it has no
 * members left. */
void schedule_pool_book(struct schedule_pool *pool, uint32_t candidate, int64_t nodes);
void schedule_pool_drop(struct schedule_pool *pool, uint32_t candidate);

/* ---- one candidate (schedule_candidate.c) ---- */

/* Reads the first member: rank, rest and what stands on it. The key is the bound again when these
 * could make it better. */
void schedule_candidate_read_first(struct schedule_pool *pool, struct schedule_candidate *c);
/* What makes the first member unlike another one. */
uint32_t schedule_candidate_rest(const struct schedule_pool *pool,
				 const struct schedule_candidate *c, uint32_t node);
uint32_t schedule_candidate_placed(const struct schedule_pool *pool, uint32_t node);
/* Makes the key the bound for what is left now; false when nothing can be placed any more. */
bool schedule_candidate_bound(struct schedule_pool *pool, struct schedule_candidate *c);
/* Fills its state with what is left: fill and key are fresh, the fill is empty when nothing
 * fits. */
void schedule_candidate_fill(struct schedule_pool *pool, struct schedule_candidate *c);
/* The same fill for another first member. */
void schedule_candidate_score_rest(struct schedule_pool *pool, struct schedule_candidate *c);

#endif
