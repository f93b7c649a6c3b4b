/* What a list of shapes asks for, seen from a node: which shapes could fit into it, and does any?
 * In a long list a shape has an anchor where it can: a resource that few shapes need (of a placement
 * group's bundle, say), or the labels of which its selectors want one. A node that has none of them
 * is never looked at for it. Lives in the scratch arena of the run. */
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
	VEC(uint32_t) names;  /* asked for, each once */
	VEC(uint32_t) counts; /* parallel: shapes that need it */
	uint32_t pivot; /* the name that most shapes need; SCHEDULE_ID_NONE: no shape needs any */
	VEC(uint32_t) selecting; /* shapes with selectors */
	int labels_max;          /* no selector ranks higher */
	uint64_t *accelerated;   /* bits: shapes that ask for an accelerator */
};

const struct schedule_requests *schedule_requests_new(struct schedule_run *run,
						      const struct schedule_list *list);
/* Does any of them fit into the state, by the sums alone? */
bool schedule_requests_fit(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t state);
/* The bits of those that may fit. */
void schedule_requests_may(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id, uint64_t *ret_bits);

#endif
