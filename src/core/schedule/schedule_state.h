/* A node in the packing, as interned values: nodes in the same state accept the same requests, so a
 * state is tried once for all of them. Only names and labels that some request mentions distinguish
 * states; the other resources are summarized for the score. Made and owned by one run (its scratch
 * arena); states never change, a placement leads to another state. schedule_room places,
 * schedule_score compares candidates. */
#ifndef CORE_SCHEDULE_SCHEDULE_STATE_H
#define CORE_SCHEDULE_SCHEDULE_STATE_H

#include "core/schedule/schedule_shape.h"

struct schedule_amount {
	uint32_t name;
	int64_t total, available; /* -1: no such key, which is not 0 (trap T8) */
};

/* Partly used GPUs: `count` of them have `free` left. */
struct schedule_open_gpus {
	int64_t free, count;
};

struct schedule_state {
	uint32_t type;   /* SCHEDULE_ID_NONE: its group was removed */
	uint32_t labels; /* label set */
	uint32_t placed; /* of running nodes; others differ by capacity alone, as in Ray's
			  * NodeStateCache */
	bool running, head, registered, accelerator;
	bool per_gpu;        /* parts of GPUs are laid out GPU by GPU: open and whole_gpus count */
	uint32_t rest_count; /* of running nodes: like the rest's members of these names */
	double rest_minimum;
	const struct schedule_amount *amounts; /* ascending names */
	const double *terms; /* by amount: its part of the score as it is, -1: not counted */
	uint32_t amount_count;
	uint32_t open_count;
	const struct schedule_open_gpus *open; /* ascending free, all below one GPU */
	int64_t whole_gpus;
};

/* Resources of a node that no request mentions: they count in the score and never change. */
struct schedule_rest_term {
	uint32_t before; /* the first requested name after it in the order of names */
	double term;
};

struct schedule_rest {
	const struct schedule_rest_term *terms; /* those above 0, in the order of their names */
	uint32_t term_count;
	uint32_t count; /* with those that are 0 */
	double minimum; /* of all; infinite when there are none */
	double sum;
};

/* Names and selectors placed on a node in earlier phases of the same source; they stay in the
 * score. */
struct schedule_placed {
	const uint32_t *names; /* requested with an amount above 0, ascending */
	uint32_t name_count;
	const uint32_t *selectors; /* in the order of placement, without repetition */
	uint32_t selector_count;
	bool asks_accelerator;
};

struct schedule_states {
	struct schedule_vocabulary *words;
	struct arena *arena;
	struct schedule_intern keys, label_sets, rest_keys, placed_keys;
	VEC(struct schedule_state) states; /* by id */
	VEC(struct schedule_rest) rests;
	VEC(struct schedule_placed) placed; /* 0: none */
	VEC(uint64_t) key;                  /* scratch */
};

void schedule_states_init(struct schedule_states *states, struct schedule_vocabulary *words);

/* Input of a state: the total, and its free part for the current source. */
struct schedule_node_view {
	uint32_t type, labels;
	bool running, head, registered;
	const struct resources *total, *available;
};

/* The state of a node without placements, and its rest. */
uint32_t schedule_state_of(struct schedule_states *states, const struct schedule_node_view *view,
			   uint32_t *ret_rest);
/* Interns a state; `state`'s arrays are copied when it is new. */
uint32_t schedule_state_add(struct schedule_states *states, const struct schedule_state *state);
/* Whether these amounts, in ascending order of their names, are free. */
bool schedule_state_has(const struct schedule_states *states, const struct schedule_state *state,
			const struct schedule_need *needs, size_t count);
uint32_t schedule_placed_add(struct schedule_states *states, const struct schedule_placed *placed);
/* v * util^3 of one resource, -1 when Ray does not count it. */
double schedule_term(int64_t total, int64_t available);

/* The set of those labels of a node that requests name. */
uint32_t schedule_label_set_of(struct schedule_states *states, const struct labels *labels);
/* Its labels, ascending. */
const uint32_t *schedule_label_set_all(const struct schedule_states *states, uint32_t set,
				       size_t *ret_count);
bool schedule_label_set_has(const struct schedule_states *states, uint32_t set, uint32_t label);
uint32_t schedule_label_set_with(struct schedule_states *states, uint32_t set, uint32_t label);
/* Ray's rank of the first selector that the labels satisfy: number of selectors - its place; 0
 * when none is, or for selector list 0. */
int schedule_label_rank(const struct schedule_states *states, uint32_t set, uint32_t selector);

#endif
