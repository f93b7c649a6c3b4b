/* The needs of a list of shapes, indexed to find the shapes that could fit into a node. In a long
 * list a shape has an anchor where possible: a resource that few shapes need (of a placement
 * group's bundle, say), or the labels of which its selectors need one. A node without the anchor is
 * not compared with the shape. Lives in the scratch arena of the run. */
#ifndef CORE_SCHEDULE_REQUESTS_H
#define CORE_SCHEDULE_REQUESTS_H

#include "core/schedule/schedule_state.h"

struct schedule_run;

/* Shapes by anchor: those of anchor i are at[first[i]] to at[first[i + 1]] without the last. */
struct schedule_anchors {
	uint32_t *first;
	uint32_t *at;
};

struct schedule_requests {
	const struct schedule_list *list;
	uint32_t needs; /* equal for short lists with equal needs; SCHEDULE_ID_NONE of long ones */
	size_t word_count;
	uint64_t *free;   /* bits: shapes without an anchor */
	uint64_t *common; /* bits: the same, and those with labels as anchor */
	bool anchored;
	struct schedule_anchors by_name, by_label;
	VEC(uint32_t) names;  /* requested names, each once */
	VEC(uint32_t) counts; /* parallel: shapes that need it */
	uint32_t pivot; /* the name that most shapes need; SCHEDULE_ID_NONE: no shape needs any */
	VEC(uint32_t) selecting; /* shapes with selectors */
	int labels_max;          /* no selector ranks higher */
	uint64_t *accelerated;   /* bitmap of shapes that request an accelerator */
};

const struct schedule_requests *schedule_requests_new(struct schedule_run *run,
						      const struct schedule_list *list);
/* Whether any of them fits the state, by the sums alone. */
bool schedule_requests_fit(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t state);
/* Sets the bits of the shapes that may fit. */
void schedule_requests_may(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id, uint64_t *ret_bits);

#endif
