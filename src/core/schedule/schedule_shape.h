/* Requests of a problem in canonical form: equal requests of a list are one shape with a count, and
 * shapes are in the order in which Ray tries them (scheduler.py _sort_resource_request, ties broken
 * by content and never by the position in the list). Live in the vocabulary's arena. Must not
 * depend on nodes: see schedule_state. */
#ifndef CORE_SCHEDULE_SCHEDULE_SHAPE_H
#define CORE_SCHEDULE_SCHEDULE_SHAPE_H

#include "core/schedule/schedule_problem.h"

/* ---- the strings of a problem as small dense ids: the packing compares ids where Ray compares
 * strings and maps. In the arena that they were made with ---- */

#define SCHEDULE_ID_NONE UINT32_MAX

struct schedule_intern_entry {
	const void *bytes; /* a copy, with a NUL behind that is not counted */
	uint32_t size, hash;
	uint32_t marks;
};

/* Marks of labels. */
#define SCHEDULE_LABEL_SELECTED 1 /* some request selects nodes with it */
#define SCHEDULE_LABEL_ADDED 2    /* some request adds it to its node */
#define SCHEDULE_LABEL_OF_TYPE 4  /* new nodes of some type have it */
#define SCHEDULE_LABEL_GIVEN 8    /* some node has it, or a new one */
#define SCHEDULE_LABEL_SHARED 16  /* several lists mention it */
#define SCHEDULE_LABEL_LIST 256   /* from here on: number of the last list that does */

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
	bool needless;         /* a request needs nothing: it may be placed where all is free */
	uint32_t lists;        /* that were read */
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

/* ---- shapes ---- */

struct schedule_need {
	uint32_t name;  /* of vocabulary.names */
	int64_t amount; /* above 0 */
};

/* The source of the units of a shape. */
struct schedule_entry {
	size_t index; /* into the received list; of gangs: the gang */
	const struct ray_request *bundle;
	int64_t count; /* units; of a combined shape 1: a bundle of its unit */
};

struct schedule_shape {
	const struct ray_request *request; /* the first of its kind */
	const struct schedule_need *needs; /* ascending names */
	uint32_t need_count;
	uint32_t selector;           /* id of vocabulary.selectors, 0: none */
	const uint32_t *anti_labels; /* ids of vocabulary.labels, ascending: not with its own kind */
	uint32_t anti_label_count;
	bool few_labels; /* few shapes of its list have one of the anti_labels: its kind does not tell them apart */
	bool new_only, impossible;
	bool combined; /* STRICT_PACK bundles summed to one request */
	bool asks_accelerator;
	/* The GPU amounts of its bundles, in their order: parts below 1 share a GPU and never span
	 * two. */
	const int64_t *pieces;
	uint32_t piece_count;
	int64_t count;
	VEC(struct schedule_entry) entries;
	__int128 sum; /* of the bundle's amounts: sort key */
	/* Sort keys of the policies gpus_first and shuffle; 0 with others. */
	int64_t gpus;
	uint32_t shuffled;
	const uint32_t *content; /* tie-breakers of the sort */
	uint32_t content_count;
};

struct schedule_list {
	struct schedule_shape *shapes; /* in the order in which they are tried */
	size_t count;
};

/* The need of one unit for a name. */
static inline int64_t schedule_shape_need(const struct schedule_shape *shape, uint32_t name)
{
	for (uint32_t i = 0; i < shape->need_count; i++)
		if (shape->needs[i].name == name)
			return shape->needs[i].amount;
	return 0;
}

/* The list of a constraint or of the demands. */
struct schedule_list schedule_list_of_demands(struct schedule_vocabulary *words,
					      const struct schedule_demand *demands, size_t count);
/* The bundles of gang `index` of the problem in one of its choices, those with the same affinity
 * combined into one (utils.py combine_requests_with_affinity). In the arena. */
struct schedule_list schedule_list_of_gang(struct schedule_vocabulary *words, struct arena *arena,
					   size_t index, size_t choice);
/* Whether the bundles need the same amounts in both choices. */
bool schedule_gang_same_amounts(const struct ray_gang *gang, size_t a, size_t b);

#endif
