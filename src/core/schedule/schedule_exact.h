/* Places a number of units of each shape of a list on the nodes of a run, or nothing: unlike Ray's
 * loop it backtracks when earlier placements leave no capacity for the rest. For small cases, with
 * a limit of steps. Launches nothing. Lives in the run's attempt arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_EXACT_H
#define CORE_SCHEDULE_SCHEDULE_EXACT_H

#include "core/schedule/schedule_run.h"

/* Larger cases are not tried. */
#define SCHEDULE_EXACT_NODES_MAX 96
#define SCHEDULE_EXACT_UNITS_MAX 128
#define SCHEDULE_EXACT_STEPS_MAX ((size_t)10000)

/* The units of one node, in the order of the list. */
struct schedule_exact_node {
	uint32_t node;
	const struct schedule_fill *fill;
	size_t fill_count;
};

struct schedule_exact {
	struct schedule_exact_node *nodes; /* those with units */
	size_t node_count;
};

/* `wanted`: units by shape, at most the shape's count. False when no placement of all of them was
 * found within the limit of steps, or of run->policy.steps_left if that is lower, which is reduced
 * by the steps used. ret_exact is then unchanged. */
bool schedule_exact_place(struct schedule_run *run, const struct schedule_list *list,
			  const int64_t *wanted, struct schedule_exact *ret_exact);

#endif
