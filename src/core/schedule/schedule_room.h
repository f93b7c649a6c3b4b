/* One node being filled: its free capacity, with units of equal requests placed arithmetically
 * instead of one by one. A room is loaded from a state, takes units, computes the score, and is
 * unloaded (or saved as a new state). One room serves a whole run. Follows Ray's
 * SchedulingNode._try_schedule_one and _compute_score (autoscaler/v2/scheduler.py). */
#ifndef CORE_SCHEDULE_SCHEDULE_ROOM_H
#define CORE_SCHEDULE_SCHEDULE_ROOM_H

#include "core/schedule/schedule_state.h"

struct schedule_fill {
	uint32_t shape; /* index into the list */
	int64_t count;  /* units of it on one node */
};

/* Ray's sort key of a candidate, larger is better, compared member by member. */
struct schedule_key {
	bool first; /* only with policy.starting_last */
	int labels;
	bool accelerator_ok;
	double spared; /* 0 or, with policy.spare_gpus, - unused GPUs / used GPUs of a new node */
	uint32_t types;
	double minimum, average;
	double recoverable;
	int64_t priority;
	double recency;
};

struct schedule_room {
	struct schedule_states *states;
	struct schedule_state state; /* the loaded state; its arrays belong to the states */
	bool loaded;
	int64_t *total, *available; /* by name; -1: not there */
	uint32_t *seen;             /* by name: stamp of the last count */
	uint32_t stamp;
	uint32_t labels;
	int64_t whole_gpus;
	VEC(struct schedule_open_gpus)
	open, tried;                         /* tried: copy while a combined shape is placed */
	VEC(uint32_t) implicit;              /* names that the placing added */
	VEC(struct schedule_amount) amounts; /* scratch of save */
};

void schedule_room_init(struct schedule_room *room, struct schedule_states *states);
void schedule_room_load(struct schedule_room *room, uint32_t id);
/* Places up to `want` units and returns the number that fit. */
int64_t schedule_room_take(struct schedule_room *room, const struct schedule_shape *shape,
			   int64_t want);
/* The terms of the amounts of the loaded state, in their order; -1: not counted. */
void schedule_room_terms(const struct schedule_room *room, double *ret_terms);
/* The state that the node has become; `placed` counts for running nodes only. */
uint32_t schedule_room_save(struct schedule_room *room, uint32_t placed);
void schedule_room_unload(struct schedule_room *room);

/* The set of names and selectors placed on a node after `fill`. */
uint32_t schedule_placed_with(struct schedule_room *room, uint32_t placed,
			      const struct schedule_list *list, const struct schedule_fill *fill,
			      size_t fill_count);
/* Sets the part of the key that the node's type defines, and clears the rest. */
void schedule_key_type(const struct schedule_problem *problem, const struct schedule_state *state,
		       struct schedule_key *key);
/* Sets the part of the key that the fill defines; schedule_key_rest sets minimum and average. */
void schedule_key_fill(struct schedule_room *room, uint32_t placed,
		       const struct schedule_list *list, const struct schedule_fill *fill,
		       size_t fill_count, struct schedule_key *key);
/* Puts minimum and average into the key, from the terms of the state's amounts and the rest. */
void schedule_key_rest(const struct schedule_states *states, const struct schedule_state *state,
		       const double *terms, uint32_t rest, struct schedule_key *key);
/* Positive when a is better, 0 when the order of the nodes decides. */
int schedule_key_compare(const struct schedule_key *a, const struct schedule_key *b);

#endif
