/* Places so many units of each shape of a list on the nodes of a run, or nothing: unlike Ray's loop it goes back when what it
 * placed leaves no room for the rest. For small cases, with a ceiling of steps. Nothing is launched.
 * Lives in the run's attempt arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_EXACT_H
#define CORE_SCHEDULE_SCHEDULE_EXACT_H

#include "core/schedule/schedule_run.h"

/* Larger cases are not tried. */
#define SCHEDULE_EXACT_NODES_MAX 96
#define SCHEDULE_EXACT_UNITS_MAX 128
#define SCHEDULE_EXACT_STEPS_MAX ((size_t)10000)

/* What one node takes, in the order of the list. */
struct schedule_exact_node {
	uint32_t node;
	const struct schedule_fill *fill;
	size_t fill_count;
};

struct schedule_exact {
	struct schedule_exact_node *nodes; /* those that take something */
	size_t node_count;
};

/* `wanted`: units by shape, the shape's count at most. False when no place for all of them was
 * found in so many steps, or fewer when run->policy.steps_left has fewer; these are counted there.
 * ret_exact is then untouched. */
bool schedule_exact_place(struct schedule_run *run, const struct schedule_list *list,
			  const int64_t *wanted, struct schedule_exact *ret_exact);

#endif
