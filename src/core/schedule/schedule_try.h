/* One list of requests on the nodes of a run, then on nodes that could be launched: Ray's
 * ResourceDemandScheduler._try_schedule (autoscaler/v2/scheduler.py, ray 2.60). Ray fills every
 * node as far as possible, scores the outcomes, keeps the best, and repeats with the rest.
 * The outcome is the same when a fill is reused until fewer units are left than it contains.
 * Everything here lives in the attempt arena of the run and ends with the try. */
#ifndef CORE_SCHEDULE_SCHEDULE_TRY_H
#define CORE_SCHEDULE_SCHEDULE_TRY_H

#include "core/schedule/schedule_run.h"

/* Types of one candidate that are alike, or nodes that are equal once they are resized, of which Ray examines the
 * first. */
struct schedule_turn {
	bool last; /* a new node beyond the room of its type: after all others */
	uint32_t state;
	uint32_t type; /* SCHEDULE_ID_NONE: a node */
	uint32_t node, placed;
	uint64_t rank;
};

struct schedule_candidate {
	uint32_t state;
	size_t type;                     /* whose turn it is; SCHEDULE_NO_INDEX: existing nodes */
	uint32_t group;                  /* of nodes as they are; else SCHEDULE_ID_NONE */
	VEC(struct schedule_turn) turns; /* of others: a heap, the best first */
	const uint32_t *types; /* each better than the next but for `last`; without those apart */
	size_t type_count, types_read; /* types_read: that had a turn */
	bool alone;         /* of one class, whatever its members differ in, or of one type */
	bool refused;       /* nothing fits, whatever its turn */
	bool fresh, listed; /* fresh: fill and key are valid; listed: in the heap */
	bool last;          /* of the turn */
	/* Of equal keys the earlier is chosen: of classes by the first member, of types by rank. */
	uint32_t node;
	uint64_t rank;
	uint32_t rest, placed;        /* of its first member */
	struct schedule_kinds kinds;  /* that may fit into its state */
	struct schedule_kinds walked; /* those of which a fill takes shapes, each once */
	uint32_t filled_with; /* of try.cells: candidates that may share fills; SCHEDULE_ID_NONE: none does */
	struct schedule_part part;  /* of its state that the list mentions */
	uint32_t version;           /* of key and fill */
	struct schedule_cell *cell; /* its fill, while it is fresh */
	double *terms;              /* of the part */
	union schedule_key key;     /* while not fresh: the bound */
	union schedule_key bound;
	bool by_witness;  /* the bound looked for one */
	int64_t bound_at; /* see bounds_now(); -1: no bound */
	size_t heap_at;
	bool resized; /* nodes that would be; state, rest and placed are those after it */
};

/* A fill, which all nodes with amounts of its box take. */
struct schedule_cell {
	VEC(struct schedule_fill) fill;
	VEC(struct schedule_candidate *) members; /* some have another cell by now */
	uint32_t version;
	int64_t *taken; /* by name of the cells: what is free is this, or more by less than `width` */
	uint64_t *width; /* likewise */
	size_t names;    /* allocated */
	struct schedule_cell *next;
};

/* The cells of candidates that take shapes of the same trees, made since the last choice. */
struct schedule_cells {
	VEC(uint32_t) names; /* of the trees */
	int64_t *free;       /* scratch, by these */
	struct schedule_cell *first;
	uint64_t choice;
};

/* A cell, or a candidate with a bound by a witness, that is valid in this version as long as so many units of a shape
 * are left. */
struct schedule_holder {
	struct schedule_candidate *candidate; /* NULL: a cell */
	struct schedule_cell *cell;
	struct schedule_holder *next;
	uint32_t version;
	int64_t units;
};

struct schedule_holders {
	struct schedule_holder *first;
	size_t count, most; /* most: before those out of date are removed */
};

/* Groups that become candidates, in the order of a ranking. */
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
	int64_t *left;        /* by shape: units to place */
	int64_t active_count; /* shapes with units left */
	bool shares;          /* fills depend on amounts alone */
	uint64_t choices;
	struct schedule_intern cells_ids;       /* of trees */
	VEC(struct schedule_cells) cells;       /* by these */
	struct schedule_cell *spare_cell;       /* for reuse */
	struct schedule_holders *holders;       /* by shape; some are out of date */
	struct schedule_holder *spare;          /* for reuse */
	VEC(struct schedule_cursor) cursors;    /* of one fill */
	VEC(struct schedule_candidate *) heap;  /* the best first */
	VEC(struct schedule_candidate *) stale; /* were filled with more units than are left */
	VEC(struct schedule_stream) streams;
	int rank_common;      /* of kinds whose streams have groups; -1: of none */
	VEC(uint32_t) hidden; /* classes apart that were taken out of the heap of their group */
	VEC(struct schedule_candidate *) launches; /* of new nodes */
	uint64_t next_rank;                        /* of types */
	int64_t new_before;                        /* new nodes of the run before the try */
	uint32_t first_new;                        /* the first node that the try launches */
	bool ranked;        /* the rankings bound the keys of the remaining groups */
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
/* The cell of a loaded candidate, that of another one or (unless `found`) a new one; NULL: nothing fits. */
struct schedule_cell *schedule_cell_of(struct schedule_try *try, struct schedule_candidate *c,
				       bool found);
/* Finds the kinds that its fills walk, and with which candidates it shares them. */
void schedule_cell_read(struct schedule_try *try, struct schedule_candidate *c);
/* Makes the members of the cell stale. */
void schedule_cell_end(struct schedule_try *try, struct schedule_cell *cell);
/* Reviews the cell or the candidate when fewer units of the shape are left. */
void schedule_try_hold(struct schedule_try *try, struct schedule_holder held, uint32_t shape);
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
