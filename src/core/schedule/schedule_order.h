/* Ray's list of nodes, in the order in which it scores them. After each list of requests that Ray
 * keeps, the order is: chosen nodes in the order of their choice, other nodes, running nodes into
 * which none of the requests would fit (exhausted), new nodes. Ray copies the list each time. Here
 * only the chosen and the new nodes get a number; the order of two nodes is found when it is asked
 * for, from the lists of requests that were kept since the later of the two got its number: the
 * latest one that exhausts exactly one of the nodes decides, else the numbers do. */
#ifndef CORE_SCHEDULE_ORDER_H
#define CORE_SCHEDULE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct schedule_run;
struct schedule_requests;

struct schedule_place {
	int64_t number; /* lower is earlier */
	uint32_t since; /* lists of requests that were kept when it got the number */
};

/* One bit per kept list, found when it is needed: whether the list exhausts the state. */
struct schedule_exhausted {
	VEC(uint64_t) words;
	size_t known; /* bits */
};

struct schedule_order {
	/* Ray's list as it was settled last, and the nodes launched since then. */
	uint32_t *at;
	size_t count, capacity;
	VEC(struct schedule_place) places; /* by node */
	int64_t first, last;               /* numbers given */
	VEC(const struct schedule_requests *) kept;
	VEC(struct schedule_exhausted) exhausted; /* by state */
};

/* Brings the list up to date and numbers its nodes. Before requests are tried, and after. */
void schedule_order_settle(struct schedule_run *run);
/* Whether node `a` is earlier in Ray's list. Nodes that a try would launch are behind all others.
 * Compares 64 kept lists at once; each is compared with a state once at most. */
bool schedule_order_before(struct schedule_run *run, uint32_t a, uint32_t b);
/* Moves nodes that were chosen for the requests to the front, in their order, and adds the new ones
 * (from first_new on) at the end. */
void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count, uint32_t first_new);

#endif
