/* A node in the packing, as interned values: nodes in the same state accept the same requests, so a
 * state is tried once for all of them. Only names and labels that some request mentions distinguish
 * states; the other resources are summarized for the score. Made and owned by one run (its scratch
 * arena); states never change, a placement leads to another state. A room fills one node: it is
 * loaded from a state, takes units of equal requests arithmetically, computes the score, and is
 * unloaded or saved as a new state. Both follow Ray's SchedulingNode._try_schedule_one and
 * _compute_score (autoscaler/v2/scheduler.py). */
#ifndef CORE_SCHEDULE_SCHEDULE_STATE_H
#define CORE_SCHEDULE_SCHEDULE_STATE_H

#include <string.h>

#include "base/bounded.h"
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
	uint32_t type; /* or the first type that scores alike; SCHEDULE_ID_NONE: its group was removed */
	uint32_t labels; /* label set */
	uint32_t placed; /* of running nodes; others differ by capacity alone, as in
                    * Ray's NodeStateCache */
	bool running, head, registered, accelerator;
	bool resizable;      /* such nodes have another place in Ray's list */
	bool per_gpu;        /* parts of GPUs are laid out by open and whole_gpus */
	uint32_t rest_count; /* of running nodes: like the rest's members of these names */
	double rest_minimum;
	uint32_t rest;                         /* of others */
	const struct schedule_amount *amounts; /* ascending names */
	const double *terms;  /* by amount: its part of the score as it is, -1: not counted */
	const uint32_t *used; /* indexes of the amounts with a term above 0, ascending */
	uint32_t amount_count, used_count;
	uint32_t counted; /* amounts with a term of 0 or more */
	uint32_t open_count;
	const struct schedule_open_gpus *open; /* ascending free, all below one GPU */
	int64_t whole_gpus;
};

/* Amounts of a state, by their indexes, ascending: those of the names that a list of requests mentions. A node may
 * have thousands of other names, which no step of the list reads. */
struct schedule_part {
	const uint32_t *at;
	uint32_t count;
};

/* Resources of a node that no request mentions: they count in the score and never change. */
struct schedule_rest {
	uint64_t count;      /* of this size, so that there is no padding: its bytes are its id */
	double minimum, sum; /* of their terms; the minimum is infinite when there are none */
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
	struct schedule_intern keys, label_sets, placed_keys;
	struct schedule_intern rests;       /* of struct schedule_rest */
	VEC(struct schedule_state) states;  /* by id */
	VEC(struct schedule_placed) placed; /* 0: none */
	uint32_t *alike;                    /* by type: the first that scores alike */
	int64_t *most;                      /* by name: the largest amount that was read */
	/* Scratch of one node: */
	VEC(uint64_t) key;
	VEC(struct schedule_amount) amounts;
	VEC(uint32_t) names, selectors, labels;
};

static inline const struct schedule_rest *schedule_rest_at(const struct schedule_states *states,
							   uint32_t id)
{
	return states->rests.entries.at[id].bytes;
}

/* Numbers of a value, and then the id of those added since the last id. */
void schedule_id_add(struct schedule_states *states, uint64_t value);
void schedule_id_add_double(struct schedule_states *states, double value);
uint32_t schedule_id_of(struct schedule_states *states, struct schedule_intern *ids);

void schedule_states_init(struct schedule_states *states, struct schedule_vocabulary *words);

/* Notes which types score alike: their nodes are in the same states. Not those that are not running and in use, which Ray
 * examines once for each type, whatever was placed on them. */
void schedule_states_read_types(struct schedule_states *states, bool by_type);
/* The state of a node without placements, and its rest. `state` has its type, labels, running, head
 * and registered; available: the free part of its total for the current source. */
uint32_t schedule_state_of(struct schedule_states *states, struct schedule_state state,
			   const struct resources *total, const struct resources *available,
			   uint32_t *ret_rest);
/* used / total. Divides whole units as such, which is exact where Ray's doubles are. */
double schedule_share(int64_t total, int64_t used);
/* v * util^3 of one resource, -1 when Ray does not count it. */
double schedule_term(int64_t total, int64_t available);

/* The labels of a set, ascending. */
static inline const uint32_t *schedule_label_set(const struct schedule_states *states, uint32_t set,
						 size_t *ret_count)
{
	const struct schedule_intern_entry *entry = &states->label_sets.entries.at[set];

	*ret_count = entry->size / sizeof(uint32_t);
	return entry->bytes;
}
/* The set of those labels of a node that requests name. */
uint32_t schedule_label_set_of(struct schedule_states *states, const struct labels *labels);
/* Ray's rank of the first selector of a placed set that the labels satisfy, which decides; 0: none. */
int schedule_placed_rank(const struct schedule_states *states, uint32_t set, uint32_t placed);
/* Whether the labels satisfy one selector of an encoded list; *at moves from its number of constraints to
 * the end of it. */
bool schedule_selector_holds(const struct schedule_states *states, uint32_t set,
			     const uint32_t **at);

/* ---- filling one node ---- */

struct schedule_fill {
	uint32_t shape; /* index into the list */
	int64_t count;  /* units of it on one node */
};

/* Ray's sort key of a candidate: larger is better, the first difference decides. `spared` is 0 or,
 * with policy.spare_gpus, - unused GPUs / used GPUs of a new node. */
