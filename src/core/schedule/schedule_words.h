/* The strings of a problem as small dense ids. The packing compares ids where Ray compares strings
 * and maps. Everything lives in the arena it was made with. */
#ifndef CORE_SCHEDULE_SCHEDULE_WORDS_H
#define CORE_SCHEDULE_SCHEDULE_WORDS_H

#include "core/schedule/schedule.h"

#define SCHEDULE_ID_NONE UINT32_MAX

struct schedule_intern_entry {
	const void *bytes; /* a copy, with a NUL behind that is not counted */
	uint32_t size, hash;
};

/* Ids of byte strings in the order of first use, from 0: equal bytes, equal id. They must not
 * define an order that is visible outside, unless they are sorted. */
struct schedule_intern {
	struct arena *arena;
	VEC(struct schedule_intern_entry) entries; /* by id */
	uint32_t *slots;                           /* open addressing: id + 1, 0 free */
	size_t slot_count;
};

/* The id of these bytes; they are copied when they are new. */
uint32_t schedule_intern_add(struct schedule_intern *intern, const void *bytes, size_t size);

/* Resource names, labels and selectors that the requests of a problem mention. */
struct schedule_vocabulary {
	const struct schedule_problem *problem;
	struct arena *arena;
	struct schedule_intern names; /* of resources in requests; sorted */
	struct schedule_intern labels; /* sorted: "key\0value" that a selector or an affinity names */
	struct schedule_intern selectors; /* encoded lists of selectors; id 0 is the empty list */
	size_t name_count;
	uint32_t gpu;          /* id of "GPU", SCHEDULE_ID_NONE when no request has it */
	bool *is_accelerator;  /* by name id */
	bool *is_implicit;     /* by name id: a node without it has 1 */
	bool fractions;        /* a request has a fractional GPU amount */
	bool new_only;         /* some demand must not use joined nodes */
	VEC(uint32_t) encoded; /* scratch */
	VEC(char) text;        /* scratch */
};

void schedule_vocabulary_init(struct schedule_vocabulary *words,
			      const struct schedule_problem *problem, struct arena *arena);
/* The id of a label, SCHEDULE_ID_NONE when no request mentions it. */
uint32_t schedule_label_find(struct schedule_vocabulary *words, const char *key, const char *value);
/* SCHEDULE_ID_NONE for a resource that no request mentions. */
uint32_t schedule_name_find(const struct schedule_vocabulary *words, const char *name);
bool schedule_is_accelerator(const struct schedule_problem *problem, const char *name);
/* Compares two uint32_t, for sorting ids. */
int schedule_compare_ids(const void *a, const void *b);

/* The number of ways to place a gang: its bundle selectors, or the deprecated list of bundles. */
size_t schedule_gang_choices(const struct ray_gang *gang);
/* The bundles of one of them; Ray 2.60 packs only number 0. */
const struct ray_request *schedule_gang_requests(const struct ray_gang *gang, size_t choice,
						 size_t *ret_count);

#endif
