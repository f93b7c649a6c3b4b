/* The strings of a problem as ids: resource names, labels and selectors that its requests mention.
 * The order of the ids of names and labels is that of the strings, so they may define an order.
 * Made once per run; everything lives in its scratch arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_VOCABULARY_H
#define CORE_SCHEDULE_SCHEDULE_VOCABULARY_H

#include "core/schedule/schedule.h"
#include "core/schedule/schedule_intern.h"

struct schedule_vocabulary {
	const struct schedule_problem *problem;
	struct arena *arena;
	struct schedule_words names;      /* of resources in requests */
	struct schedule_words labels;     /* "key\0value" that a selector or anti-affinity names */
	struct schedule_words affinities; /* "name\0value" of STRICT_PACK */
	struct schedule_intern selectors; /* encoded lists of selectors; id 0 is the empty list */
	uint32_t gpu;                     /* id of "GPU", SCHEDULE_ID_NONE when no request has it */
	bool *is_accelerator;             /* by name id */
	bool *is_implicit;                /* by name id: a node without it has 1 */
	bool fractions;                   /* a request has a fractional GPU amount */
	bool new_only;                    /* some demand must not use joined nodes */
	VEC(uint32_t) encoded;            /* scratch */
	VEC(char) text;                   /* scratch */
};

void schedule_vocabulary_init(struct schedule_vocabulary *words,
			      const struct schedule_problem *problem, struct arena *arena);
/* The id of a node's label, SCHEDULE_ID_NONE when no request mentions it. */
uint32_t schedule_label_find(struct schedule_vocabulary *words, const struct label *label);
/* SCHEDULE_ID_NONE for a resource that no request mentions. */
uint32_t schedule_name_find(const struct schedule_vocabulary *words, const char *name);
bool schedule_is_accelerator(const struct schedule_problem *problem, const char *name);

/* Numbers that describe a part of a request are appended to words->encoded; equal numbers, equal
 * meaning. */
void schedule_encode(struct schedule_vocabulary *words, uint32_t value);
void schedule_encode_placements(struct schedule_vocabulary *words,
				const struct ray_request *request);
void schedule_encode_affinity(struct schedule_vocabulary *words, const struct label *affinity);
/* The number of selectors; of each the number of constraints, of each constraint the operator (0:
 * unknown), the number of values and the labels in order. */
void schedule_encode_selectors(struct schedule_vocabulary *words,
			       const struct ray_request *request);

/* The number of ways to place a gang: its bundle selectors, or the deprecated list of bundles. */
size_t schedule_gang_choices(const struct ray_gang *gang);
/* The bundles of one of them; Ray 2.60 packs only number 0. */
const struct ray_request *schedule_gang_requests(const struct ray_gang *gang, size_t choice,
						 size_t *ret_count);

#endif
