/* What a list of shapes asks for, seen from a node: two questions answered without going through
 * the shapes one by one. Which shapes can fit into what is left? For each name the needs are cut
 * into levels; of each level a row of bits tells the shapes that need no more. How much of a name
 * can be taken at most? Shapes are sorted by what they take of it per unit of the pivot, the name
 * that most of them need. Both answers may be too generous, never too small: schedule_room_take
 * decides.
 * In long lists a shape has an anchor where it can: a resource that few shapes need (of a placement
 * group's bundle, say), or the labels of which its selectors want one. A node that has none of them
 * is never tried with it.
 * Lives in the attempt arena; the scratch in the run. */
#ifndef CORE_SCHEDULE_SCHEDULE_INDEX_H
#define CORE_SCHEDULE_SCHEDULE_INDEX_H

#include "core/schedule/schedule_room.h"

#define SCHEDULE_INDEX_NAMES 8
#define SCHEDULE_INDEX_LEVELS 64

enum { SCHEDULE_SLOT_UNASKED = 0, SCHEDULE_SLOT_OTHER = UINT8_MAX };

/* What a shape needs of a name for each unit of the pivot; infinite when it needs no pivot. */
struct schedule_ratio {
	double ratio;
	uint32_t shape;
};

struct schedule_index_name {
	uint32_t name;
	uint32_t level_count;
	bool exact;            /* every need is a level */
	const int64_t *levels; /* ascending, the last is the largest need */
	const uint64_t *rows;  /* row 0 is empty, row i + 1: who needs at most levels[i] */
	const struct schedule_ratio *ratios; /* of the shapes that need it, the largest first */
	uint32_t ratio_count;
};

struct schedule_index_scratch {
	size_t *counts;      /* by name; 0 between uses */
	uint8_t *slots;      /* by name: place in names + 1, or SCHEDULE_SLOT_ */
	VEC(uint32_t) asked; /* names whose slot is set */
};

/* Shapes by anchor: those of anchor i are at[first[i]] to at[first[i + 1]] without the last. */
struct schedule_anchors {
	uint32_t *first;
	uint32_t *at;
};

struct schedule_index {
	size_t word_count;
	bool anchored;               /* the list is long: names and labels are set */
	const uint64_t *free;        /* bits of shapes without an anchor */
	const uint64_t *free_labels; /* the same and those whose anchors are labels */
	struct schedule_anchors by_name, by_label;
	uint32_t name_count;
	struct schedule_index_name names[SCHEDULE_INDEX_NAMES]; /* the first is the pivot */
	const uint64_t *rows[SCHEDULE_INDEX_NAMES];             /* of the last schedule_index_set */
	const uint8_t *slots;
	const uint64_t *asks_accelerator; /* bits of shapes */
	bool has_selectors;
};

void schedule_index_scratch_init(struct schedule_index_scratch *scratch, size_t name_count,
				 struct arena *arena);
void schedule_index_init(struct schedule_index *index, const struct schedule_list *list,
			 const struct schedule_vocabulary *words,
			 struct schedule_index_scratch *scratch, struct arena *scratch_arena,
			 struct arena *arena);
/* Clears the bits of shapes for whose anchor the node has nothing. `labels`: of the selectors too. */
void schedule_index_anchor(const struct schedule_index *index, const struct schedule_states *states,
			   const struct schedule_state *state, bool labels, uint64_t *bits,
			   uint64_t *scratch);
/* Chooses the rows for what is left in the room. */
void schedule_index_set(struct schedule_index *index, const struct schedule_room *room);
/* The bits of one word of shapes that may fit. */
uint64_t schedule_index_word(const struct schedule_index *index, size_t word);

#endif
