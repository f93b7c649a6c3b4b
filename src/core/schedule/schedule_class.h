/* Nodes in the same state, as one class: what one of them takes, all of them take. Classes last from
 * gang to gang; a node that is chosen leaves its class for that of its new state. While gangs are
 * placed the classes are ranked by the best score that any list of the gangs could reach with them, so
 * that a try looks only at those that can be the best. Lives in the run. */
#ifndef CORE_SCHEDULE_CLASS_H
#define CORE_SCHEDULE_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct schedule_run;
struct schedule_requests;
struct schedule_need;
struct schedule_candidate;

struct schedule_class {
	/* A heap, the best first: of running nodes the one whose other resources are used most, of
	 * equal ones that which is earlier in Ray's list. */
	VEC(uint32_t) members;
	double minimum, average; /* no member scores more; infinite when not known */
	uint32_t rest;
	bool mixed; /* nodes that are not running have different rests */
	bool ranked;
	bool spent;                           /* no shape of the gangs fits any more */
	struct schedule_candidate *candidate; /* of try number `stamp` */
	uint64_t stamp;
};

struct schedule_classes {
	VEC(struct schedule_class) at;    /* by state */
	VEC(uint32_t) ranking;            /* classes that may be tried, the best first */
	bool lasting;                     /* they are kept up to date from try to try */
	VEC(struct schedule_need) common; /* what every shape of the gangs needs, at least */
	int64_t *most;                    /* by name: what a list of the gangs asks for, at most */
	bool *placed_names;               /* by name: something placed asked for it */
	size_t placed_name_count;
	bool placed_selectors;
	uint64_t tries;
};

/* Makes the classes of all nodes for the requests of several tries, or of one. */
void schedule_classes_make(struct schedule_run *run,
			   const struct schedule_requests *const *requests, size_t count);
void schedule_class_add(struct schedule_run *run, uint32_t state, uint32_t node);
/* Takes the best member out. */
uint32_t schedule_class_take(struct schedule_run *run, uint32_t state);
void schedule_class_remove(struct schedule_run *run, uint32_t state, uint32_t node);
/* Takes out all members from `first` on, which were not launched after all. */
void schedule_class_remove_from(struct schedule_run *run, uint32_t state, uint32_t first);
/* After its members changed for good: its place in the ranking. */
void schedule_class_rank(struct schedule_run *run, uint32_t state);

#endif
