/* The tree of budgets to which everything is charged that others can make us hold: how much of the
 * memory of this process each may keep. Made once from the limit of the container and the flags; owned
 * by ctl/controller.
 *
 *   root          the heap: three fifths of the limit without the program. Charges, and what is charged nowhere
 *     objects     the watch caches: half of the root, a quarter of it spared for small namespaces
 *       the objects of namespace NAME
 *     views       copies of the objects of device claims: a quarter
 *     beside      names of objects that have no room there, and replaced versions: a sixteenth
 *     passes      --memory-budget: replies of Ray and decisions; a sixth of the root is granted to them
 *       the passes of namespace NAME
 *         one pass (--max-pass-memory)
 *     pages and answers, each with a limit of its own
 *
 * The sum of what is granted is at most the root: objects cannot starve passes, in whatever order they
 * come. The sum of the limits may be above it: what is freed after a second (passes above their grant,
 * pages, answers) gives way to objects. Without a limit only passes have one. */
#ifndef CTL_SHARED_MEMORY_BUDGETS_H
#define CTL_SHARED_MEMORY_BUDGETS_H

#include <stddef.h>

#include "base/budget_children.h"

struct options;

struct memory_budgets {
	struct budget *root;
	struct budget *views;
	struct budget *beside;
	struct budget_children objects; /* by namespace; "": objects of no namespace */
	struct budget_children passes;  /* by namespace */
};

/* limit_bytes: what this process may use; 0: no limit. */
void memory_budgets_init(struct memory_budgets *budgets, const struct options *options,
			 size_t limit_bytes);
void memory_budgets_done(struct memory_budgets *budgets);

#endif