union schedule_key {
	struct {
		double labels, accelerator_ok, spared, types, minimum, average;
		double recoverable, priority, recency; /* of the type */
	};
	double parts[9];
};

struct schedule_room {
	struct schedule_states *states;
	struct schedule_state state; /* the loaded state; its arrays belong to the states */
	struct schedule_part part;   /* of it that is loaded */
	bool loaded;
	int64_t *total, *available; /* by name; -1: not there */
	int64_t *free;              /* scratch of schedule_requests_next */
	bool bounded; /* a fill that begins with any amounts from those taken up to `end` is the same */
	int64_t *start, *end; /* by name: free before the fill, and above what it is the same */
	uint32_t *seen;       /* by name: stamp of the last count */
	uint32_t stamp;
	uint32_t labels;
	int64_t whole_gpus;
	VEC(struct schedule_open_gpus)
	open, tried;         /* tried: copy while a combined shape is placed */
	VEC(uint32_t) added; /* names that are not in the state */
	VEC(uint32_t) all;   /* 0, 1, 2: a part with all amounts */
};

/* The amount of a name in a state; NULL: it has none. */
const struct schedule_amount *schedule_state_amount(const struct schedule_state *state,
						    uint32_t name);

/* One room serves a whole run. */
void schedule_room_init(struct schedule_room *room, struct schedule_states *states);
/* All amounts of a state with so many. */
struct schedule_part schedule_room_whole(struct schedule_room *room, uint32_t count);
/* With all amounts. */
void schedule_room_load(struct schedule_room *room, uint32_t id);
/* With these alone, which last until it is unloaded: it takes only shapes whose names are among them, and is not saved. */
void schedule_room_load_part(struct schedule_room *room, uint32_t id, struct schedule_part part);
/* The free amount of a name of the loaded part; an implicit resource that was never used has 1. */
static inline int64_t schedule_room_available(const struct schedule_room *room, uint32_t name)
{
	int64_t available = room->available[name];

	if (available >= 0)
		return available;
	return room->states->words->is_implicit[name] ? RESOURCE_UNIT : 0;
}

bool schedule_room_has_anti_label(const struct schedule_room *room,
				  const struct schedule_shape *shape);
/* Whether the node excludes the shapes of the kind of this one, whatever is still placed on it; their selector and
 * few_labels may exclude more. */
bool schedule_room_refuses(const struct schedule_room *room, const struct schedule_shape *shape);
/* Places up to `want` units and returns the number that fit. */
int64_t schedule_room_take(struct schedule_room *room, const struct schedule_shape *shape,
			   int64_t want);
/* The same for a shape of a kind that the labels do not exclude. */
int64_t schedule_room_put(struct schedule_room *room, const struct schedule_shape *shape,
			  int64_t want);
/* Takes an amount of a name, which is free. */
void schedule_room_use(struct schedule_room *room, uint32_t name, int64_t amount);
/* With `bounded`: notes that `amount` more of the name is not free. */
static inline void schedule_room_lacks(struct schedule_room *room, uint32_t name, int64_t amount)
{
	int64_t end = room->start[name] - schedule_room_available(room, name) + amount;

	if (end < room->end[name])
		room->end[name] = end;
}

/* The terms of the amounts of the loaded part, in their order; -1: not counted. */
void schedule_room_terms(const struct schedule_room *room, double *ret_terms);
/* The state that the node has become; `placed` counts for running nodes only. */
uint32_t schedule_room_save(struct schedule_room *room, uint32_t placed);
void schedule_room_unload(struct schedule_room *room);

/* The state after a resize; `rest` is that of the node with its new size. */
uint32_t schedule_state_resized(struct schedule_room *room, uint32_t id,
				const struct schedule_size *size, uint32_t rest);
/* The state `id` of a node of this type with the fill; `placed`: the set before, then the set after. */
uint32_t schedule_state_filled(struct schedule_room *room, uint32_t id, size_t type,
			       const struct schedule_list *list, const struct schedule_fill *fill,
			       size_t fill_count, uint32_t *placed);
/* Sets the part of the key that the node's type defines, and clears the rest. */
void schedule_key_type(const struct schedule_problem *problem, const struct schedule_state *state,
		       union schedule_key *key);
/* Sets the part of the key that all placed requests define, those placed before and the fill of the loaded
 * room; schedule_key_rest sets minimum and average. */
void schedule_key_filled(struct schedule_room *room, uint32_t placed_id,
			 const struct schedule_list *list, const struct schedule_fill *fill,
			 size_t fill_count, union schedule_key *key);
/* Puts minimum and average into the key, from the rest, the terms of a part of the state's amounts, and those that the
 * others have as they are. */
void schedule_key_rest(const struct schedule_states *states, const struct schedule_state *state,
		       struct schedule_part part, const double *terms, uint32_t rest,
		       union schedule_key *key);
/* Positive when a is better, 0 when the order of the nodes decides. */
static inline int schedule_key_compare(const union schedule_key *a, const union schedule_key *b)
{
	/* Most keys have the same bytes up to these. */
	const void *first = a, *second = b;
	size_t equal = memcmp(first, second, 4 * sizeof(*a->parts)) == 0 ? 4 : 0;

	UNCOUNTED_FOR(size_t i = equal; i < sizeof(a->parts) / sizeof(*a->parts); i++) {
		int order = (a->parts[i] > b->parts[i]) - (a->parts[i] < b->parts[i]);

		if (order)
			return order;
	}
	return 0;
}

#endif
