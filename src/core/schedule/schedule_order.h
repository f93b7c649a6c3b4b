/* Ray's list of nodes, in the order in which it scores them. After each list of requests that Ray
 * keeps, the order is: chosen nodes in the order of their choice, other nodes, running nodes into
 * which none of the requests would fit (exhausted), new nodes. Ray copies the list each time. Here
 * a chosen node moves to the front and leaves a hole, and the exhausted nodes move only before
 * requests with other needs: with the same needs, exhausted nodes stay exhausted and are not
 * chosen, so their positions have no effect. */
#ifndef CORE_SCHEDULE_ORDER_H
#define CORE_SCHEDULE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct schedule_run;
struct schedule_requests;

struct schedule_order {
	uint32_t *at; /* nodes; SCHEDULE_ID_NONE in holes, which a settled list does not have */
	size_t count, capacity;
	uint32_t *cells, *spare; /* at points into cells; spare: for the next copy */
	size_t room;             /* of each */
	VEC(uint32_t) places;    /* by node: its cell */
	bool pending;            /* the nodes that the last requests exhausted have not moved yet */
	size_t chosen, added;    /* by them: at the front and at the end, which do not move */
	const struct schedule_requests *requests;
};

/* Before requests are tried: no holes, and free cells before the first node. */
void schedule_order_begin(struct schedule_run *run);
/* Before a try: the places are those of Ray's list, except of nodes that the requests cannot
 * choose. */
void schedule_order_prepare(struct schedule_run *run, const struct schedule_requests *requests);
/* Moves nodes that were chosen for the requests to the front, in their order, and adds the new ones
 * (from first_new on) at the end. */
void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count, uint32_t first_new);
/* Moves exhausted nodes; removes holes. */
void schedule_order_settle(struct schedule_run *run);

#endif
