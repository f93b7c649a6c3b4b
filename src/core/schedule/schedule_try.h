/* One list of requests on the nodes of a run, then on nodes that could be launched: Ray's
 * ResourceDemandScheduler._try_schedule (autoscaler/v2/scheduler.py, ray 2.60). Ray fills every
 * node as far as possible, scores the outcomes, keeps the best, and repeats with the rest.
 * The outcome is the same when a fill is reused until fewer units are left than it contains.
 * Everything here lives in the attempt arena of the run and ends with the try. */
#ifndef CORE_SCHEDULE_SCHEDULE_TRY_H
#define CORE_SCHEDULE_SCHEDULE_TRY_H

#include "core/schedule/schedule_run.h"

/* Nodes or types of one candidate: classes and types that are alike, or nodes that are equal once they are resized, of
 * which Ray examines the first. */
struct schedule_turn {
	bool last; /* a new node beyond the room of its type: after all others */
	uint32_t state;
	uint32_t type; /* SCHEDULE_ID_NONE: a node */
	uint32_t node, placed;
	uint64_t rank; /* of types, and of nodes that would be resized */
};

struct schedule_candidate {
	uint32_t state;
	size_t type;                     /* whose turn it is; SCHEDULE_NO_INDEX: existing nodes */
	VEC(struct schedule_turn) turns; /* a heap, the best first */
	const uint32_t *types; /* each better than the next but for `last`; without those apart */
	size_t type_count, types_read; /* types_read: that had a turn */
	bool alone;         /* of one class, whatever its members differ in, or of one type */
	bool fresh, listed; /* fresh: fill and key are valid; listed: in the heap */
	bool last;          /* of the turn */
	/* Of equal keys the earlier is chosen: of classes by the first member, of types by rank. */
	uint32_t node;
	uint64_t rank;
	uint32_t rest, placed;       /* of its first member */
	struct schedule_kinds kinds; /* that may fit into its state */
	struct schedule_part part;   /* of its state that the list mentions */
	uint32_t version;            /* of key and fill */
	VEC(struct schedule_fill) fill;
	double *terms;          /* of the part */
	union schedule_key key; /* while not fresh: the bound */
	union schedule_key bound;
	bool by_witness;  /* the bound looked for one */
	int64_t bound_at; /* see bounds_now(); -1: no bound */
	size_t heap_at;
	bool resized; /* nodes that would be; state, rest and placed are those after it */
};

/* A candidate whose key is valid in this version as long as so many units of a shape are left. */
struct schedule_holder {
	struct schedule_candidate *candidate;
	struct schedule_holder *next;
	uint32_t version;
	int64_t units;
};

struct schedule_holders {
	struct schedule_holder *first;
	size_t count, most; /* most: before those out of date are removed */
};

/* Classes that become candidates, in the order of a ranking. */
struct schedule_stream {
	size_t ranking, part;
	int rank; /* of labels, at most, where the list decides it */
	size_t next;
};

struct schedule_cursor {
	struct schedule_kind *kind;
	size_t place;
	uint32_t shape; /* there */
};

/* A node, its state and placed set before, and the demand placed on it. */
struct schedule_chosen {
	uint32_t node, state, placed;
	const struct schedule_fill *fill;
	size_t fill_count;
	bool resized; /* `state` is that after a resize, with this rest */
	bool again;   /* resized after the try placed something on it as it is */
	uint32_t rest;
};

struct schedule_try {
	struct schedule_run *run;
	struct schedule_requests *requests; /* without the shapes that have no units left */
	const struct schedule_list *list;
	int64_t *left;                          /* by shape: units to place */
	int64_t active_count;                   /* shapes with units left */
	struct schedule_holders *holders;       /* by shape; some are out of date */
	struct schedule_holder *spare;          /* for reuse */
	VEC(struct schedule_cursor) cursors;    /* of one fill */
	VEC(struct schedule_candidate *) heap;  /* the best first */
	VEC(struct schedule_candidate *) stale; /* were filled with more units than are left */
	VEC(struct schedule_stream) streams;
	struct schedule_alike *alike; /* NULL: not needed yet */
	struct schedule_intern shared_ids;
	VEC(struct schedule_candidate *) shared;   /* of nodes that are alike, by these */
	VEC(struct schedule_candidate *) launches; /* of new nodes */
	uint64_t next_rank;                        /* of types */
	int64_t new_before;                        /* new nodes of the run before the try */
	uint32_t first_new;                        /* the first node that the try launches */
	bool ranked;        /* the rankings bound the keys of the remaining classes */
	uint32_t types_max; /* upper bound over all keys */
	VEC(struct schedule_chosen) chosen;
	bool *exhausted; /* by node that may be resized; NULL: none may */
};

/* Places the list and keeps the outcome in the run (nodes, order, launches, limits); an atomic try
 * that leaves units over changes nothing. schedule_classes_make must be called before the first try
 * of a kind. Returns the units of each shape that are left over, in the run's scratch arena; NULL:
 * none is. */
const struct schedule_leftover *schedule_try(struct schedule_run *run,
					     struct schedule_requests *requests);

/* Nodes in the state (or new ones of the type), with a key above all others. */
struct schedule_candidate *schedule_candidate_new(struct schedule_try *try, uint32_t state,
						  size_t type);
/* Notes that the node gets this fill. */
struct schedule_chosen *schedule_try_choose(struct schedule_try *try, uint32_t node, uint32_t state,
					    uint32_t placed, const struct schedule_fill *fill,
					    size_t fill_count);

/* ---- nodes that may be resized (schedule_resize.c) ---- */

/* Notes which of them are exhausted, while all units are left. */
void schedule_resize_begin(struct schedule_try *try);
/* The candidates, each with its nodes in Ray's order, once nothing fits any node as it is. They continue from what
 * the try has chosen on them. */
size_t schedule_resize_candidates(struct schedule_try *try, struct schedule_candidate ***ret_list);

/* ---- exact search (schedule_exact.c) ---- */

#define SCHEDULE_EXACT_NODES_MAX 96

/* Places what policy.served places of the list on the nodes that are there, or nothing: unlike
 * Ray's loop it backtracks when earlier placements leave no capacity for the rest. For small cases,
 * with a limit of steps, which reduces run->policy.steps_left. Launches nothing. */
bool schedule_try_exactly(struct schedule_try *try);

#endif
