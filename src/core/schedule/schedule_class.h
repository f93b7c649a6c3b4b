/* Nodes in the same state form a class: requests that fit one of them fit all. Classes last from
 * gang to gang; a chosen node moves to the class of its new state. While gangs are placed, the
 * classes are ranked by the best score that any list of the gangs could reach with them, so that a
 * try examines only those that can be the best. Lives in the run. */
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
	/* A heap, the best first: of running nodes the one with the most use of other resources, of
	 * equal ones the earlier one in Ray's list. */
	VEC(uint32_t) members;
	double minimum, average; /* no member exceeds them; infinite when unknown */
	uint32_t rest;
	bool mixed; /* nodes that are not running have different rests */
	bool ranked;
	bool spent;                           /* no shape of the gangs fits any more */
	bool ample;                           /* every shape of the gangs fits */
	struct schedule_candidate *candidate; /* of try number `stamp` */
	uint64_t stamp;
};

struct schedule_classes {
	VEC(struct schedule_class) at;     /* by state */
	VEC(uint32_t) ranking;             /* classes that may be tried, the best first */
	bool lasting;                      /* they are kept up to date from try to try */
	VEC(struct schedule_need) common;  /* the minimum need over all shapes of the gangs */
	VEC(struct schedule_need) largest; /* the maximum need of one shape, name by name */
	int64_t *most;                     /* by name: the maximum need of a list of the gangs */
	bool *placed_names;                /* by name: some placed shape requested it */
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
/* Updates the place in the ranking after a permanent change of the members. */
void schedule_class_rank(struct schedule_run *run, uint32_t state);

#endif
